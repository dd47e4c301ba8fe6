"""Moments and covariances of classes: empirical, shrunk, or by a given estimator.

One pass over the rows gives weight, mean and scatter of each class, merged over blocks.
With C the covariance of n rows in d columns and t its mean variance, shrinkage is

    C_s = (1 - s) C + s t I                                                      (1)

"auto" is (1) on standardised columns with the s of Ledoit and Wolf
(`core/linalg/shrinkage.py`), which needs the sum of |z|^4 over the standardised rows z:
one more pass. Weights count as repetitions. The small matrices are NumPy doubles,
whatever holds the rows.

Shapes    X (n, d)   codes (n,)   C (k, d, d)   N (k,)
Refs      [LedoitWolf2004]
"""

from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from ..core.arrays import arrays
from ..core.arrays.rows import DatasetRows, Rows, as_rows
from ..core.linalg.shrinkage import ledoit_wolf_shrinkage, shrunk_covariance
from ..distributions import Moments
from ..distributions.gaussian.class_moments import (
    class_moments,
    class_sums,
    dense_float64,
)
from ..params import ParameterRule

BLOCK_ROWS = 4096  # a block is read twice: in cache for widths that matter
SUM_ROUNDING = 512  # units in the last place by which the mean of a block is off
CovarianceEstimator = Annotated[
    Any, ParameterRule("an estimator with a fit method", lambda v: hasattr(v, "fit"))
]


def moments_as_numpy(m: Moments) -> Moments:
    """Moments as NumPy doubles."""
    double = lambda a: arrays.to_numpy(a).astype(np.float64)
    return Moments(double(m.weight), double(m.mean), double(m.scatter), m.shape)


def fourth_powers_by_class(rows, M, spread, k):
    """sum_i w_i |z_i|^4 of each class, z the rows standardised by class: (k,)."""

    def stats(x, c, w):
        x = x if arrays.is_foreign(x) else dense_float64(x)
        xp = arrays.namespace(x)
        put = lambda a: arrays.asarray(a, like=x)
        Z = (x - xp.take(put(M), c, axis=0)) / xp.take(put(spread), c, axis=0)
        q = xp.sum(Z * Z, axis=1)[:, None]
        return class_sums(q * q, c, k, w)[1][:, 0]

    return arrays.to_numpy(rows.sum(stats)).astype(np.float64)


def ledoit_wolf_covariance(C, N, fourth, spread):
    """Covariance of one class of weight N, shrunk on standardised columns."""
    scale = np.outer(spread, spread)
    R = C / scale
    s = ledoit_wolf_shrinkage(R, fourth / N, N)
    return shrunk_covariance(R, s) * scale


def class_covariances(m: Moments, rows, shrinkage):
    """Covariance of each class from full moments, shrunk by eq. (1): (k, d, d)."""
    N = np.maximum(m.weight, np.finfo(float).tiny)
    C = m.scatter / N[:, None, None]
    if shrinkage is None:
        return C
    if shrinkage != "auto":
        return np.stack([shrunk_covariance(c, shrinkage) for c in C])
    spread = np.sqrt(np.diagonal(C, axis1=1, axis2=2))
    spread = np.where(spread > 0, spread, 1.0)
    fourth = fourth_powers_by_class(rows, m.mean, spread, len(N))
    return np.stack(
        [ledoit_wolf_covariance(*args) for args in zip(C, N, fourth, spread)]
    )


def covariances_by_estimator(estimator, X, codes, k):
    """Covariance of each class by an estimator with `fit` and `covariance_`."""
    made = []
    for c in range(k):
        # an object that only has `fit` and `covariance_` is enough: it need not clone
        # itself by parameters, nor return itself
        own = clone(estimator, safe=False)
        own.fit(X[codes == c])
        if not hasattr(own, "covariance_"):
            raise ValueError(
                f"{type(estimator).__name__} does not have a covariance_ attribute"
            )
        made.append(np.atleast_2d(own.covariance_))
    return np.stack(made)


def variance_by_class(m: Moments):
    """Variance of the columns in each class, (k, d); one row if the shape is tied."""
    N = weight_by_class(m)
    sums = {
        "full": lambda S: np.diagonal(S, axis1=-2, axis2=-1),
        "tied": lambda S: np.diagonal(S)[None, :],
        "diag": lambda S: S,
    }
    scatter = sums[m.shape](m.scatter)
    weight = N.sum() if m.shape == "tied" else N[:, None]
    return scatter / np.maximum(weight, np.finfo(float).tiny)


def rounding_variance(m: Moments, eps=np.finfo(float).eps):
    """Variance that the rounding of a mean leaves in a constant column, (d,)."""
    return (SUM_ROUNDING * eps * np.abs(m.mean).max(axis=0)) ** 2


def column_list(model, columns, most=5):
    """Columns by name, or by number where the model has no names, as a text."""
    names = getattr(model, "feature_names_in_", None)
    label = (lambda j: str(int(j))) if names is None else (lambda j: repr(names[j]))
    listed = ", ".join(label(j) for j in columns[:most])
    return listed + (f" and {len(columns) - most} more" if len(columns) > most else "")


def moments_of_all_classes(m: Moments) -> Moments:
    """Full moments of all rows together, from full or tied moments of classes."""
    W = m.weight.sum()
    centre = m.weight @ m.mean / W
    D = m.mean - centre
    within = m.scatter if m.shape == "tied" else m.scatter.sum(axis=0)
    S = within + (m.weight[:, None] * D).T @ D
    return Moments(np.array([W]), centre[None, :], S[None, ...], "full")


def blocks_with_classes(X, codes, w) -> Rows:
    """Blocks of rows with their classes and weights."""
    return as_rows(X, codes, w, block=None if arrays.is_foreign(X) else BLOCK_ROWS)


def finite_class_moments(X, codes, w, k, shape) -> Moments:
    """Moments of the classes as NumPy doubles; raises if they are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        rows = blocks_with_classes(X, codes, w)
        if arrays.is_foreign(X) and shape != "full":  # tiles are cut inside
            rows = rows.with_aligned(codes, w, block=rows.n)
        total = rows.sum(lambda x, c, v: class_moments(x, c, k, v, shape))
    m = moments_as_numpy(total)
    if not (np.isfinite(m.mean).all() and np.isfinite(m.scatter).all()):
        raise ValueError(
            "X contains NaN or infinity, or values whose squares overflow."
        )
    return m


def weight_by_class(m: Moments):
    """Weight of each class, (k,)."""
    return m.weight if m.weight.ndim == 1 else m.weight.max(axis=1)


def result_dtype(X):
    """float32 stays, all else becomes float64."""
    return np.float32 if X.dtype == np.float32 else np.float64


def moment_precision(X):
    """eps of the numbers that sums over the rows of X are made in."""
    foreign = arrays.is_foreign(X) and str(X.dtype).endswith("float32")
    return float(np.finfo(np.float32 if foreign else np.float64).eps)


def dense_unweighted_rows(X, w):
    """X for a covariance estimator of scikit-learn, which takes no files or weights."""
    if isinstance(X, DatasetRows) or arrays.is_foreign(X) or not hasattr(X, "dtype"):
        raise ValueError("covariance_estimator needs X as a NumPy array.")
    if w is not None:
        raise ValueError("covariance_estimator takes no sample_weight.")
    return X.toarray() if hasattr(X, "toarray") else X
