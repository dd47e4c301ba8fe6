"""Slow, obvious coordinate descent for nonnegative least squares on rows."""

import numpy as np


def sweeps(W, G, C, l1, order, most, enough):
    """What `decomposition._nmf.coordinate_sweeps` does, one coordinate at a time."""
    W, total = W.copy(), 0.0
    for i in range(len(W)):
        first = None
        for _ in range(most):
            met = 0.0
            for t in order:
                g = G[t] @ W[i] - C[i, t] + l1
                met += abs(min(g, 0.0) if W[i, t] == 0 else g)
                if G[t, t] > 0:
                    W[i, t] = max(W[i, t] - g / G[t, t], 0.0)
            if first is None:
                first = met
                total += met
            if met <= enough * first:
                break
    return W, total


def at_entries(W, H, X):
    """W H^T where X, sparse, has an entry."""
    return (W @ H.T)[X.tocoo().coords]


def objective(X, W, H):
    return 0.5 * np.sum((X - W @ H) ** 2)
