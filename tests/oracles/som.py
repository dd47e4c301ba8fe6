"""Self-organising map, one row and one unit at a time."""

import numpy as np


def two_best(X, C):
    D = np.array([[np.linalg.norm(x - c) for c in C] for x in X])
    order = np.argsort(D, axis=1, kind="stable")
    return order[:, 0], order[:, 1], D.min(axis=1)


def batch_epoch(X, w, C, G, s):
    """Weighted mean of all rows for each unit, weights by distance on the grid."""
    best = two_best(X, C)[0]
    out = np.empty_like(C)
    for v in range(len(C)):
        h = np.array([wi * np.exp(-G[b, v] / (2 * s * s)) for wi, b in zip(w, best)])
        out[v] = (h[:, None] * X).sum(axis=0) / h.sum()
    return out


def online_epoch(X, order, C, G, rate, width, bubble=False):
    C = C.copy()
    for t, i in enumerate(order):
        part = t / len(order)
        a = rate[0] + part * (rate[1] - rate[0])
        s = width[0] + part * (width[1] - width[0])
        b = int(np.argmin(((C - X[i]) ** 2).sum(axis=1)))
        for u in range(len(C)):
            h = (
                np.exp(-G[b, u] / (2 * s * s))
                if not bubble
                else float(G[b, u] <= s * s)
            )
            if bubble or G[b, u] <= 18 * s * s:
                C[u] += a * h * (X[i] - C[u])
    return C
