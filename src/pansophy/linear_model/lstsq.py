"""Least squares as a function of arrays, and the column of ones that is an intercept.

    B = argmin |y - X B|^2, of all minimisers the one of smallest |B|             (1)

(1) is X^+ y, the pseudo-inverse applied to y, and the limit of ridge regression as its
penalty falls to 0. It is solved by `core.least_squares`, whatever the rank of X.
Ones before X make the first coefficient an intercept: the same fit as with a separate
b as long as nothing is penalised; a ridge penalty would hold b back as well.

Shapes    X (n, d)   y (n,) or (n, t)   B (d,) or (d, t)
Refs      [Bjorck1996]; [LawsonHanson1974]
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.least_squares import least_squares
from ..core.linalg import singular_values
from .ridge_path import checked_rows


class LeastSquares(NamedTuple):
    """A solution of eq. (1)."""

    coef: Any  # B
    residual: Any  # sum of squared residuals, per target
    rank: int
    singular: np.ndarray  # singular values of X, falling
    dropped: tuple[int, ...]  # columns that are 0 or depend on the others


def lstsq(X, y, *, sample_weight=None, tol=None) -> LeastSquares:
    """Least squares of minimum norm by QR, eq. (1).

    Parameters
    ----------
    X : array, sparse matrix, tensor or path of a table, of shape (n, d)
    y : array of shape (n,) or (n, t)
    sample_weight : array of shape (n,) or None, default=None
    tol : float or None, default=None
        Singular values below `tol` times the largest are cut; None decides what is
        zero by rounding alone.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0]])
    >>> found = lstsq(X, np.array([6.0, 2.0]))
    >>> found.coef.round(6), found.rank
    (array([0.666667, 0.666667, 1.333333]), 2)
    """
    X, Y, w, flat = checked_rows(X, y, sample_weight)
    found = least_squares(X, Y, w, intercept=False, tol=tol)
    s = singular_values(found.triangle.astype(np.float64, copy=False))
    s = s[: min(X.shape)]
    B, r = found.coef, found.residual
    B, r = (B[:, 0], r[0]) if flat else (B, r)
    if arrays.is_foreign(X):
        B = arrays.asarray(B, X)
    return LeastSquares(B, r, found.rank, s, found.dropped)


def add_intercept(X):
    """X with a first column of ones, of the library, dtype and sparsity of X.

    Examples
    --------
    >>> add_intercept(np.array([[2.0], [3.0]]))
    array([[1., 2.], [1., 3.]])
    """
    if sp.issparse(X):
        ones = np.ones((X.shape[0], 1), X.dtype)
        return sp.hstack([sp.csr_array(ones), X], format="csr")
    if not arrays.is_foreign(X):
        X = np.asarray(X)
    xp = arrays.namespace(X)
    X = arrays.as_float(X)
    return xp.concat([xp.ones_like(X[:, :1]), X], axis=1)
