"""Where EM begins: the statistics of a first guess at who belongs to whom.

    kmeans            each row wholly in the group that k-means puts it in
    k-means++         k spread-out rows, each a component of its own
    random_from_data  k different rows drawn at random, likewise
    random            every row in every component, in random proportions

All but the last give the same answer for a row of weight 3 as for three copies of
it, and do not depend on the order of the rows: so do the draws of k-means.

Values that are missing are taken at the mean of their column, for the start alone; of
a table on disk with missing values, up to 20 000 rows at equal distances are looked at.
"""

import numpy as np

from ..core import arrays
from ..core.rows import is_dataset, rows
from ..distributions.covariance import SHAPES
from ..distributions.normal import Moments, moments
from ..params import ParameterError

SAMPLE = 20_000  # rows of a table with missing values


def mean_imputed(X, w, mean):
    """X with missing values at the mean of their column, and its weights."""
    if is_dataset(X):
        take = np.unique(np.linspace(0, X.n - 1, min(X.n, SAMPLE)).astype(np.int64))
        X, w = X.take(take), None if w is None else w[take]
    return np.where(np.isnan(X), mean.astype(X.dtype), X), w


def label_moments(X, z, w, k, shape) -> Moments:
    """Moments of each group of rows, given their labels z."""
    R = (arrays.to_numpy(z)[:, None] == np.arange(k)).astype(float)
    R = R if w is None else R * arrays.to_numpy(w)[:, None]
    return moments(X, arrays.asarray(R, like=X), shape)


def weights_or_ones(X, w):
    """w, or ones in the library and on the device of X."""
    if w is not None:
        return w
    if not arrays.is_foreign(X):
        return np.ones(X.shape[0])
    xp = arrays.namespace(X)
    return xp.ones(X.shape[0], dtype=X.dtype, device=arrays.device(X))


def kmeans_start_labels(X, w, k, rng):
    """The group of each row by k-means."""
    from ..cluster.kmeans import kmeans_labels

    if k == 1:
        return np.zeros(X.shape[0], np.int32)
    return arrays.to_numpy(kmeans_labels(X, weights_or_ones(X, w), k, rng))


def guessed_moments(X, w, k, shape, method, rng) -> Moments:
    """Moments of the first guess for rows X with weights w or None."""
    data = rows(X)
    if method == "random":
        R = rng.random((data.n, k))
        R = R / R.sum(axis=1, keepdims=True)
        R = R if w is None else R * arrays.to_numpy(w)[:, None]
        part = lambda X, r: moments(X, arrays.asarray(r, like=X), shape)
        return moments_to_numpy(data.with_aligned(R).sum(part))
    if method == "kmeans":
        z = kmeans_start_labels(X, w, k, rng)
        part = lambda X, z, w: label_moments(X, z, w, k, shape)
        return moments_to_numpy(data.with_aligned(z, w).sum(part))
    from ..cluster.initialization import sample_initial_centers

    how = "k-means++" if method == "k-means++" else "random"
    C = sample_initial_centers(X, weights_or_ones(X, w), k, rng, method=how)[0]
    C = arrays.to_numpy(C).astype(float)
    return Moments(np.ones(k), C, SHAPES[shape].outer(0 * C, np.zeros(k)), shape)


def initial_moments(X, data, w, k, shape, method, rng):
    """Means and covariances of a start, with their weights."""
    if data.frame is None:
        X, w = mean_imputed(X, w, data.total.mean[0])
    return guessed_moments(
        X, w, k, "full" if shape == "low_rank" else shape, method, rng
    )


def moments_to_numpy(m: Moments) -> Moments:
    """Moments as float64 NumPy arrays."""
    double = lambda a: arrays.to_numpy(a).astype(float)
    return Moments(double(m.weight), double(m.mean), double(m.scatter), m.shape)


def user_initial_params(weights, means, precisions, k, d, shape):
    """The starts a user gave: weights, means, covariances; None for what is not."""
    storage = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}
    storage["low_rank"] = (k, d, d)
    W = checked_initial_array("weights_init", weights, (k,))
    M = checked_initial_array("means_init", means, (k, d))
    P = checked_initial_array("precisions_init", precisions, storage[shape])
    if W is not None and (W.min() < 0 or not np.isclose(W.sum(), 1)):
        raise ParameterError(
            f"weights_init must be non-negative and sum to 1, got {W.sum():.6g}."
        )
    return W, M, None if P is None else covariances_from_precisions(P, shape)


def checked_initial_array(name, value, shape):
    """A given start as a float array of the right shape, or None."""
    if value is None:
        return None
    value = np.asarray(arrays.to_numpy(value), dtype=float)
    if value.shape != shape:
        raise ParameterError(f"{name} must have shape {shape}, got {value.shape}.")
    if not np.isfinite(value).all():
        raise ParameterError(f"{name} must hold finite numbers.")
    return value


def covariances_from_precisions(P, shape):
    """Covariances from precisions in any storage, which must be positive definite."""
    if shape in ("diag", "spherical"):
        if (P <= 0).any():
            raise ParameterError("precisions_init must be positive.")
        return 1 / P
    if not np.allclose(P, np.swapaxes(P, -1, -2)) or np.linalg.eigvalsh(P).min() <= 0:
        raise ParameterError("precisions_init must be symmetric and positive definite.")
    C = np.linalg.inv(P)
    return 0.5 * (C + np.swapaxes(C, -1, -2))
