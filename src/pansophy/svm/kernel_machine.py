"""Base class of the kernel machines: parameters, choice of the cache, decision values.

A machine is a problem of `optim/constraints/smo.py` (a table of targets, bounds and
groups) and a kernel. Its decision function is a sum over the support vectors, the rows
whose multiplier is not 0,

    f(x) = sum_i b_i k(x_i, x) + intercept                                         (1)

Up to `smo.EXACT_ROWS` rows the kernel matrix is computed at once and the solution is
exact to rounding. Of more rows only blocks exist: as many rows of the matrix as
`cache_size` allows are kept. They are kept in float32 where that changes no score by
more than `tol`,

    C max_i k(x_i, x_i) sqrt(n) eps_32 <= tol                                      (2)

and in float64 otherwise; scores and multipliers are always float64.

gamma="scale" is 1 / (d v) with v the variance of all entries of X, weighted by the
sample weights: a row of weight k counts as k rows, one of weight 0 as none.

Refs      [Cortes1995] [Scholkopf2000] [Chang2011]
"""

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..base import Estimator
from ..core.arrays import arrays
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.arrays.unreadable import array_of_rows
from ..core.arrays.weighted import check_sample_weight
from ..core.drivers.iterate import Result
from ..core.loops import threads
from ..kernels import AbstractKernel, Sigmoid
from ..kernels.base import object_rows, warn_if_indefinite
from ..kernels.given import refuse_asymmetric
from ..optim.constraints.smo import EXACT_ROWS, RowCache, solve_dual
from ..params import (
    Flag,
    Natural,
    NonNegative,
    Number,
    Positive,
    PositiveFraction,
    Verbosity,
    Whole,
    check_params,
)
from ..persist.saved_state import IntArray, saved_state
from .device_rows import (
    ComputedRows,
    DeviceRows,
    device_expansion,
    is_on_device,
)
from .kernel_rows import (
    SINGLE_RANGE,
    KernelSpec,
    PrecomputedRows,
    SubsetRows,
    TrainingRows,
    call_kernel,
    exponent_range,
    map_kernel_blocks,
    take_training_rows,
)

Nu = PositiveFraction
NO_LIMIT = 1 << 60  # pair steps if max_iter is -1
LOOKED_AT = 200  # rows on which a kernel is tried before a fit
SYMMETRIC_DIGITS = 1e-5  # share by which a matrix made in float32 may be asymmetric
SCALE_RATIO = 1e3  # of the scales of two columns, above which fit warns
NOT_SEPARABLE = 1e12  # |w|^2 max k(x, x) of a hard margin that is rounding error


class FitSettings(NamedTuple):
    """Settings of every dual of a fit."""

    tol: float
    max_steps: int
    shrinking: bool
    cache: int  # bytes


def _support_vectors_agree(model) -> bool:
    """Whether a loaded machine has as many coefficients and vectors as it says."""
    if not hasattr(model, "support_"):
        return True
    n_vectors = len(model.support_)
    if model.n_support_.sum() != n_vectors or model.dual_coef_.shape[1] != n_vectors:
        return False
    if isinstance(model.kernel, str) and model.kernel == "precomputed":
        return n_vectors == 0 or model.support_.max() < model.n_features_in_
    if model._of_sequences:
        return len(model.support_vectors_) == n_vectors
    return model.support_vectors_.shape == (n_vectors, model.n_features_in_)


@saved_state(
    support_=IntArray("vectors", low=0),
    n_support_=IntArray(None, low=0),
    check=_support_vectors_agree,
)
@dataclass(eq=False, repr=False)
class AbstractKernelMachine(Estimator):
    """Parameters and helpers of the kernel machines."""

    _: KW_ONLY
    kernel: (
        Literal["linear", "poly", "rbf", "sigmoid", "precomputed"]
        | AbstractKernel
        | Callable
    ) = "rbf"
    degree: Natural = 3
    gamma: Literal["scale", "auto"] | NonNegative = "scale"
    coef0: Number = 0.0
    tol: Positive = 1e-3
    shrinking: Flag = True
    cache_size: Positive = 200
    verbose: Verbosity = 0
    max_iter: Whole = -1

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _is_function(self) -> bool:
        return callable(self.kernel) and not isinstance(self.kernel, AbstractKernel)

    @property
    def _of_sequences(self) -> bool:
        """Whether the kernel is of `pansophy.kernels` and takes no rows of numbers."""
        kernel: Any = self.kernel
        return isinstance(kernel, AbstractKernel) and not kernel.requires_vector_input

    def _takes_objects(self, X) -> bool:
        """Whether X is handed to the kernel as it is: no array of numbers."""
        as_given = not isinstance(X, np.ndarray) and not sp.issparse(X)
        return self._of_sequences or (self._is_function and as_given)

    # -- before a fit ------------------------------------------------------------------

    def _check_machine_data(self, X, y, sample_weight, y_kind):
        """Checked X, y (None without) and weights; function kernels take any X."""
        if self._precomputed and sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported.")
        if self._takes_objects(X):
            return self._check_objects(X, y, sample_weight, y_kind)
        checks = {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}
        checked = self._check_training_data(
            self._tensor_or_host(X),
            arrays.to_numpy(y) if arrays.is_foreign(y) else y,
            y_kind=y_kind,
            accept_large_sparse=False,
            **checks,
        )
        X = _in_double_precision(checked[0])
        w = _machine_weights(sample_weight, X.shape[0])
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix. Input is a "
                f"{X.shape[0]}x{X.shape[1]} matrix."
            )
        if self._precomputed:
            refuse_asymmetric(X, SYMMETRIC_DIGITS)
        self._look_at_kernel(X)
        if not callable(self.kernel) and not self._precomputed:
            _refuse_overflow(self, X)
            _warn_about_scales(self, X)
        self.shape_fit_ = tuple(X.shape)
        return X, (None if y_kind is None else _checked_target(checked[1], y_kind)), w

    def _tensor_or_host(self, X):
        """X, as a tensor only where kernels are computed on its device."""
        if not arrays.is_foreign(X):
            return X
        on_host = self._precomputed or self._is_function or not is_on_device(X)
        return arrays.to_numpy(X) if on_host else X

    def _check_objects(self, X, y, sample_weight, y_kind):
        """Rows of any kind for a function kernel: a list, a frame of texts, ..."""
        check_params(self)
        check_consistent_length(X, y)
        X = object_rows(X)[0] if self._of_sequences else X
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if y_kind is not None:
            y = column_or_1d(np.asarray(y), warn=True)
            y = y.astype(float) if y_kind == "number" else y
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (n,)
        self._look_at_kernel(X)
        return X, y, _machine_weights(sample_weight, n)

    def _look_at_kernel(self, X):
        """Refuse a function that is not symmetric on the first rows.

        The sigmoid is no positive definite kernel: if these rows show it, warn.
        """
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        first = np.arange(min(n, LOOKED_AT))
        if self._is_function:
            sample = take_training_rows(X, first)
            refuse_asymmetric(
                call_kernel(self.kernel, sample, sample), SYMMETRIC_DIGITS
            )
        elif isinstance(self.kernel, str) and self.kernel == "sigmoid":
            gamma = _kernel_gamma(self.gamma, X, None)
            sample = take_training_rows(X, first)
            sample = arrays.to_numpy(to_dense(sample))
            kernel = Sigmoid(gamma, float(self.coef0))
            warn_if_indefinite(kernel, kernel.block(sample, sample))

    def _kernel_spec(self, X, w) -> KernelSpec:
        """The kernel with its gamma, which is kept as `_gamma`."""
        self._gamma = 0.0
        if isinstance(self.kernel, str) and not self._precomputed:
            self._gamma = _kernel_gamma(self.gamma, X, w)
        return self._spec

    @property
    def _spec(self) -> KernelSpec:
        return KernelSpec(self.kernel, self._gamma, self.degree, self.coef0)

    def _settings(self) -> FitSettings:
        steps = NO_LIMIT if self.max_iter < 0 else max(int(self.max_iter), 1)
        cache = int(self.cache_size * (1 << 20))
        return FitSettings(self.tol, steps, bool(self.shrinking), cache)

    def _training_rows(self, X, w, bound):
        """Blocks of the kernel matrix; `bound` is the largest multiplier."""
        spec = self._kernel_spec(X, w)
        if self._precomputed:
            return PrecomputedRows(X)
        dtype = kernel_row_dtype(spec, X, bound, self.tol)
        if arrays.is_foreign(X):
            return DeviceRows(spec, X, dtype)
        return TrainingRows(spec, X, dtype)

    # -- after a fit -------------------------------------------------------------------

    def _store_support(self, X, support):
        """Keep the support vectors; none for a precomputed kernel."""
        self.support_ = support.astype(np.int32)
        self._dense = not sp.issparse(X)
        self._objects = None
        if self._precomputed:
            self.support_vectors_ = np.empty((0, 0))
            return
        vectors = take_training_rows(X, support)
        self.support_vectors_ = (
            arrays.to_numpy(vectors) if arrays.is_foreign(vectors) else vectors
        )
        if self._is_function and not (isinstance(X, np.ndarray) or sp.issparse(X)):
            self._objects = X  # such a function sees all training rows

    def _check_prediction_rows(self, X):
        """X for `decision_function`; for precomputed kernels its support columns."""
        if self._takes_objects(X):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self)
            return object_rows(X)[0] if self._of_sequences else X
        X = self._check_new_data(
            self._tensor_or_host(X),
            accept_sparse="csr",
            dtype=np.float64,
            accept_large_sparse=False,
        )
        X = _in_double_precision(X)
        if self._precomputed:
            return X[:, self.support_]
        n_vectors = self.n_support_.sum()
        vectors = self.support_vectors_
        if hasattr(vectors, "shape") and n_vectors != vectors.shape[0]:
            raise ValueError(
                f"The internal representation of {type(self).__name__} was altered: "
                "n_support_ and support_vectors_ disagree."
            )
        return X

    def _expand(self, X, combine, width):
        """combine(kernel block of X and the support vectors) by blocks of rows."""
        if self._precomputed:
            return combine(X)
        if len(self.support_) == 0:
            n = X.shape[0] if hasattr(X, "shape") else len(X)
            return combine(np.zeros((n, 0)))
        if self._objects is not None:
            K = call_kernel(self.kernel, X, self._objects)
            return combine(np.ascontiguousarray(K[:, self.support_]))
        return map_kernel_blocks(self._spec, X, self.support_vectors_, combine, width)

    def _device_decision(self, X, coef):
        """k(X, support vectors) coef^T of a tensor X, in main memory."""
        return device_expansion(self._spec, X, to_dense(self.support_vectors_), coef)

    def _linear_coef(self, coef):
        """coef_ of a linear kernel from the rows of `coef`, read-only."""
        if not (isinstance(self.kernel, str) and self.kernel == "linear"):
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = coef @ self.support_vectors_
        (coef.data if sp.issparse(coef) else coef).flags.writeable = False
        return coef

    def _warn_if_not_converged(self, reason):
        if reason == "max_iter":
            warnings.warn(
                f"Solver terminated early (max_iter={self.max_iter}).  Consider "
                "pre-processing your data with StandardScaler or MinMaxScaler.",
                ConvergenceWarning,
                stacklevel=5,
            )
        else:
            super()._warn_if_not_converged(reason)

    def _run_duals(self, run, X=None, y=None):
        """`_run_driver` with BLAS on one thread, since blocks run on threads."""
        with threads.single_blas():
            result = self._run_driver(run, total=None, X=X, y=y)
        ended_early = result.reason in ("max_iter", "interrupted", "callback")
        self.fit_status_ = int(ended_early)
        return result


@dataclass(eq=False, repr=False)
class AbstractKernelSum(AbstractKernelMachine):
    """Machines of one decision function, eq. (1): regressors and the one class."""

    def _raw_decision(self, X):
        """Eq. (1), shape (n,)."""
        X = self._check_prediction_rows(X)
        coef = to_dense(self.dual_coef_)[0]
        if arrays.is_foreign(X):
            return self._device_decision(X, coef[None, :])[:, 0] + self.intercept_[0]
        f = self._expand(X, lambda K: (K @ coef)[:, None], 1)
        return f.ravel() + self.intercept_[0]

    def _solve_sum(self, X, rows, w, problem, bound, **options):
        """Solve the dual of the rows `rows`, whose multipliers are at most `bound`."""
        used = X if len(rows) == self.shape_fit_[0] else take_training_rows(X, rows)
        if self._precomputed and used is not X:
            used = used[:, rows]
        training = self._training_rows(used, w, bound)
        settings = self._settings()
        members = np.arange(training.n)

        def run(task):
            cache = row_cache(training, members, settings)
            return solve_with(cache, problem, settings, task=task, **options)

        result = self._run_duals(run)
        self.n_iter_ = int(result.state.steps)
        self.dual_objective_ = float(result.state.objective)
        return result

    def _store_machine(self, X, rows, coef, intercept):
        """Set the fitted attributes from the multipliers of the rows."""
        used = np.flatnonzero(coef)
        self._store_support(X, rows[used])
        self.n_support_ = np.array([len(used)], dtype=np.int32)
        dual = coef[used][None, :]
        self.dual_coef_ = dual if self._dense else sp.csr_array(dual)
        self.intercept_ = np.array([intercept])

    @property
    def coef_(self):
        """Weights of the columns, (1, d), where the kernel is linear."""
        if not hasattr(self, "dual_coef_"):
            raise AttributeError("coef_ is only available after fit")
        return self._linear_coef(self.dual_coef_)


def _in_double_precision(X):
    """A tensor in float64; anything else as it is."""
    if not arrays.is_foreign(X):
        return X
    xp = arrays.namespace(X)
    return xp.astype(X, xp.float64)


def _checked_target(y, y_kind):
    """Targets in main memory, those of tensors too."""
    if arrays.is_foreign(y):
        y = column_or_1d(arrays.to_numpy(y))
        if y_kind == "class":
            check_classification_targets(y)
    return y


def _refuse_overflow(model, X):
    """Refuse rows whose kernels overflow, in scikit-learn's words."""
    try:
        refuse_overflowing_squares(model, X)
    except ValueError as error:
        raise ValueError(
            f"The dual coefficients or intercepts are not finite: {error}"
        ) from error


def _machine_weights(sample_weight, X):
    """Checked weights, or None; a negative weight leaves a row out, like 0.

    This is what scikit-learn's kernel machines do, unlike its other models.
    """
    if sample_weight is None:
        return None
    w = array_of_rows(sample_weight, "sample_weight")
    if w.ndim == 1 and w.dtype.kind in "fiu":
        w = np.maximum(w, 0)  # NaN stays
        if w.size and not (w != 0).any():
            raise ValueError(
                "Invalid input - all samples have zero or negative weights."
            )
    return check_sample_weight(w, X)


def to_dense(coef):
    """A CSR matrix as an array; an array as it is."""
    return coef.toarray() if sp.issparse(coef) else coef


def _kernel_gamma(gamma, X, w) -> float:
    """The number that gamma stands for."""
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    w = np.ones(X.shape[0]) if w is None else np.asarray(w, dtype=float)
    count = w.sum() * X.shape[1]
    w = arrays.asarray(w, like=X) if arrays.is_foreign(X) else w
    mean = float((w @ X).sum()) / count
    if sp.issparse(X):
        variance = float((w @ X.multiply(X)).sum()) / count - mean**2
    else:
        variance = float(w @ ((X - mean) ** 2).sum(axis=1)) / count
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def largest_diagonal(spec, X) -> float:
    """max k(x, x)."""
    if isinstance(spec.kernel, AbstractKernel):
        diagonal = spec.kernel.diag(X.toarray() if sp.issparse(X) else X)
        return float(np.max(arrays.to_numpy(diagonal), initial=0.0))
    if not spec.named:
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        entry = lambda i: call_kernel(
            spec.kernel, take_training_rows(X, [i]), take_training_rows(X, [i])
        )
        return max(float(entry(i)[0, 0]) for i in range(n))
    if spec.kernel in ("rbf", "sigmoid"):
        return 1.0
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else (X * X).sum(axis=1)
    largest = float(squares.max())
    if spec.kernel == "linear":
        return largest
    return abs(spec.gamma * largest + spec.coef0) ** spec.degree


def kernel_row_dtype(spec, X, bound, tol):
    """The type in which kernel rows are kept: float32 where eq. (2) holds."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if not spec.named or n <= EXACT_ROWS:
        return np.float64
    if exponent_range(spec, X) > SINGLE_RANGE:
        return np.float64
    error = bound * largest_diagonal(spec, X) * np.sqrt(n) * 6e-8
    return np.float32 if error <= tol else np.float64


def _warn_about_scales(model, X):
    """Warn if the columns of X differ in scale by more than `SCALE_RATIO`."""
    if sp.issparse(X) or X.shape[0] < 2:
        return
    xp = arrays.namespace(X)
    scale = arrays.to_numpy(xp.std(X, axis=0))
    largest = arrays.to_numpy(xp.max(xp.abs(X), axis=0))
    varied = np.flatnonzero(scale > 1e-12 * largest)
    if len(varied) < 2:
        return
    widest = varied[np.argmax(scale[varied])]
    narrowest = varied[np.argmin(scale[varied])]
    if scale[widest] <= SCALE_RATIO * scale[narrowest]:
        return
    names = getattr(model, "feature_names_in_", None)
    a, b = (
        repr(j if names is None else names[j]) for j in (int(widest), int(narrowest))
    )
    warnings.warn(
        f"columns of X differ in scale by {scale[widest] / scale[narrowest]:.0e} "
        f"(column {a} against column {b}): {type(model).__name__} hardly sees the "
        "small ones and "
        "may converge slowly. Scale them, with StandardScaler for instance.",
        UserWarning,
        stacklevel=5,
    )


def row_cache(training, members, settings) -> Any:
    """Cache of the kernel rows of `members`; all of them at once if small."""
    n = len(members)
    is_small = n <= EXACT_ROWS and n * n * 8 <= max(settings.cache, 1 << 20)
    if is_small or isinstance(training, PrecomputedRows):
        return RowCache(training.whole(members))
    if isinstance(training, DeviceRows):
        return ComputedRows(training, members)
    is_every_row = n == training.n and (np.diff(members) == 1).all()
    rows = training if is_every_row else SubsetRows(training, members)
    return RowCache(rows, n, settings.cache, training.dtype)


def solve_with(cache, problem, settings, **options) -> Result:
    """Solve a dual with the settings of a fit."""
    return solve_dual(
        problem,
        cache,
        tol=settings.tol,
        max_steps=settings.max_steps,
        shrinking=settings.shrinking,
        **options,
    )


def fill_up(bounds, total):
    """Multipliers of at most `bounds` in order that add up to `total`."""
    sum_before = np.concatenate([[0.0], np.cumsum(bounds)[:-1]])
    return np.clip(total - sum_before, 0.0, bounds)


def kept_rows(X, w) -> tuple[Any, np.ndarray]:
    """The rows of weight above 0: their numbers, and their weights."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if w is None:
        return np.arange(n), np.ones(n)
    rows = np.flatnonzero(w)
    return rows, np.asarray(w, dtype=float)[rows]
