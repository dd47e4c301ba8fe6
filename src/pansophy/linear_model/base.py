"""What the linear models share: targets as columns, predictions, sparse operators.

A model keeps `coef_` as scikit-learn does, (d,) for one target and (t, d) for t; the
mathematics works on B (d, t). `CentredOperator` is sqrt(w) (X - 1 m^T) as an operator, so that
iterative solvers see centred, weighted data while a sparse X stays sparse.
"""

import warnings

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, lsmr
from sklearn.exceptions import ConvergenceWarning

from ..base import Estimator, Regressor
from ..core import arrays
from ..core.rows import DatasetRows

DENSE_WIDTH = 1000  # a sparse X of at most so many columns is solved block by block


def target_columns(y, X):
    """y as (n, t), and whether it came as one column without a second dimension."""
    if isinstance(X, DatasetRows):
        y = np.asarray(arrays.to_numpy(y), dtype=np.float64)
        if len(y) != X.n:
            raise ValueError(f"X has {X.n} rows, but y has {len(y)} entries.")
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity.")
    y = arrays.as_float(y)
    return (y[:, None], True) if y.ndim == 1 else (y, False)


def store_coefficients(model, X, B, b, y_is_1d):
    """Set coef_ and intercept_ from B (d, t) and b (t,), in X's library and dtype."""
    if isinstance(X, DatasetRows) or not arrays.is_foreign(X):
        B, b = B.astype(X.dtype, copy=False), b.astype(X.dtype, copy=False)
        B = np.ascontiguousarray(B.T)
    else:
        B, b = arrays.asarray(np.ascontiguousarray(B.T), X), arrays.asarray(b, X)
    model.coef_ = B[0, :] if y_is_1d else B
    if model.fit_intercept:
        model.intercept_ = b[0] if y_is_1d else b
    else:
        model.intercept_ = 0.0


def raw_prediction(model, X):
    """X B + b for arrays, sparse matrices, tensors and tables on disk."""
    coef, b = model.coef_, model.intercept_
    if arrays.is_foreign(X):
        like = lambda a: arrays.asarray(arrays.to_numpy(a), like=X)
        coef, b = (a if arrays.is_foreign(a) else like(a) for a in (coef, b))
    elif arrays.is_foreign(coef):
        coef, b = arrays.to_numpy(coef), arrays.to_numpy(b)
    B = coef.T if coef.ndim == 2 else coef
    line = lambda x: x @ B + b
    return X.map(line) if isinstance(X, DatasetRows) else line(X)


class AbstractLinearRegressor(Regressor, Estimator):
    """Predictions of a model with `coef_` and `intercept_`."""

    def predict(self, X):
        """B^T x + b for every row."""
        return raw_prediction(self, self._ready(X, accept_sparse="csr"))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def quoted_column_names(model, columns, limit=8):
    """Columns in words: their names, or x0, x1, ... where there are none."""
    known = getattr(model, "feature_names_in_", None)
    words = [repr(str(known[j])) if known is not None else f"x{j}" for j in columns]
    more = len(words) - limit
    return ", ".join(words[:limit]) + (f" and {more} more" if more > 0 else "")


def warn_rank_deficient(model, fit, n, d):
    """Say which columns are not determined by the data."""
    if fit.rank == d:
        return
    if n <= d:
        what = f"{n} rows cannot determine {d} columns"
    elif fit.dropped:
        be = "are" if len(fit.dropped) > 1 else "is"
        what = (
            f"{quoted_column_names(model, fit.dropped)} {be} constant or a combination of others"
        )
    else:
        what = f"singular values below tol={model.tol} were cut"
    warnings.warn(
        f"X has rank {fit.rank} with {d} columns: {what}. Of the coefficients that fit "
        "equally well the smallest were taken.",
        np.exceptions.RankWarning,
        stacklevel=3,
    )


class CentredOperator(LinearOperator):
    """sqrt(w) (X - 1 m^T), never formed."""

    def __init__(self, X, w=None, *, intercept=True):
        self.X, self.mean = X, np.zeros(X.shape[1])
        self.root = None if w is None else np.sqrt(w)
        if intercept:
            weights = np.ones(X.shape[0]) if w is None else w
            self.mean = (X.T @ weights) / weights.sum()
        super().__init__(np.dtype(np.float64), X.shape)

    def _matmat(self, V):
        out = self.X @ V - self.mean @ V
        return out if self.root is None else self.root[:, None] * out

    def _rmatmat(self, U):
        U = U if self.root is None else self.root[:, None] * U
        return self.X.T @ U - np.outer(self.mean, U.sum(axis=0))

    def _matvec(self, v):
        return self._matmat(v.reshape(-1, 1))[:, 0]

    def _rmatvec(self, u):
        return self._rmatmat(u.reshape(-1, 1))[:, 0]

    def target(self, Y, w, *, intercept=True):
        """sqrt(w) (Y - mean) and the mean."""
        center = np.average(Y, axis=0, weights=w) if intercept else np.zeros(Y.shape[1])
        Y = Y - center
        return (Y if self.root is None else self.root[:, None] * Y), center


def solve_lsmr(X, Y, w, *, alpha, intercept, tol, max_iter, name):
    """B, b and the iterations per target, by LSMR on the centred operator."""
    A = CentredOperator(X, w, intercept=intercept)
    Y, center = A.target(Y, w, intercept=intercept)
    limit = max_iter or 10 * max(X.shape)
    columns, counts, unsettled = [], [], False
    for y, a in zip(Y.T, alpha, strict=True):
        run = lsmr(A, y, damp=np.sqrt(a), atol=tol, btol=tol, conlim=0, maxiter=limit)
        columns.append(run[0])
        counts.append(run[2])
        unsettled |= run[1] == 7
    if unsettled:
        warnings.warn(
            f"{name} did not converge in {limit} iterations. Raise max_iter or tol, or "
            "scale the data.",
            ConvergenceWarning,
            stacklevel=3,
        )
    B = np.stack(columns, axis=1)
    return B, center - A.mean @ B, np.asarray(counts)


def is_wide_sparse(X):
    """Whether X is a sparse matrix too wide to be solved block by block."""
    return sp.issparse(X) and X.shape[1] > DENSE_WIDTH
