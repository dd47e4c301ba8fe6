"""Covariances of classes: as counted, shrunk, or by an estimator of scikit-learn's.

With C the covariance of n rows in d columns and t its mean variance, shrinkage is

    C_s = (1 - s) C + s t I                                                      (1)

"auto" does (1) on standardised columns with the s that is expected to come closest to
the truth: with R their correlation, z the standardised rows,

    b = (sum_i |z_i|^4 / n - |R|^2) / (n d),   e = |R|^2 / d - t^2,
    s = min(b, e) / e                                                            (2)

which needs of the rows the sum of |z|^4 only: one more pass. Weights count as
repetitions. The small matrices are NumPy doubles wherever the rows are.

Shapes    X (n, d)   codes (n,)   C (k, d, d)   N (k,)
Refs      [LedoitWolf2004]
"""

import numpy as np
from sklearn.base import clone

from ..core import arrays
from ..distributions import Moments
from ..distributions.grouped import class_sums, double


def moments_as_numpy(m: Moments) -> Moments:
    """The same moments as NumPy doubles."""
    double = lambda a: arrays.to_numpy(a).astype(np.float64)
    return Moments(double(m.weight), double(m.mean), double(m.scatter), m.shape)


def shrunk(C, s):
    """Eq. (1) for one matrix."""
    d = len(C)
    return (1 - s) * C + s * np.trace(C) / d * np.eye(d)


def fourth_powers_by_class(rows, M, spread, k):
    """sum_i w_i |z_i|^4 of each class, z the rows standardised by class: (k,)."""

    def stats(x, c, w):
        x = x if arrays.is_foreign(x) else double(x)
        xp, put = arrays.namespace(x), lambda a: arrays.asarray(a, like=x)
        Z = (x - xp.take(put(M), c, axis=0)) / xp.take(put(spread), c, axis=0)
        q = xp.sum(Z * Z, axis=1)[:, None]
        return class_sums(q * q, c, k, w)[1][:, 0]

    return arrays.to_numpy(rows.sum(stats)).astype(np.float64)


def ledoit_wolf(C, N, fourth, spread):
    """Covariance of one class shrunk by the s of the formula above."""
    d = len(C)
    R = C / np.outer(spread, spread)
    t, size = np.trace(R) / d, np.sum(R * R)
    e = (size - t * t * d) / d
    b = min((fourth / N - size) / (N * d), e)
    s = 0.0 if b <= 0 else b / e
    return shrunk(R, s) * np.outer(spread, spread)


def class_covariances(m: Moments, rows, shrinkage):
    """Covariance of each class from full moments, shrunk as asked: (k, d, d)."""
    N = np.maximum(m.weight, np.finfo(float).tiny)
    C = m.scatter / N[:, None, None]
    if shrinkage is None:
        return C
    if shrinkage != "auto":
        return np.stack([shrunk(c, shrinkage) for c in C])
    spread = np.sqrt(np.diagonal(C, axis1=1, axis2=2))
    spread = np.where(spread > 0, spread, 1.0)
    fourth = fourth_powers_by_class(rows, m.mean, spread, len(N))
    return np.stack([ledoit_wolf(*args) for args in zip(C, N, fourth, spread)])


def covariances_by_estimator(estimator, X, codes, k):
    """Covariance of each class by an estimator with `fit` and `covariance_`."""
    made = []
    for c in range(k):
        fitted = clone(estimator).fit(X[codes == c])
        if not hasattr(fitted, "covariance_"):
            raise ValueError(
                f"{type(estimator).__name__} does not have a covariance_ attribute"
            )
        made.append(np.atleast_2d(fitted.covariance_))
    return np.stack(made)


def moments_of_all_classes(m: Moments) -> Moments:
    """Full moments of all rows together, from full or tied moments of classes."""
    W = m.weight.sum()
    centre = m.weight @ m.mean / W
    D = m.mean - centre
    within = m.scatter if m.shape == "tied" else m.scatter.sum(axis=0)
    S = within + (m.weight[:, None] * D).T @ D
    return Moments(np.array([W]), centre[None, :], S[None, ...], "full")
