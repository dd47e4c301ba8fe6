"""Graphs the slow way: every pair of rows, every set of edges looked at."""

import numpy as np


def components(A):
    """Component of each row by walking over edges until nothing changes."""
    A = (A != 0) | (A != 0).T
    z = np.arange(len(A))
    while True:
        new = np.array([min([z[i], *z[A[i]]]) for i in range(len(A))])
        if (new == z).all():
            return np.unique(z, return_inverse=True)[1]
        z = new


def tree_weights(D):
    """Weights of a minimum spanning tree by joining the two closest parts."""
    parts, weights = [{i} for i in range(len(D))], []
    while len(parts) > 1:
        best = min(
            (min(D[i, j] for i in a for j in b), u, v)
            for u, a in enumerate(parts)
            for v, b in enumerate(parts)
            if u < v
        )
        weights.append(best[0])
        parts[best[1]] |= parts.pop(best[2])
    return np.array(weights)


def laplacian(W):
    """I - D^-1/2 W D^-1/2 of a dense W without loops."""
    W = W - np.diag(np.diag(W))
    d = W.sum(axis=1)
    s = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
    return np.diag((d > 0) * 1.0) - s[:, None] * W * s


def cut(W, z, kind):
    """The price of a partition, pair by pair."""
    total = 0.0
    for c in set(z):
        across = volume = 0.0
        for i in range(len(W)):
            for j in range(len(W)):
                if z[i] == c and i != j:
                    volume += W[i, j]
                    across += W[i, j] * (z[j] != c)
        size = sum(v == c for v in z)
        total += {"cut": across / 2, "ratio": across / size}.get(
            kind, across / volume if volume else 0.0
        )
    return total
