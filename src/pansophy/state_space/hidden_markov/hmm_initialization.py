"""Initialisation of HMM emissions: k-means centres and covariances of the data."""

import warnings

import numpy as np

from ...distributions.gaussian.covariance import SHAPES
from ...params import ParameterRule

KMEANS_ROWS = 5_000  # rows that k-means looks at, at equal distances
KMEANS_ITERATIONS = 30  # of k-means, from each of its starts
MAX_MAGNITUDE = 1e150  # numbers whose squares can be added up


def letters_rule(allowed: str) -> ParameterRule:
    """Some of the letters as a string: which parameters are meant."""
    listed = ", ".join(f'"{a}"' for a in allowed)
    holds = lambda v: isinstance(v, str) and set(v) <= set(allowed)
    return ParameterRule(f"made of the letters {listed}", holds)


def impute_column_means(X):
    """Rows in which something was seen, gaps at the mean of their column."""
    gone = np.isnan(X)
    if not gone.any():
        return X
    X = X[~gone.all(axis=1)]
    gone = np.isnan(X)
    mean = np.where(gone, 0.0, X).sum(axis=0) / np.maximum((~gone).sum(axis=0), 1)
    return np.where(gone, mean, X) if len(X) else np.zeros((1, X.shape[1]))


def kmeans_centers(X, k: int, rng) -> np.ndarray:
    """k centres (k, d) by k-means; rows again where there are too few different.

    SciPy's plain k-means does for a start, and has nothing to compile.
    """
    from scipy.cluster.vq import kmeans2, vq

    X = impute_column_means(X)
    if np.abs(X).max() > MAX_MAGNITUDE:
        raise ValueError("X contains values too large to square.")
    X = X[
        np.unique(np.linspace(0, len(X) - 1, min(len(X), KMEANS_ROWS)).astype(np.int64))
    ]
    different = np.unique(X, axis=0)
    if len(different) <= k:
        return different[np.arange(k) % len(different)]
    m = X.mean(axis=0)
    best = different[:k]
    least_cost = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a start may have a centre without rows
        for _ in range(10 if len(X) * k <= 50_000 else 3):
            C, _ = kmeans2(X - m, k, KMEANS_ITERATIONS, minit="++", seed=rng)
            cost = np.sum(vq(X - m, C)[1] ** 2)
            best, least_cost = (
                (C + m, cost) if cost < least_cost else (best, least_cost)
            )
    return best


def data_covariance(X, floor: float) -> np.ndarray:
    """Covariance (d, d) of the rows, a column that does not vary at the floor."""
    X = impute_column_means(X)
    D = X - X.mean(axis=0)
    C = D.T @ D / max(len(X) - 1, 1)
    v = np.diagonal(C)
    return C + np.diag(np.where(v > 0, np.minimum(1e-6 * v, floor), max(floor, 1e-12)))


def covariance_in_shape(C, shape: str, k: int) -> np.ndarray:
    """The covariance C (d, d) for each of k components, in the storage of a shape."""
    if shape == "tied":
        return C
    part = SHAPES[shape]
    S = np.broadcast_to(C, (k, *C.shape))
    return part.estimate(part.compress(S), np.ones(k), len(C))


def refuse_negative(model, X):
    """Counts are not negative."""
    if (X < 0).any():
        raise ValueError(
            f"Negative values in data passed to {type(model).__name__}: counts are "
            "0 or more, NaN where one is missing."
        )


def nearest_center(X, C):
    """The centre nearest to each row."""
    return (-2 * X @ C.T + (C * C).sum(axis=1)).argmin(axis=1)
