"""How a Gaussian process computes its evidence and its posterior: the solver is a part.

A solver gives

    training_rows(n, rng)             the rows that decide on the hyper-parameters
    evidence(kernel, data, gradient)  log p(y), and its gradient in theta
    condition(kernel, data, rng)      the posterior: mean(X), variance(X), covariance(X)

`choose_solver` takes one for the number of rows, and says why.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.linalg import GRADES
from .exact import (
    Evidence,
    ExactPosterior,
    exact_evidence,
    factor_covariance,
    solve_factored,
)

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
        """The posterior: an object with mean(X), variance(X) and covariance(X)."""


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
        L, jitter = factor_covariance(kernel, data.X, data.noise, max_grade=GRADES)
        A = solve_factored(L, data.Y)
        return ExactPosterior(kernel, data.X, A, L, jitter)


class SolverChoice(NamedTuple):
    solver: AbstractSolver
    reason: str


SOLVERS: dict[str, type[AbstractSolver]] = {"exact": ExactSolver}


def choose_solver(solver, n) -> SolverChoice:
    """The solver that a user asked for, or the one for n rows."""
    if isinstance(solver, AbstractSolver):
        return SolverChoice(solver, "it was given")
    if solver != "auto":
        return SolverChoice(SOLVERS[solver](), "it was asked for")
    return SolverChoice(ExactSolver(), f"{n} rows are within {EXACT_ROWS}")
