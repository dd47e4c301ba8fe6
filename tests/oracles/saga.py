"""SAGA and SAG written out: every coordinate moves at every step."""

import numpy as np

from .coordinate import soft


def slopes(f, y, weight):
    """weight times the gradient of the logistic or softmax loss."""
    if len(f) == 1:
        return weight * (1 / (1 + np.exp(-f)) - y)
    p = np.exp(f) / np.exp(f).sum()
    p[y] -= 1
    return weight * p


def prox(w, t, q):
    """Elastic net: shrink by t, then times q."""
    return q * soft(w, t)


def lag(w, c, t, q, m):
    """m times w <- prox(w - c)."""
    for _ in range(m):
        w = prox(w - c, t, q)
    return w


def epoch(X, y, v, order, W, b, M, A, seen, eta0, keep, t, q, intercept):
    """One pass over `order`, changing W, b, M, A and seen in place."""
    n = len(X)
    for i in order:
        seen[i] = True
        eta = eta0 * n / seen.sum()
        z = np.append(X[i], 1.0)
        new = slopes(W @ X[i] + b, y[i], n * v[i])
        change = new - M[i]
        # the average over rows seen so far, and SAGA's own correction beside it
        c = seen.mean() if keep == 1.0 else keep
        move = c * np.outer(change, z) + A
        M[i] = new
        A += np.outer(change, z) / n
        for k in range(len(W)):
            for j in range(W.shape[1]):
                W[k, j] = prox(W[k, j] - eta * move[k, j], t, q)
        if intercept:
            b -= eta * move[:, -1]
