"""Moments of each class of labelled rows, in one pass for all classes.

Eq. (2) of `base` with weights r_ij = w_i [y_i = j] is a sum over the rows of each
class. Done as it is written it costs k times too much; here every row is touched for
its own class only. `class_sums` are weights and sums, `class_moments` are `Moments`
in any covariance shape, about the means of the classes within the block, so that
nothing is lost to an offset; blocks merge as `Moments` do.

A NaN in a diagonal or spherical shape is a value not seen: the weight is then one
for each coordinate. Rows are NumPy (compiled, doubles throughout), sparse (made
dense, so give them in blocks) or tensors (on their device, in their precision).

Shapes    X (n, d)   codes (n,) 0..k-1   w (n,) or None
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core.arrays import arrays
from ...core.numerics import safe_divide
from . import _class_moments
from .normal import Moments


def dense_float64(x) -> np.ndarray:
    """A block of NumPy or sparse rows as a contiguous array of floats."""
    x = x.toarray() if sp.issparse(x) else x
    x = x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)
    return np.ascontiguousarray(x)


def weighted_one_hot(codes, k, w, like):
    """Weights r_ij as a matrix (n, k) of the library and dtype of `like`."""
    xp = arrays.namespace(like)
    classes = xp.arange(k, device=arrays.device(like))
    R = xp.astype(codes[:, None] == classes, like.dtype)
    return R if w is None else R * arrays.asarray(w, like=like)[:, None]


def weights_for_loop(w):
    """Weights for a compiled loop, and whether there are any."""
    return (np.ones(1), False) if w is None else (np.asarray(w, np.float64), True)


def class_sums(X, codes, k, w=None) -> tuple[Any, Any]:
    """Weight (k,) and weighted sum (k, d) of the rows of each class."""
    if arrays.is_foreign(X):
        X = arrays.as_float(X)
        xp = arrays.namespace(X)
        R = weighted_one_hot(codes, k, w, X)
        return xp.sum(R, axis=0), xp.matmul(R.T, X)
    X = dense_float64(X)
    N, S = np.zeros(k), np.zeros((k, X.shape[1]))
    _class_moments.add_rows(X, codes, *weights_for_loop(w), N, S)
    return N, S


def class_moments(X, codes, k, w=None, shape="full") -> Moments:
    """`Moments` of the rows of each class, a batch of k."""
    if shape in ("diag", "spherical"):
        m = _diagonal_class_moments(X, codes, k, w)
        if shape == "diag":
            return m
        xp = arrays.namespace(m.mean)
        complete = bool(xp.all(m.weight == m.weight[:, :1]))
        if not complete:
            raise ValueError("a spherical covariance takes no missing values.")
        return Moments(m.weight[:, 0], m.mean, xp.sum(m.scatter, axis=1), shape)
    if not arrays.is_foreign(X):
        X = dense_float64(X).astype(np.float64, copy=False)
    N, S = class_sums(X, codes, k, w)
    xp = arrays.namespace(X)
    M = safe_divide(S, N[:, None] + xp.zeros_like(S))
    if shape == "tied":
        D = X - xp.take(M, codes, axis=0)
        return Moments(N, M, _weighted_scatter(D, w), shape)
    return Moments(N, M, _own_scatters(X, codes, k, w, M), shape)


def _diagonal_class_moments(X, codes, k, w) -> Moments:
    """Moments of each column in each class, with a weight for each."""
    if not arrays.is_foreign(X):
        N, M, S = _class_moments.diagonal_moments(
            dense_float64(X), codes, *weights_for_loop(w), k
        )
        return Moments(N, M, S, "diag")
    X = arrays.as_float(X)
    xp = arrays.namespace(X)
    R = weighted_one_hot(codes, k, w, X)
    N = xp.sum(R, axis=0)[:, None] + xp.zeros_like(X[:1, :])
    M = safe_divide(xp.matmul(R.T, X), N)
    D = X - xp.take(M, codes, axis=0)
    return Moments(N, M, xp.matmul(R.T, D * D), "diag")


def _weighted_scatter(D, w):
    """sum_i w_i d_i d_i'."""
    if w is None:
        return arrays.namespace(D).matmul(D.T, D)
    return arrays.namespace(D).matmul((D * arrays.asarray(w, like=D)[:, None]).T, D)


def _own_scatters(X, codes, k, w, M):
    """The scatter of each class about its mean, (k, d, d)."""
    xp = arrays.namespace(X)
    order = xp.argsort(codes, stable=True)
    ends = np.searchsorted(arrays.to_numpy(xp.take(codes, order)), np.arange(k + 1))
    X = xp.take(X, order, axis=0)
    w = None if w is None else xp.take(arrays.asarray(w, like=X), order)
    parts = []
    for c in range(k):
        cut = slice(int(ends[c]), int(ends[c + 1]))
        weights = None if w is None else w[cut]
        parts.append(_weighted_scatter(X[cut, :] - M[c, :], weights))
    return xp.stack(parts)


def spherical_moments(m: Moments) -> Moments:
    """Diagonal moments reduced to one variance for each class."""
    xp = arrays.namespace(m.mean)
    d = m.mean.shape[1]
    N = xp.max(m.weight, axis=1)
    S = xp.sum(m.scatter, axis=1)
    # the variance of the values that were seen, scaled as if all had been
    S = S * safe_divide(N * d, xp.sum(m.weight, axis=1), 1.0)
    return Moments(N, m.mean, S, "spherical")
