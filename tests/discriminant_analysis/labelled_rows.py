"""Labelled rows that tests of discriminants share."""

import numpy as np


def labelled_rows(rng, k=3, n=300, d=5, offset=5.0):
    """Rows of k classes along a line, and their classes."""
    y = rng.integers(0, k, n)
    mix = rng.standard_normal((d, d))
    X = rng.standard_normal((n, d)) @ mix + y[:, None] * rng.standard_normal(d)
    return X + offset, y


def close(a, b, tol=1e-9):
    """Equal up to `tol`."""
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


def rows_of_moments(mean, cov, n=8):
    """Rows with exactly this mean and covariance."""
    d = len(mean)
    B = np.vstack([np.eye(d), -np.eye(d)]) * np.sqrt(d)
    return np.asarray(mean) + np.tile(B, (n, 1)) @ np.linalg.cholesky(cov).T
