"""Gaussian processes: regression and classification with uncertainty."""

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
    NearestNeighborsSolver,
)

__all__ = [
    "SOLVERS",
    "AbstractSolver",
    "ExactSolver",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "LeaveOneOut",
    "NearestNeighborsSolver",
    "draw_normal_samples",
    "expected_sigmoid",
]
