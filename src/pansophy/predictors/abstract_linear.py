"""Base classes of the linear models, and the helpers that several of them share.

A model keeps `coef_` in scikit-learn's shapes: (d,) for one target or two classes,
(t, d) for t targets or classes. The mathematics works on B (d, t) and b (t,). All
predictions are affine,

    F = X B + b                                                                  (1)

and a classifier takes the second class where F > 0 (two classes), or the class of the
largest score (more). `CentredOperator` is sqrt(w) (X - 1 m^T) as a linear operator, so
that iterative solvers see centred, weighted data while a sparse X stays sparse.

Most methods add up squares of X and y. Where those sums overflow, LAPACK may fail or
never return, so `AbstractLinearEstimator` refuses such data before a fit begins;
methods whose columns are scaled first (`_any_scale`) take them. Sums over the rows of
an X in Fortran order are taken in another order than those in C order, so that last
digits differ; `row_major_if_small` gives both the same digits where a copy costs
little.

Shapes    X (n, d)   B (d, t)   b (t,)   F (n,) or (n, t)
"""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, lsmr
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_array, check_X_y
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..base import Classifier, Estimator, Regressor
from ..core.arrays import arrays
from ..core.arrays.formulas import design_of_training_rows, is_formula
from ..core.arrays.labels import class_codes
from ..core.arrays.rows import DatasetRows, is_dataset
from ..core.arrays.weighted import check_sample_weight
from ..core.loops import threads

DENSE_WIDTH = 1000  # a sparse X of at most this many columns is solved directly
# entries of X below which a second thread costs more than it gives
SINGLE_THREAD_ENTRIES = 200_000
SMALL_COPY = 1 << 20  # entries of X up to which it is copied into C order


def target_columns(y, X):
    """Targets as a float array (n, t), and whether y had one dimension."""
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
        with np.errstate(over="ignore"):
            coef = np.ascontiguousarray(B.astype(X.dtype, copy=False).T)
            b = b.astype(X.dtype, copy=False)
    else:
        coef = arrays.asarray(np.ascontiguousarray(B.T), X)
        b = arrays.asarray(b, X)
    check_coefficients(model, X, coef)
    model.coef_ = coef[0, :] if y_is_1d else coef
    if model.fit_intercept:
        model.intercept_ = b[0] if y_is_1d else b
    else:
        model.intercept_ = 0.0


def check_coefficients(model, X, coef):
    """Refuse coefficients that are not finite."""
    if not arrays.all_finite(coef):
        raise ValueError(
            f"coefficients of {type(model).__name__} overflow in "
            f"{numpy_float_name(X)}: X is too small beside y; take larger units."
        )


def check_warm_start(model, *start):
    """Refuse to start at coefficients that are not finite."""
    if not all(np.isfinite(part).all() for part in start):
        raise ValueError(
            "Floating-point under-/overflow: the coefficients at which "
            f"{type(model).__name__} is to start are not finite."
        )


def row_major_if_small(X):
    """X in C order, if it is an array of at most `SMALL_COPY` entries."""
    if isinstance(X, np.ndarray) and X.size <= SMALL_COPY:
        return np.ascontiguousarray(X)
    return X


def raw_prediction(model, X):
    """Eq. (1) for arrays, sparse matrices, tensors and tables on disk."""
    coef = model.coef_
    b = model.intercept_
    if arrays.is_foreign(X):
        like = lambda a: arrays.asarray(arrays.to_numpy(a), like=X)
        coef, b = (a if arrays.is_foreign(a) else like(a) for a in (coef, b))
    elif arrays.is_foreign(coef):
        coef = arrays.to_numpy(coef)
        b = arrays.to_numpy(b)
    B = coef.T if coef.ndim == 2 else coef
    affine = lambda x: x @ B + b
    return X.map(affine) if isinstance(X, DatasetRows) else affine(X)


def thread_budget(X):
    """Context that limits threads: one for a small X, else our own and not BLAS's."""
    small = X.shape[0] * X.shape[1] < SINGLE_THREAD_ENTRIES
    return threads.limit_threads(1) if small else threads.single_blas()


def target_vector(y, X):
    """y as a float vector of the library and dtype of X."""
    if isinstance(X, DatasetRows):
        return target_columns(np.asarray(y), X)[0][:, 0].astype(X.dtype)
    if arrays.is_foreign(X):
        return arrays.namespace(X).astype(y, X.dtype)
    return np.asarray(column_or_1d(y, warn=True), dtype=X.dtype)


def array_like(a, like):
    """`a` as an array of the library, device and dtype of `like`."""
    if arrays.is_foreign(a) and not arrays.is_foreign(like):
        a = arrays.to_numpy(a)
    return arrays.asarray(np.asarray(a) if not arrays.is_foreign(a) else a, like)


def numpy_float_name(X):
    """The NumPy name of the float dtype of X, an array of any library."""
    return "float32" if "float32" in str(X.dtype) else "float64"


def checked_rows(X, y, sample_weight=None):
    """Checked X, Y (n, t) and weights, and whether y had one dimension.

    For functions that take arrays; estimators check their input in `_begin`.
    """
    if is_dataset(X):
        X = X if isinstance(X, DatasetRows) else DatasetRows(X)
    elif arrays.is_foreign(X):
        X = arrays.as_float(X)
        y = arrays.as_float(y)
    else:
        kinds = (np.float64, np.float32)
        X, y = check_X_y(X, y, accept_sparse="csr", dtype=kinds, multi_output=True)
        y = check_array(y, ensure_2d=False, dtype=np.float64)
    Y, flat = target_columns(y, X)
    return X, Y, check_sample_weight(sample_weight, X), flat


def _check_sums_of_squares(model, X, y=None):
    """Refuse X or y that are not finite, or whose sums of squares overflow.

    One pass over X, which takes the place of the check for NaN and infinity.
    """
    if isinstance(X, DatasetRows):
        return
    name = type(model).__name__
    if not model._any_scale and not _has_finite_squares(X):
        if not arrays.is_foreign(X):
            assert_all_finite(X, input_name="X", estimator_name=name)
        j, size = _column_of_largest_square(X)
        if size is not None:
            column = _quoted_column_names(model, [j])
            raise ValueError(
                f"column {column} of X holds values up to {size:.1g}, whose squares "
                f"overflow in {numpy_float_name(X)}: {name} needs it in smaller units."
            )
    if y is not None and not model._any_target and not _has_finite_squares(y):
        size = float(np.abs(arrays.to_numpy(y).astype(np.longdouble)).max())
        raise ValueError(
            f"y holds values up to {size:.1g}, whose squares overflow: {name} needs it "
            "in smaller units."
        )


def _has_finite_squares(X):
    """Whether the sum of all squares is finite, and so is every entry."""
    if arrays.is_foreign(X):
        xp = arrays.namespace(X)
        if not arrays.is_float(X) or X.shape[0] == 0:
            return True
        return bool(xp.isfinite(xp.max(xp.abs(X)) ** 2 * X.shape[0]))
    data = X.data if sp.issparse(X) else np.asarray(X)
    if data.dtype.kind != "f":
        return True
    flat = data.ravel(order="K")  # no copy unless it is a strided view
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.dot(flat, flat)))


def _column_of_largest_square(X):
    """The column whose sum of squares overflows, and its largest entry; or None."""
    if sp.issparse(X):
        X = abs(X).max(axis=0).toarray()
        n = 1 << 10
    else:
        n = X.shape[0]
        X = arrays.to_numpy(X)
    size = np.abs(X.astype(np.longdouble)).max(axis=0)
    j = int(np.argmax(size))
    top = np.finfo(X.dtype).max if X.dtype.kind == "f" else np.inf
    overflows = size[j] ** 2 * n > top
    return j, float(size[j]) if overflows else None


class AbstractLinearEstimator(Estimator):
    """An estimator that takes formulas and refuses squares that overflow."""

    _any_scale = False  # whether the method scales columns before it squares them
    _any_target = False  # whether it takes a y whose squares overflow

    def _check_training_data(
        self, X, y=None, sample_weight=None, *, y_kind=None, **checks
    ) -> tuple:
        if not self._any_scale:
            checks = {"ensure_all_finite": False, **checks}
        if hasattr(self, "formula_"):
            del self.formula_
        if is_formula(X):
            intercept = getattr(self, "fit_intercept", True)
            self.formula_, X, y = design_of_training_rows(X, y, intercept)
        checked = super()._check_training_data(
            X, y, sample_weight, y_kind=y_kind, **checks
        )
        numeric = y_kind is not None and "number" in y_kind
        _check_sums_of_squares(self, checked[0], checked[1] if numeric else None)
        return checked

    def _check_new_data(self, X, **checks):
        design = getattr(self, "formula_", None)
        is_frame = design is not None and hasattr(X, "columns")
        if is_frame and list(map(str, X.columns)) != design.columns:
            X = design.rows(X)
        return super()._check_new_data(X, **checks)


class AbstractLinearRegressor(Regressor, AbstractLinearEstimator):
    """Predictions of a regressor with `coef_` and `intercept_`, eq. (1)."""

    def predict(self, X):
        """Eq. (1) for every row."""
        return raw_prediction(self, self._check_new_data(X, accept_sparse="csr"))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _quoted_column_names(model, columns, limit=8):
    """The names of columns for a message: x0, x1, ... where X has no names."""
    known = getattr(model, "feature_names_in_", None)
    names = [repr(str(known[j])) if known is not None else f"x{j}" for j in columns]
    n_hidden = len(names) - limit
    rest = f" and {n_hidden} more" if n_hidden > 0 else ""
    return ", ".join(names[:limit]) + rest


def warn_rank_deficient(model, fit, n, d):
    """Warn where the data do not determine all coefficients, and name the columns."""
    if fit.rank == d:
        return
    if n <= d:
        reason = f"{n} rows cannot determine {d} columns"
    elif fit.dropped:
        names = _quoted_column_names(model, fit.dropped)
        verb = "are" if len(fit.dropped) > 1 else "is"
        reason = f"{names} {verb} constant or a combination of others"
    else:
        reason = f"singular values below tol={model.tol} were cut"
    warnings.warn(
        f"X has rank {fit.rank} with {d} columns: {reason}. Of the coefficients that "
        "fit "
        "equally well the smallest were taken.",
        np.exceptions.RankWarning,
        stacklevel=3,
    )


class CentredOperator(LinearOperator):
    """The operator sqrt(w) (X - 1 m^T), which is never formed."""

    def __init__(self, X, w=None, *, intercept=True):
        self.X = X
        self.mean = np.zeros(X.shape[1])
        self.sqrt_weights = None if w is None else np.sqrt(w)
        if intercept:
            weights = np.ones(X.shape[0]) if w is None else w
            self.mean = (X.T @ weights) / weights.sum()
        super().__init__(np.dtype(np.float64), X.shape)

    def _matmat(self, V):
        product = self.X @ V - self.mean @ V
        return (
            product
            if self.sqrt_weights is None
            else self.sqrt_weights[:, None] * product
        )

    def _rmatmat(self, U):
        U = U if self.sqrt_weights is None else self.sqrt_weights[:, None] * U
        return self.X.T @ U - np.outer(self.mean, U.sum(axis=0))

    def _matvec(self, v):
        return self._matmat(v.reshape(-1, 1))[:, 0]

    def _rmatvec(self, u):
        return self._rmatmat(u.reshape(-1, 1))[:, 0]

    def centred_targets(self, Y, w, *, intercept=True):
        """sqrt(w) (Y - mean) and the mean."""
        center = np.average(Y, axis=0, weights=w) if intercept else np.zeros(Y.shape[1])
        Y = Y - center
        if self.sqrt_weights is not None:
            Y = self.sqrt_weights[:, None] * Y
        return Y, center


def solve_lsmr(X, Y, w, *, alpha, intercept, tol, max_iter, name):
    """Least squares by LSMR on the centred operator, target by target.

    `alpha` (t,) holds the ridge penalties. Returns B, b and the iterations (t,).
    """
    A = CentredOperator(X, w, intercept=intercept)
    Y, center = A.centred_targets(Y, w, intercept=intercept)
    limit = max_iter or 10 * max(X.shape)
    columns = []
    counts = []
    converged = True
    for y, a in zip(Y.T, alpha, strict=True):
        run = lsmr(A, y, damp=np.sqrt(a), atol=tol, btol=tol, conlim=0, maxiter=limit)
        columns.append(run[0])
        counts.append(run[2])
        converged &= run[1] != 7  # LSMR's code for its limit of iterations
    if not converged:
        warnings.warn(
            f"{name} did not converge in {limit} iterations. Raise max_iter or tol, or "
            "scale the data.",
            ConvergenceWarning,
            stacklevel=3,
        )
    B = np.stack(columns, axis=1)
    return B, center - A.mean @ B, np.asarray(counts)


def is_wide_sparse(X):
    """Whether X is a sparse matrix too wide for a direct solver."""
    return sp.issparse(X) and X.shape[1] > DENSE_WIDTH


def encode_two_or_more_classes(y, X=None):
    """Classes and codes of y, which must hold at least two classes."""
    classes, codes = class_codes(y, X)
    if classes.shape[0] < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the "
            f"data contains only one class: {arrays.to_numpy(classes).tolist()[0]!r}"
        )
    return classes, codes


def classes_from_scores(classes, F):
    """The class of each row by its scores F, (n,) for two classes or (n, k)."""
    xp = arrays.namespace(F)
    best = xp.astype(F > 0, xp.int64) if F.ndim == 1 else xp.argmax(F, axis=1)
    if arrays.is_foreign(F) and not arrays.is_foreign(classes):
        best = arrays.to_numpy(best)
    return arrays.namespace(classes).take(classes, best)


def _sparse_raw_prediction(model, X):
    """Eq. (1) where `coef_` is a CSR matrix."""
    product = lambda x: x @ model.coef_.T
    F = X.map(product) if isinstance(X, DatasetRows) else product(X)
    return (F.toarray() if sp.issparse(F) else np.asarray(F)) + model.intercept_


class AbstractLinearClassifier(Classifier, AbstractLinearEstimator):
    """Decisions of a model with `classes_`, `coef_` and `intercept_`."""

    def decision_function(self, X) -> Any:
        """Raw predictions: (n,) for two classes, (n, k) for more."""
        X = self._check_new_data(X, accept_sparse="csr")
        predict = _sparse_raw_prediction if sp.issparse(self.coef_) else raw_prediction
        F: Any = predict(self, X)
        return F[:, 0] if F.ndim == 2 and F.shape[1] == 1 else F

    def predict(self, X):
        """The class with the best score."""
        F = self.decision_function(X)  # first: it says if the model is not fitted
        return classes_from_scores(self.classes_, F)

    def sparsify(self):
        """Keep `coef_` as a sparse matrix, which pays where most of it is 0."""
        check_is_fitted(self)
        if not sp.issparse(self.coef_):
            self.coef_ = sp.csr_matrix(arrays.to_numpy(self.coef_))
        return self

    def densify(self):
        """Keep `coef_` as an array again."""
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
