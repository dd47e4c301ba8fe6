"""Ridge regression at many strengths for the price of one.

    B(alpha) = argmin sum_i w_i |y_i - b - B^T x_i|^2 + alpha |B|^2              (1)

is V diag(1 / (S^2 + alpha)) V^T Xc^T yc in the singular vectors V of the centred,
weighted X (`core.spectral`), so all alphas share one decomposition and differ by a
product of small matrices. As alpha grows, |B| falls and the error on the rows rises.

Cost      n d min(n, d) once, then d^2 (n d for d > n) for each alpha
Shapes    X (n, d)   y (n,) or (n, t)   alphas (a,)   coefs (d, a) or (t, d, a)
Refs      [Hoerl1970]; [Hastie2004]
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_X_y

from ..base import check_weights
from ..core import arrays
from ..core.rows import DatasetRows, is_dataset
from ..core.spectral import coefficients, spectrum
from ..params import ParameterError
from .base import target_columns


class RidgePath(NamedTuple):
    """Coefficients along the strengths of the penalty."""

    alphas: np.ndarray  # (a,), in the order given
    coefs: np.ndarray  # (d, a), or (t, d, a) for t targets
    intercepts: np.ndarray  # (a,), or (t, a)


def checked_rows(X, y, sample_weight=None):
    """X, Y (n, t), weights and whether y was one column, for functions of arrays."""
    if is_dataset(X):
        X = X if isinstance(X, DatasetRows) else DatasetRows(X)
    elif arrays.is_foreign(X):
        X, y = arrays.as_float(X), arrays.as_float(y)
    else:
        kinds = (np.float64, np.float32)
        X, y = check_X_y(X, y, accept_sparse="csr", dtype=kinds, multi_output=True)
        y = check_array(y, ensure_2d=False, dtype=np.float64)
    Y, flat = target_columns(y, X)
    return X, Y, check_weights(sample_weight, X), flat


def checked_alphas(alphas, *, strictly_positive=False, name="alphas"):
    """Strengths as an array (a,), each at least (or above) 0."""
    alphas = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    if alphas.ndim != 1 or len(alphas) == 0:
        raise ParameterError(f"{name} must be a number or a list of numbers.")
    fine = alphas > 0 if strictly_positive else alphas >= 0
    if not np.all(fine & np.isfinite(alphas)):
        limit = "above 0" if strictly_positive else "at least 0"
        raise ParameterError(
            f"{name} must be finite numbers {limit}, got {alphas[~fine][:1]}."
        )
    return alphas


def ridge_path(X, y, alphas=None, *, fit_intercept=True, sample_weight=None):
    """Ridge coefficients for every alpha from one decomposition, eq. (1).

    Parameters
    ----------
    X : array, sparse matrix, tensor or path of a table, of shape (n, n_features)
    y : array of shape (n,) or (n, n_targets)
    alphas : list of float or None, default=None
        Strengths of the penalty. None takes 100 from 1e-4 to 1e4 times the mean
        square of the singular values.
    fit_intercept : bool, default=True
    sample_weight : array of shape (n,) or None, default=None

    Returns
    -------
    RidgePath
        `alphas`, `coefs` of shape (n_features, n_alphas) or (n_targets, n_features,
        n_alphas), and `intercepts`.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 2, 2, 4])
    >>> path = ridge_path(X, y, [0.0, 2.0])
    >>> path.coefs.round(6), path.intercepts.round(6)
    (array([[0.9 , 0.642857]]), array([0.9 , 1.285714]))
    """
    X, Y, w, flat = checked_rows(X, y, sample_weight)
    least = 1.0
    if alphas is not None:
        alphas = checked_alphas(alphas)
        least = float(alphas.min())
    S = spectrum(X, Y, w, least=least, intercept=fit_intercept)
    if alphas is None:
        alphas = np.logspace(-4, 4, 100) * max(np.mean(S.squares), 1e-300)
    B, b = coefficients(S, alphas)
    coefs = np.moveaxis(B, 1, 0)
    if not sp.issparse(X) and arrays.is_foreign(X):
        coefs, b = (arrays.asarray(np.ascontiguousarray(a), X) for a in (coefs, b))
    return RidgePath(alphas, coefs[0, ...] if flat else coefs, b[0, ...] if flat else b)
