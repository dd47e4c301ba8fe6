"""Rows for the tests of kernel machines."""

import numpy as np


def blobs(n, d=4, k=2, seed=0, spread=1.5):
    """n rows of k overlapping classes, each present, around centres of their own."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d))
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    return centers[y] + spread * rng.normal(size=(n, d)), y


def wave(n, seed=0, noise=0.2):
    """n rows of two columns, and a sine and a line of them with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] + noise * rng.normal(size=n)


def linear_classes(n=200, d=8, k=2, seed=0):
    """n rows of d columns, whose classes are the largest of k linear scores."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.3
    scores = X @ rng.normal(size=(d, k)) + rng.gumbel(size=(n, k))
    return X, np.argmax(scores, axis=1)
