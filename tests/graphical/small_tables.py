"""Small tables of codes, which tests of structure learning share."""

import numpy as np


def correlated_bits(seed, d=4, n=150):
    """Columns of 0 and 1 that copy an earlier one in most rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, d))
    for j in range(1, d):
        keep = rng.random(n) < 0.6
        X[keep, j] = X[keep, rng.integers(0, j)]
    return X


def correlated_codes(seed, n=200, sizes=(2, 3, 2, 4, 2)):
    """Codes of given sizes, the third column mostly a copy of the first."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, m, n) for m in sizes])
    X[:, 2] = np.where(rng.random(n) < 0.7, X[:, 0], X[:, 2])
    return X, sizes
