"""Gaussian processes: regression, classification and search with uncertainty."""

from .bayesian_search import bayesian_search, expected_improvement
from .gaussian_process_classifier import GaussianProcessClassifier
from .gaussian_process_regressor import (
    GaussianProcessRegressor,
    LeaveOneOut,
    draw_normal_samples,
)
from .laplace import expected_sigmoid
from .solvers import (
    SOLVERS,
    AbstractSolver,
    ExactSolver,
    IterativeSolver,
    NearestNeighborsSolver,
)

__all__ = [
    "SOLVERS",
    "AbstractSolver",
    "ExactSolver",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "IterativeSolver",
    "LeaveOneOut",
    "NearestNeighborsSolver",
    "bayesian_search",
    "draw_normal_samples",
    "expected_improvement",
    "expected_sigmoid",
]
