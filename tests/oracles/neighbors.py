"""Slow neighbours, kernel sums and covariance subsets, as their definitions say."""

from itertools import combinations

import numpy as np


def distance(x, z, metric="euclidean", p=2.0):
    gap = np.abs(np.asarray(x, float) - np.asarray(z, float))
    if metric == "cosine":
        return 1 - np.dot(x, z) / (np.linalg.norm(x) * np.linalg.norm(z))
    if metric == "chebyshev":
        return gap.max()
    if metric == "sqeuclidean":
        return np.sum(gap**2)
    p = {"manhattan": 1.0, "euclidean": 2.0}.get(metric, p)
    return np.sum(gap**p) ** (1 / p)


def distances(Q, X, metric="euclidean", p=2.0):
    return np.array([[distance(q, x, metric, p) for x in X] for q in Q])


def k_nearest(D, k, same=False):
    """The k smallest of each row, the lower column first; the diagonal left out."""
    D = D.copy()
    if same:
        np.fill_diagonal(D, np.inf)
    at = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, at, axis=1), at


def kernel(u, shape):
    inside = u < 1
    return {
        "gaussian": np.exp(-u * u / 2),
        "tophat": 1.0 * inside,
        "epanechnikov": (1 - u * u) * inside,
        "exponential": np.exp(-u),
        "linear": (1 - u) * inside,
        "cosine": np.cos(np.pi * u / 2) * inside,
    }[shape]


def kernel_sums(D, h, shape, w):
    """sum_i w_i K(d_i / h), without its norm."""
    return (kernel(D / h, shape) * w).sum(axis=1)


def local_outlier_factor(D, k):
    """LOF of every row from the distances between them, by the definition."""
    n = len(D)
    near = [
        [j for j in np.argsort(D[i], kind="stable") if j != i][:k] for i in range(n)
    ]
    reach = [D[i, near[i][-1]] for i in range(n)]
    lrd = [
        1 / (np.mean([max(reach[j], D[i, j]) for j in near[i]]) + 1e-10)
        for i in range(n)
    ]
    return np.array([np.mean([lrd[j] for j in near[i]]) / lrd[i] for i in range(n)])


def tightest_subset(X, h):
    """The h rows of least covariance determinant, by looking at all subsets."""
    S = lambda rows: np.atleast_2d(np.cov(X[list(rows)].T, bias=True))
    return min(combinations(range(len(X)), h), key=lambda r: np.linalg.det(S(r)))
