"""The hat matrix of least squares and ridge: leverages and leave-one-out residuals.

Least squares and ridge regression are linear in y. At a point x,

    y^(x) = sum_i s_i(x) y_i,                                                    (1)
    s_i(x) = w_i (1 / W + (x - m)^T (Xc^T Xc + alpha I)^-1 (x_i - m))

with m the mean and W the sum of weights; without an intercept 1 / W and m fall away.
The weights sum to 1 if there is an intercept. At the rows themselves (1) is the hat
matrix H, its diagonal h the leverages, its trace the degrees of freedom, and

    y_i - y^_(-i)(x_i) = (y_i - y^(x_i)) / (1 - h_i)                             (2)

is the error at row i of the fit without row i, exactly and without refitting.

Shapes    X (n, d)   x (m, d)   s (m, n)   h (n,)
Refs      [HoaglinWelsch1978]; [Allen1974]
"""

import numpy as np
import scipy.sparse as sp

from ...core.arrays import arrays
from ...core.arrays.open_rows import open_rows
from ...core.arrays.rows import DatasetRows, is_dataset
from ...core.linalg.least_squares_passes import on_device, weighted_design
from ...core.linalg.ridge_spectrum import (
    leave_one_out_errors,
    ridge_coefficients,
    ridge_spectrum,
)
from ...predictors.abstract_linear import checked_rows
from .ridge import checked_alphas


def rows_spectrum(X, y, w, alpha, intercept):
    """The spectrum of the rows (by QR, for accuracy), the checked rows and alpha."""
    alpha = float(checked_alphas(alpha, name="alpha")[0])
    X, Y, w, flat = checked_rows(X, y, w)
    S = ridge_spectrum(X, Y, w, intercept=intercept, solver="svd")
    return S, (X, Y, w, flat), alpha


def smoother_weights(X, x, *, alpha=0.0, fit_intercept=True, sample_weight=None):
    """The weight of every row of X in the prediction at the points x, eq. (1).

    Parameters
    ----------
    X : array of shape (n, d)
        Rows that the model is fitted to.
    x : array of shape (m, d)
        Points to predict at.
    alpha : float, default=0.0
        Penalty of ridge regression; 0 is least squares (of smallest norm).
    fit_intercept : bool, default=True
    sample_weight : array of shape (n,) or None, default=None

    Returns
    -------
    array of shape (m, n)

    Examples
    --------
    >>> smoother_weights(np.array([[0.0], [1.0], [2.0]]), np.array([[3.0]])).round(6)
    array([[-0.666667,  0.333333,  1.333333]])
    """
    y = arrays.namespace(X).zeros(int(X.shape[0]), device=arrays.device(X))
    S, checked, alpha = rows_spectrum(X, y, sample_weight, alpha, fit_intercept)
    X, _, w, _ = checked
    xp = arrays.namespace(X)
    there = lambda v: on_device(np.ascontiguousarray(v), X)
    m, V, F = (there(v) for v in (S.mean, S.V, S.shrink([alpha])[:, 0]))
    rows = lambda A: weighted_design(A, m) @ V
    x = arrays.as_float(x if arrays.is_foreign(x) or sp.issparse(x) else np.asarray(x))
    out = (rows(x) * F) @ rows(X).T
    if fit_intercept:
        out = out + 1 / S.problem.weight
    return out if w is None else out * xp.astype(w, xp.float64)[None, :]


def hat_values(X, *, alpha=0.0, fit_intercept=True, sample_weight=None):
    """The leverages h_i, the diagonal of the hat matrix.

    They lie between 0 and 1 and sum to the number of coefficients (for alpha 0); a row
    near 1 is fitted whatever its target.

    Examples
    --------
    >>> hat_values(np.array([[0.0], [1.0], [2.0]])).round(6)
    array([0.833333, 0.333333, 0.833333])
    """
    X = open_rows(X) if is_dataset(X) else X
    like = X if not isinstance(X, DatasetRows) and arrays.is_foreign(X) else np.empty(0)
    y = arrays.namespace(like).zeros(int(X.shape[0]), device=arrays.device(like))
    S, _, alpha = rows_spectrum(X, y, sample_weight, alpha, fit_intercept)
    problem = S.problem
    there = lambda v: on_device(np.ascontiguousarray(v), problem.like)
    shift = 0.0 if problem.shift is None else arrays.to_numpy(problem.shift)
    m, V, F = (there(v) for v in (S.mean - shift, S.V, S.shrink([alpha])[:, 0]))

    def leverage(x, y, w):
        h = (weighted_design(x, problem.shift) - m) @ V
        h = (h * h) @ F
        h = h + 1 / problem.weight if problem.intercept else h
        return h if w is None else h * w

    return problem.rows.map(leverage)


def loo_residuals(X, y, *, alpha=0.0, fit_intercept=True, sample_weight=None):
    """The error at each row of the fit without it, eq. (2), like y.

    Leaving out a row leaves out all of its weight.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 2, 2, 4])
    >>> loo_residuals(X, y).round(6)
    array([ 0.333333,  0.285714, -1.      ,  1.333333])
    """
    S, checked, alpha = rows_spectrum(X, y, sample_weight, alpha, fit_intercept)
    X, Y, w, flat = checked
    E = leave_one_out_errors(S, [alpha])[:, :, 0]
    if w is not None:
        root = np.sqrt(arrays.to_numpy(w))[:, None]
        live = np.broadcast_to(root > 0, E.shape)
        B, b = (a[..., 0] for a in ridge_coefficients(S, [alpha]))
        X = X.toarray() if sp.issparse(X) else arrays.to_numpy(X)
        r = arrays.to_numpy(Y) - X @ B - b  # a row of weight 0 is left out already
        E = np.divide(E, root, out=r, where=live)
    return E[:, 0] if flat else E
