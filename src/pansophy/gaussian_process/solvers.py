"""How a Gaussian process computes its evidence and its posterior: the solver is a part.

A solver gives

    training_rows(n, rng)             the rows that decide on the hyper-parameters
    evidence(kernel, data, gradient)  log p(y), and its gradient in theta
    condition(kernel, data, rng)      the posterior: mean(X), moments(X), covariance(X)

`choose_solver` takes one for the number of rows, and says why.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.linalg import GRADES
from ..params import ParameterError, check_count
from .exact import (
    Evidence,
    ExactPosterior,
    exact_evidence,
    jittered_cholesky,
    sample_count,
    solve_factored,
)
from .iterative import iterative_evidence, iterative_posterior
from .nearest_neighbors import neighbor_posterior

EXACT_ROWS = 5000  # rows up to which "auto" factors the matrix: seconds, 200 MB


class AbstractSolver(ABC):
    """What every solver of a Gaussian process gives."""

    name: ClassVar[str]

    def training_rows(self, n, rng) -> np.ndarray | None:
        """Which of n rows `evidence` is maximised on; None is all of them."""
        rows: np.ndarray | None = None
        return rows

    @abstractmethod
    def evidence(self, kernel, data, *, gradient=True) -> Evidence:
        """log p(y), exactly or nearly, and its gradient in theta of the kernel."""

    @abstractmethod
    def condition(self, kernel, data, rng) -> Any:
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

    def evidence(self, kernel, data, *, gradient=True):
        return exact_evidence(kernel, data, gradient=gradient)

    def condition(self, kernel, data, rng):
        L, jitter = jittered_cholesky(kernel, data.X, data.noise, max_grade=GRADES)
        A = solve_factored(L, data.Y)
        return ExactPosterior(kernel, data.X, A, L, jitter)


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

    def evidence(self, kernel, data, *, gradient=True):
        return exact_evidence(kernel, data, gradient=gradient)

    def condition(self, kernel, data, rng):
        require_table(data, self.name)
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

    def evidence(self, kernel, data, *, gradient=True):
        require_table(data, self.name)
        return iterative_evidence(kernel, data, self, gradient=gradient)

    def condition(self, kernel, data, rng):
        require_table(data, self.name)
        return iterative_posterior(kernel, data, self)


def require_table(data, name):
    if np.ndim(data.X) != 2:
        raise ParameterError(f"solver={name!r} needs rows of numbers.")


class SolverChoice(NamedTuple):
    solver: AbstractSolver
    reason: str


SOLVERS: dict[str, type[AbstractSolver]] = {
    "exact": ExactSolver,
    "iterative": IterativeSolver,
    "neighbors": NearestNeighborsSolver,
}


def choose_solver(solver, X) -> SolverChoice:
    """The solver that a user asked for, or the one for the rows of X."""
    if isinstance(solver, AbstractSolver):
        return SolverChoice(solver, "it was given")
    if solver != "auto":
        return SolverChoice(SOLVERS[solver](), "it was asked for")
    n = sample_count(X)
    if n <= EXACT_ROWS:
        return SolverChoice(
            ExactSolver(), f"a matrix of {n} rows takes {8e-6 * n * n:.3g} MB"
        )
    if np.ndim(X) != 2:
        return SolverChoice(ExactSolver(), "objects have no nearest neighbours")
    return SolverChoice(
        NearestNeighborsSolver(),
        f"{n} rows are more than the {EXACT_ROWS} of an exact factor",
    )
