"""Solvers of a Gaussian process: they compute its evidence and its posterior.

A solver gives

    training_rows(n, rng)             the rows that decide on the hyper-parameters
    start(kernel, data, rng)          what it learns of its own, flat: inducing inputs
    evidence(kernel, data, z)         log p(y) or a bound, and its gradients
    condition(kernel, data, rng, z)   the posterior: mean(X), moments(X), covariance(X)

    solver       y           evidence          cost                  for
    exact        Normal      exact             n^3                   up to 5,000 rows
    chain        Normal      exact             n                     Matern, one column
    grid         Normal      exact             n sum n_j             rows on a grid
    iterative    Normal      sampled           n^2 a product         memory O(n)
    inducing     Normal      lower bound       n m^2                 smooth functions
    neighbors    Normal      of some rows      k^3 a new row         many rows
    laplace      any other   approximate       n^3                   up to 3,000 rows
    variational  any         lower bound       m^3 + b m^2 a step    many rows

`choose_solver` takes one for the rows, the kernel and the likelihood, and says why.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.arrays.arrays import is_foreign
from ..core.linalg.linalg import GRADES, matrix_size
from ..params import ParameterError, check_count
from .chain import chain_posterior, chain_terms, markov_chain_evidence
from .exact import (
    NOTHING,
    ExactPosterior,
    MarginalLikelihood,
    exact_evidence,
    jittered_cholesky,
    sample_count,
    solve_factored,
)
from .grid import grid_evidence, grid_posterior, grid_structure
from .inducing import (
    choose_inducing_inputs,
    inducing_evidence,
    inducing_posterior,
)
from .iterative import iterative_evidence, iterative_posterior
from .laplace import (
    LaplaceData,
    find_mode,
    laplace_evidence,
    laplace_posterior,
)
from .nearest_neighbors import neighbor_posterior
from .variational import (
    NaturalNormal,
    StochasticOptions,
    fit_posterior,
    stochastic_search,
    variational_evidence,
    variational_posterior,
    variational_system,
)

EXACT_ROWS = 5000  # rows up to which "auto" factors the matrix: seconds, 200 MB
STRUCTURE_ROWS = 2000  # rows from which "auto" looks for chains and grids
FULL_ROWS = 10_000  # rows up to which a variational search sees all of them
BATCH_ROWS = 1024
LAPLACE_NUMBERS = 9_000_000  # n^2 times classes up to which "auto" takes Laplace


class AbstractSolver(ABC):
    """Contract of every solver of a Gaussian process."""

    name: ClassVar[str]
    likelihoods: ClassVar[str] = "normal"  # or "other", or "any"
    takes_tensors: ClassVar[bool] = False

    def training_rows(self, n, rng) -> np.ndarray | None:
        """Rows, of n, on which `evidence` is maximised; None is all of them."""
        rows: np.ndarray | None = None
        return rows

    def start(self, kernel, data, rng) -> np.ndarray:
        """Parameters learned beside the kernel, at the start of the search."""
        return NOTHING

    def coarse(self, data) -> "AbstractSolver":
        """The solver for a search on few rows."""
        return self

    def for_search(self) -> Any:
        """The solver for the evaluations of one search, which may remember things."""
        return self

    def is_stochastic(self, data) -> bool:
        """Whether the search is `stochastic_search` instead of L-BFGS."""
        return False

    def stochastic_search(self, vector, data, x, prior, rng) -> Any:
        """A search by random batches of rows; only if `is_stochastic`."""
        raise TypeError(f"{self.name} has no stochastic search.")

    @abstractmethod
    def evidence(
        self, kernel, data, solver_params=NOTHING, *, gradient=True
    ) -> MarginalLikelihood:
        """log p(y), exactly or nearly, and its gradients."""

    @abstractmethod
    def condition(self, kernel, data, rng, solver_params=NOTHING) -> Any:
        """The posterior: mean(X), moments(X) (mean, variance), covariance(X)."""


@dataclass(frozen=True)
class ExactSolver(AbstractSolver):
    """A Cholesky factor of the n x n matrix; see `exact`.

    Examples
    --------
    >>> from pansophy.gaussian_process import ExactSolver
    >>> ExactSolver().name
    'exact'
    """

    name = "exact"
    takes_tensors = True

    def evidence(self, kernel, data, solver_params=NOTHING, *, gradient=True):
        return exact_evidence(kernel, data, gradient=gradient)

    def condition(self, kernel, data, rng, solver_params=NOTHING):
        L, jitter = jittered_cholesky(kernel, data.X, data.noise, max_grade=GRADES)
        A = solve_factored(L, data.Y)
        return ExactPosterior(kernel, data.X, A, L, jitter)


@dataclass(frozen=True)
class ChainSolver(AbstractSolver):
    """One column and Matern kernels, exactly in O(n); see `chain`.

    Examples
    --------
    >>> from pansophy.gaussian_process import ChainSolver
    >>> ChainSolver().name
    'chain'
    """

    name = "chain"

    def coarse(self, data):
        return ExactSolver()

    def evidence(self, kernel, data, solver_params=NOTHING, *, gradient=True):
        _require_one_column(data)
        return markov_chain_evidence(kernel, data, gradient=gradient)

    def condition(self, kernel, data, rng, solver_params=NOTHING):
        _require_one_column(data)
        return chain_posterior(kernel, data)


@dataclass(frozen=True)
class GridSolver(AbstractSolver):
    """Rows that fill a grid, exactly by Kronecker products; see `grid`.

    Examples
    --------
    >>> from pansophy.gaussian_process import GridSolver
    >>> GridSolver().name
    'grid'
    """

    name = "grid"

    def coarse(self, data):
        return ExactSolver()

    def evidence(self, kernel, data, solver_params=NOTHING, *, gradient=True):
        return grid_evidence(kernel, data, gradient=gradient)

    def condition(self, kernel, data, rng, solver_params=NOTHING):
        return grid_posterior(kernel, data)


def _column_units(X):
    """Units of the inducing inputs."""
    spread = np.std(X, axis=0)
    return np.where(spread > 0, spread, 1.0)


@dataclass(frozen=True)
class InducingSolver(AbstractSolver):
    """Titsias's bound by inducing inputs, which are learnt too; see `inducing`.

    Parameters
    ----------
    n_inducing : int, default=256
        Inducing inputs; all rows where there are no more.
    learn_inputs : bool, default=True
        Whether they move in the search, or stay at the rows where they start.

    Examples
    --------
    >>> from pansophy.gaussian_process import InducingSolver
    >>> InducingSolver(n_inducing=100).name
    'inducing'
    """

    n_inducing: int = 256
    learn_inputs: bool = True

    name = "inducing"

    def __post_init__(self):
        check_count("n_inducing of InducingSolver", self.n_inducing)

    def start(self, kernel, data, rng):
        _require_table(data, self.name)
        Z = choose_inducing_inputs(kernel, data.X, self.n_inducing, rng)
        return (Z / _column_units(data.X)).ravel()

    def coarse(self, data):
        return ExactSolver()

    def inputs(self, data, solver_params):
        return solver_params.reshape(-1, data.X.shape[1]) * _column_units(data.X)

    def evidence(self, kernel, data, solver_params=NOTHING, *, gradient=True):
        Z = self.inputs(data, solver_params)
        evidence = inducing_evidence(kernel, data, Z, gradient=gradient)
        return (
            _inducing_gradient_in_units(evidence, data.X, self.learn_inputs)
            if gradient
            else evidence
        )

    def condition(self, kernel, data, rng, solver_params=NOTHING):
        return inducing_posterior(kernel, data, self.inputs(data, solver_params))


def _inducing_gradient_in_units(evidence, X, moves=True):
    """The gradient in inducing inputs in `_column_units`; 0 if they stay."""
    units = _column_units(X) * bool(moves)
    return evidence._replace(
        solver_params=(evidence.solver_params.reshape(-1, len(units)) * units).ravel()
    )


@dataclass(frozen=True)
class LaplaceSolver(AbstractSolver):
    """A Normal at the mode of the latent values, for any likelihood; see `laplace`.

    Parameters
    ----------
    max_iter : int, default=100
        Most steps of Newton's method for the mode.
    warm_start : bool, default=False
        Start each search for the mode where the last one, for another theta, ended.

    Examples
    --------
    >>> from pansophy.gaussian_process import LaplaceSolver
    >>> LaplaceSolver().name
    'laplace'
    """

    max_iter: int = 100
    warm_start: bool = False

    name = "laplace"
    likelihoods = "other"

    def __post_init__(self):
        check_count("max_iter of LaplaceSolver", self.max_iter)

    def for_search(self):
        return WarmLaplaceSolver(self) if self.warm_start else self

    def coarse(self, data):
        return LaplaceSolver(self.max_iter)

    def evidence(self, kernel, data, solver_params=NOTHING, *, gradient=True):
        return laplace_evidence(
            kernel, _laplace_data(data), gradient=gradient, max_iter=self.max_iter
        )[0]

    def condition(self, kernel, data, rng, solver_params=NOTHING):
        X, y, likelihood, n_latent = _laplace_data(data)
        state = find_mode(
            kernel(X), y, likelihood, n_latent=n_latent, max_iter=self.max_iter
        )
        return laplace_posterior(kernel, X, state)


def _laplace_data(data) -> LaplaceData:
    return LaplaceData(data.X, data.Y[:, 0], data.likelihood, data.n_latent)


class WarmLaplaceSolver:
    """Laplace's method that starts from the last mode, within one search."""

    def __init__(self, solver):
        self.solver = solver
        self.f = None

    def evidence(self, kernel, data, solver_params=NOTHING, *, gradient=True):
        evidence, state = laplace_evidence(
            kernel,
            _laplace_data(data),
            gradient=gradient,
            f=self.f,
            max_iter=self.solver.max_iter,
        )
        self.f = state.f
        return evidence


@dataclass(frozen=True)
class VariationalSolver(AbstractSolver):
    """A variational bound by inducing inputs, for any likelihood; see `variational`.

    Up to `batch_size` rows (10,000 if None) the search is L-BFGS on the bound of all
    rows. Beyond, it sees random batches; the posterior is that of all rows at its end.

    Parameters
    ----------
    n_inducing : int, default=200
        Inducing inputs; all rows where there are no more.
    batch_size : int or None, default=None
        Rows of a batch; None is 1,024 for more than 10,000 rows, and all otherwise.
    max_steps : int, default=1000
        Batches.
    rate : float, default=0.02
        Of Adam, for the kernel's parameters and the inducing inputs.
    step : float, default=0.2
        Of natural gradients, for the inducing values.
    learn_inputs : bool, default=True
        Whether inducing inputs move, or stay at the rows where they start.

    Examples
    --------
    >>> from pansophy.gaussian_process import VariationalSolver
    >>> VariationalSolver(n_inducing=100).name
    'variational'
    """

    n_inducing: int = 200
    batch_size: int | None = None
    max_steps: int = 1000
    rate: float = 0.02
    step: float = 0.2
    learn_inputs: bool = True

    name = "variational"
    likelihoods = "any"

    def __post_init__(self):
        for field in ("n_inducing", "max_steps"):
            check_count(f"{field} of VariationalSolver", getattr(self, field))
        if self.batch_size is not None:
            check_count("batch_size of VariationalSolver", self.batch_size)
        for field in ("rate", "step"):
            value = getattr(self, field)
            if not 0 < value <= 1:
                raise ParameterError(
                    f"{field} of VariationalSolver must be above 0 and at most 1, got "
                    f"{value}."
                )

    def start(self, kernel, data, rng):
        _require_table(data, self.name)
        Z = choose_inducing_inputs(kernel, data.X, self.n_inducing, rng)
        return (Z / _column_units(data.X)).ravel()

    def coarse(self, data):
        normal = data.likelihood.name == "normal"
        return ExactSolver() if normal else LaplaceSolver()

    def is_stochastic(self, data):
        full = FULL_ROWS if self.batch_size is None else self.batch_size
        return sample_count(data.X) > full

    def latent_processes(self, data) -> int:
        return max(data.Y.shape[1], data.n_latent)

    def inputs(self, data, solver_params):
        return solver_params.reshape(-1, data.X.shape[1]) * _column_units(data.X)

    def stochastic_search(self, vector, data, x, prior, rng):
        units = _column_units(data.X)

        def model_at(x):
            theta, likelihood, solver_params = vector.split(x)
            Z = solver_params.reshape(-1, len(units)) * units
            return vector.family.at(theta), likelihood, Z, pull_back

        def pull_back(found):
            return vector.pull_back(
                _inducing_gradient_in_units(found, data.X, self.learn_inputs)
            )

        m = len(vector.solver_params) // data.X.shape[1]
        q = NaturalNormal.prior(self.latent_processes(data), m)
        options = StochasticOptions(
            self.batch_size or BATCH_ROWS, self.max_steps, self.rate, self.step
        )
        return stochastic_search(model_at, data, x, q, options, prior, rng)

    def evidence(self, kernel, data, solver_params=NOTHING, *, gradient=True):
        evidence, _ = variational_evidence(
            kernel,
            data,
            self.inputs(data, solver_params),
            self.latent_processes(data),
            gradient=gradient,
        )
        return (
            _inducing_gradient_in_units(evidence, data.X, self.learn_inputs)
            if gradient
            else evidence
        )

    def condition(self, kernel, data, rng, solver_params=NOTHING):
        Z = self.inputs(data, solver_params)
        system = variational_system(kernel, Z)
        q = fit_posterior(system, data, self.latent_processes(data))
        return variational_posterior(kernel, Z, q)


@dataclass(frozen=True)
class NearestNeighborsSolver(AbstractSolver):
    """Predictions from the nearest training rows; see `nearest_neighbors`.

    Parameters
    ----------
    n_neighbors : int, default=64
    n_fit : int, default=2000
        Random rows whose likelihood decides on the hyper-parameters.

    Examples
    --------
    >>> from pansophy.gaussian_process import NearestNeighborsSolver
    >>> NearestNeighborsSolver(n_neighbors=32).name
    'neighbors'
    """

    n_neighbors: int = 64
    n_fit: int = 2000

    name = "neighbors"

    def __post_init__(self):
        check_count("n_neighbors of NearestNeighborsSolver", self.n_neighbors)
        check_count("n_fit of NearestNeighborsSolver", self.n_fit)

    def training_rows(self, n, rng):
        return None if n <= self.n_fit else np.sort(rng.permutation(n)[: self.n_fit])

    def evidence(self, kernel, data, solver_params=NOTHING, *, gradient=True):
        return exact_evidence(kernel, data, gradient=gradient)

    def condition(self, kernel, data, rng, solver_params=NOTHING):
        _require_table(data, self.name)
        return neighbor_posterior(kernel, data, self.n_neighbors, rng)


@dataclass(frozen=True)
class IterativeSolver(AbstractSolver):
    """Conjugate gradients with a preconditioner, no n x n matrix; see `iterative`.

    Parameters
    ----------
    rank : int, default=100
        Columns of the preconditioner.
    n_probes : int, default=16
        Random vectors for the determinant and its gradient.
    tol : float, default=1e-6
        Relative residual at which conjugate gradients stop.
    max_iter : int, default=500
    seed : int, default=0
        Of the probes, which are the same at every theta.

    Examples
    --------
    >>> from pansophy.gaussian_process import IterativeSolver
    >>> IterativeSolver(rank=50).name
    'iterative'
    """

    rank: int = 100
    n_probes: int = 16
    tol: float = 1e-6
    max_iter: int = 500
    seed: int = 0

    name = "iterative"

    def __post_init__(self):
        for field in ("rank", "n_probes", "max_iter"):
            check_count(f"{field} of IterativeSolver", getattr(self, field))
        check_count("seed of IterativeSolver", self.seed, 0)
        if not self.tol > 0:
            raise ParameterError(
                f"tol of IterativeSolver must be above 0, got {self.tol}."
            )

    def evidence(self, kernel, data, solver_params=NOTHING, *, gradient=True):
        _require_table(data, self.name)
        return iterative_evidence(kernel, data, self, gradient=gradient)

    def condition(self, kernel, data, rng, solver_params=NOTHING):
        _require_table(data, self.name)
        return iterative_posterior(kernel, data, self)


def _require_table(data, name):
    if np.ndim(data.X) != 2:
        raise ParameterError(f"solver={name!r} needs rows of numbers.")


def _require_one_column(data):
    _require_table(data, "chain")
    if data.X.shape[1] != 1:
        raise ParameterError(
            f"solver='chain' needs one column, and X has {data.X.shape[1]}."
        )


class SolverChoice(NamedTuple):
    solver: AbstractSolver
    reason: str


SOLVERS: dict[str, type[AbstractSolver]] = {
    "exact": ExactSolver,
    "chain": ChainSolver,
    "grid": GridSolver,
    "iterative": IterativeSolver,
    "inducing": InducingSolver,
    "neighbors": NearestNeighborsSolver,
    "laplace": LaplaceSolver,
    "variational": VariationalSolver,
}


def choose_solver(solver, kernel, data) -> SolverChoice:
    """The solver that a user asked for, or the one for kernel, rows and likelihood."""
    if isinstance(solver, AbstractSolver):
        choice = SolverChoice(solver, _reason_of_request(solver, data))
    elif solver != "auto":
        member = SOLVERS[solver]()
        choice = SolverChoice(member, _reason_of_request(member, data))
    else:
        choice = _solver_for(kernel, data)
    name = data.likelihood.name
    takes = choice.solver.likelihoods
    if takes != "any" and (takes == "normal") != (name == "normal"):
        fitting = [
            key
            for key, kind in SOLVERS.items()
            if kind.likelihoods == "any"
            or (kind.likelihoods == "normal") == (name == "normal")
        ]
        raise ParameterError(
            f"solver={choice.solver.name!r} is not for the likelihood {name!r}: take "
            f"{', '.join(repr(key) for key in fitting)}."
        )
    if is_foreign(data.X) and not choice.solver.takes_tensors:
        raise ParameterError(
            f"solver={choice.solver.name!r} computes with NumPy, but X is a tensor: "
            "pass X.cpu().numpy(), or take solver='exact'."
        )
    return choice


def _reason_of_request(solver, data) -> str:
    """Why a solver that a user named is taken, and the size of its matrix if any."""
    requested = "it was asked for"
    if isinstance(solver, ExactSolver | LaplaceSolver):
        return f"{requested}; {matrix_size(sample_count(data.X))}"
    return requested


def _solver_for(kernel, data) -> SolverChoice:
    """Solver that "auto" takes."""
    X = data.X
    n = sample_count(X)
    size = matrix_size(n)
    if is_foreign(X):
        return SolverChoice(ExactSolver(), f"X is a tensor; {size}")
    if data.likelihood.name != "normal":
        if n * n * data.n_latent <= LAPLACE_NUMBERS or np.ndim(X) != 2:
            return SolverChoice(LaplaceSolver(), size)
        return SolverChoice(
            VariationalSolver(),
            f"{n} rows and {data.n_latent} latent processes are too many for a factor",
        )
    if n > STRUCTURE_ROWS and np.ndim(X) == 2:
        if X.shape[1] == 1 and chain_terms(kernel) is not None:
            return SolverChoice(
                ChainSolver(), f"{n} rows of one column and Matern kernels are a chain"
            )
        structure, _ = grid_structure(kernel, X)
        shape = () if structure is None else structure[1].shape
        if len(shape) > 1 and np.ptp(data.noise) == 0:
            sides = " x ".join(str(k) for k in shape)
            return SolverChoice(GridSolver(), f"the rows fill a grid of {sides}")
    if n <= EXACT_ROWS:
        return SolverChoice(ExactSolver(), size)
    if np.ndim(X) != 2:
        return SolverChoice(
            ExactSolver(), f"objects have no nearest neighbours; {size}"
        )
    return SolverChoice(
        NearestNeighborsSolver(),
        f"{n} rows are more than the {EXACT_ROWS} of an exact factor",
    )
