"""Rows of which some are labelled."""

import numpy as np
from sklearn.datasets import make_blobs


def partly_labelled(n=120, known=6, seed=0, centers=3, std=1.5):
    """Blobs, their classes, and the same with -1 for all but a few rows."""
    X, y = make_blobs(n, 4, centers=centers, cluster_std=std, random_state=seed)
    part = y.copy()
    rng = np.random.default_rng(seed)
    keep = np.concatenate(
        [
            rng.choice(np.flatnonzero(y == c), known, replace=False)
            for c in range(centers)
        ]
    )
    part[np.setdiff1d(np.arange(n), keep)] = -1
    return X, y, part


def two_blobs(seed=0, n=60, gap=6.0):
    """Two classes, apart by `gap` along the first column."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], n)
    X = rng.normal(size=(2 * n, 2)) + gap * y[:, None] * [1.0, 0.0]
    return X, y
