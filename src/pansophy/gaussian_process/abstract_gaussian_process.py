"""Base class of the Gaussian process estimators: parameters, rows, and one fit."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from ..base import Estimator, validate_rows
from ..core.arrays.arrays import asarray, is_foreign, to_numpy
from ..core.arrays.overflow import refuse_overflowing_squares
from ..kernels import AbstractKernel
from ..kernels.base import holds_objects, object_rows
from ..kernels.lookup import is_sklearn_kernel
from ..params import Flag, Natural, ParameterRule, Positive
from ..typing import Seed
from .exact import sample_count
from .kernel_parameters import KernelFamily, kernel_family
from .parameter_search import (
    HyperparameterVector,
    SearchOptions,
    search_parameters,
    warn_interrupted,
)
from .solvers import SOLVERS, AbstractSolver, SolverChoice

ProcessKernel = Annotated[
    Any,
    ParameterRule(
        'None, "auto", a kernel or a function',
        lambda v: (
            v is None
            or (isinstance(v, str) and v == "auto")
            or isinstance(v, AbstractKernel)
            or is_sklearn_kernel(v)
            or callable(v)
        ),
    ),
]
SolverParameter = Annotated[
    Any,
    ParameterRule(
        f'"auto", {", ".join(repr(name) for name in SOLVERS)} or a solver',
        lambda v: (
            isinstance(v, AbstractSolver)
            or (isinstance(v, str) and v in ("auto", *SOLVERS))
        ),
    ),
]


def _column_count(X):
    """Columns of a table, None for objects."""
    return int(X.shape[1]) if X.ndim == 2 else None


def column_spreads(X):
    """Length scales to start from: standard deviations times sqrt(d), as NumPy."""
    spread = np.std(np.asarray(to_numpy(X), float), axis=0) * np.sqrt(X.shape[1])
    return np.where(spread > 0, spread, 1.0)


class FittedProcess(NamedTuple):
    """One process with its parameters, given data."""

    kernel: Any  # in the user's form
    likelihood: Any
    solver_params: np.ndarray  # what the solver has learnt
    rows: np.ndarray | None  # of the evidence; None is all
    posterior: Any
    value: float  # log evidence, or what stands for it
    n_evaluations: int
    interrupted: bool


def fit_process(kernel, choice: SolverChoice, data, options, rng) -> FittedProcess:
    """Search the parameters and condition on the data."""
    solver = choice.solver
    family = kernel_family(kernel, _column_count(data.X))
    rows = solver.training_rows(sample_count(data.X), rng)
    chosen = data if rows is None else data.take(rows)
    result = search_parameters(family, solver, chosen, options, rng)
    own_kernel = family.at(result.theta)
    data = data._replace(likelihood=result.likelihood)
    posterior = solver.condition(own_kernel, data, rng, result.solver_params)
    value = result.value
    if value is None:
        chosen = chosen._replace(likelihood=result.likelihood)
        value = solver.evidence(
            own_kernel, chosen, result.solver_params, gradient=False
        ).value
    return FittedProcess(
        family.public(result.theta),
        result.likelihood,
        result.solver_params,
        rows,
        posterior,
        float(value),
        result.n_evaluations,
        result.interrupted,
    )


def evidence_at(kernel, likelihood, solver_params, solver, data, theta, gradient):
    """log p(y) and its gradient in theta, the other parameters as they were found."""
    family = kernel_family(kernel, _column_count(data.X))
    vector = HyperparameterVector(family, likelihood, solver_params)
    x = vector.start
    p = len(family.theta)
    x[:p] = theta
    value, slope = vector.evidence(solver, data)(x, gradient)
    return np.float64(value), None if slope is None else slope[:p]


@dataclass(eq=False, repr=False)
class AbstractGaussianProcess(Estimator):
    """Parameters and helpers of models with Gaussian processes.

    `GaussianProcessRegressor` describes the parameters. X_train_ when fitted.
    """

    kernel: ProcessKernel = None
    _: KW_ONLY
    optimizer: Literal["fmin_l_bfgs_b"] | Callable | None = "fmin_l_bfgs_b"
    n_restarts_optimizer: Natural = 0
    copy_X_train: Flag = True
    random_state: Seed = None
    solver: SolverParameter = "auto"
    prior: Literal["auto"] | Positive | None = "auto"

    def _are_objects(self, X) -> bool:
        """Whether X is a list of objects that the kernel takes, not a table."""
        kernel: Any = self.kernel
        if is_foreign(X) or getattr(kernel, "requires_vector_input", True):
            return False
        return np.asarray(X).ndim != 2 or holds_objects(np.asarray(X))

    def _check_rows(self, X, y, y_kind):
        """Training rows in float64, objects of the kernel, or a tensor; and targets."""
        if self._are_objects(X):
            X, _ = object_rows(X)
            places = np.arange(len(X), dtype=float)[:, None]
            _, y, _ = self._check_training_data(places, y, y_kind=y_kind)
            return X, y
        X, y, _ = self._check_training_data(X, y, y_kind=y_kind)
        if is_foreign(X):
            return X, asarray(y, like=X)
        X = np.array(X, np.float64, copy=self.copy_X_train or None)
        refuse_overflowing_squares(self, X)
        return X, y

    def _check_new_rows(self, X):
        if self._are_objects(X):
            return object_rows(X)[0]
        if not hasattr(self, "X_train_"):
            return validate_rows(self, X, reset=False, dtype=np.float64)
        X = self._check_new_data(X)
        if is_foreign(self.X_train_):
            return asarray(X, like=self.X_train_)
        return np.asarray(to_numpy(X), np.float64)

    def _search_options(self) -> SearchOptions:
        return SearchOptions(self.prior, self.optimizer, self.n_restarts_optimizer)

    def _record_search(self, processes):
        """Attributes about the search, and a warning if it was interrupted."""
        self.n_evaluations_ = sum(p.n_evaluations for p in processes)
        self.interrupted_ = any(p.interrupted for p in processes)
        if self.interrupted_:
            warn_interrupted(type(self).__name__)

    def _family(self, kernel, X) -> KernelFamily:
        return kernel_family(kernel, _column_count(X))
