"""The perceptron and its kin, row by row in plain Python."""

import numpy as np


def binary(X, y, *, passes, average=False):
    """(w, b, mistakes) for signs y, rows in order; means over rows if averaged."""
    w, b, mistakes = np.zeros(X.shape[1]), 0.0, 0
    sums, sumb, t = np.zeros_like(w), 0.0, 0
    for _ in range(passes):
        clean = True
        for x, s in zip(X, y, strict=True):
            if s * (w @ x + b) <= 0:
                w, b, mistakes, clean = w + s * x, b + s, mistakes + 1, False
            sums, sumb, t = sums + w, sumb + b, t + 1
        if clean:
            break
    return (sums / t, sumb / t, mistakes) if average else (w, b, mistakes)


def multiclass(X, y, k, *, passes, average=False):
    """(W, b, mistakes): the own class gains the row, its strongest rival loses it."""
    W, mistakes, t = np.zeros((k, X.shape[1] + 1)), 0, 0
    sums = np.zeros_like(W)
    for _ in range(passes):
        clean = True
        for x, c in zip(np.column_stack([X, np.ones(len(X))]), y, strict=True):
            scores = W @ x
            rivals = np.where(np.arange(k) == c, -np.inf, scores)
            if scores[c] <= rivals.max():
                W[c] += x
                W[int(np.argmax(rivals))] -= x
                mistakes, clean = mistakes + 1, False
            sums, t = sums + W, t + 1
        if clean:
            break
    W = sums / t if average else W
    return W[:, :-1], W[:, -1], mistakes


def fewest_errors(X, y, order):
    """The fewest errors of any w the perceptron passes through on the way."""
    w, b, best = np.zeros(X.shape[1]), 0.0, np.inf
    for i in order:
        best = min(best, int(np.sum(y * (X @ w + b) <= 0)))
        if y[i] * (w @ X[i] + b) <= 0:
            w, b = w + y[i] * X[i], b + y[i]
    return best
