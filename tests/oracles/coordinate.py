"""Slow, obvious versions of the compiled loops of losses, optim and logistic."""

import math

import numpy as np


def soft(x, t):
    return math.copysign(max(abs(x) - t, 0.0), x)


def elastic_net_epochs(X, y, w, a, b, positive=False, n_epochs=1):
    """Coordinate descent on 1/2 |y - X w|^2 + a |w|_1 + b/2 |w|^2, one w_j each."""
    w = np.array(w, dtype=float)
    for _ in range(n_epochs):
        for j in range(X.shape[1]):
            rest = y - X @ w + X[:, j] * w[j]
            g = float(X[:, j] @ rest)
            g = max(g, 0.0) if positive else g
            w[j] = soft(g, a) / (float(X[:, j] @ X[:, j]) + b)
    return w


def elastic_net(X, y, a, b=0.0, positive=False, n_epochs=5000):
    """The minimiser, by many passes."""
    return elastic_net_epochs(X, y, np.zeros(X.shape[1]), a, b, positive, n_epochs)


def lasso_gap(X, y, w, alpha, l1_ratio=1.0):
    """Duality gap of 1/(2n) |y - X w|^2 + alpha (...), written out."""
    n = len(y)
    a, b = alpha * l1_ratio, alpha * (1 - l1_ratio)
    r = y - X @ w
    primal = r @ r / (2 * n) + a * np.abs(w).sum() + b / 2 * w @ w
    Xa = np.vstack([X, np.sqrt(n * b) * np.eye(X.shape[1])])
    ya = np.concatenate([y, np.zeros(X.shape[1])])
    ra = ya - Xa @ w
    theta = ra * min(1.0, n * a / np.abs(Xa.T @ ra).max())
    dual = (ya @ ya - (ya - theta) @ (ya - theta)) / (2 * n)
    return primal - dual


def binary_pass(X, t, v, w, b):
    """Loss and gradient of logistic regression, row by row."""
    loss, g = 0.0, np.zeros(X.shape[1] + 1)
    for x, ti, vi in zip(X, t, v, strict=True):
        f = float(x @ w + b)
        loss += vi * (np.logaddexp(0, f) - ti * f)
        g += vi * (1 / (1 + math.exp(-f)) - ti) * np.append(x, 1.0)
    return loss, g


def softmax_pass(F, t, v):
    """Loss and residuals v (p - onehot), row by row."""
    loss, R = 0.0, np.zeros_like(F)
    for i, (f, ti, vi) in enumerate(zip(F, t, v, strict=True)):
        p = np.exp(f) / np.exp(f).sum()
        loss -= vi * math.log(p[ti])
        p[ti] -= 1
        R[i] = vi * p
    return loss, R


def newton_move(X, h, r, w, a, b, intercept, n_epochs=3000):
    """Best (w, shift) of the quadratic with slopes r and curvatures h in the rows."""
    w, start, shift = np.array(w, dtype=float), np.array(w, dtype=float), 0.0
    for _ in range(n_epochs):
        if intercept:
            shift -= float(np.sum(r + h * (X @ (w - start) + shift))) / h.sum()
        for j in range(X.shape[1]):
            g = float(X[:, j] @ (r + h * (X @ (w - start) + shift)))
            bend = float(X[:, j] ** 2 @ h)
            w[j] = soft(bend * w[j] - g, a) / (bend + b)
    return w, shift


def group_lasso(X, Y, labels, a, b=0.0, weights=None, n_epochs=3000):
    """(t, d) minimiser of |Y - X W^T|^2/2 + a sum_g m_g |W_g| + b/2 |W|^2, by groups.

    Each step is a proximal step of length 1 over the largest eigenvalue of a group.
    """
    found = np.unique(labels)
    m = [np.sqrt(np.sum(labels == g)) for g in found] if weights is None else weights
    W = np.zeros((Y.shape[1], X.shape[1]))
    for _ in range(n_epochs):
        for g, mg in zip(found, m, strict=True):
            at = labels == g
            step = 1 / np.linalg.eigvalsh(X[:, at].T @ X[:, at])[-1]
            V = W[:, at] + step * (Y - X @ W.T).T @ X[:, at]
            size = np.sqrt(np.sum(V * V))
            shrink = max(1 - step * a * mg / size, 0.0) if size > 0 else 0.0
            W[:, at] = V * shrink / (1 + step * b)
    return W
