"""Gaussian processes: regression with uncertainty."""

from .gaussian_process_regressor import (
    GaussianProcessRegressor,
    LeaveOneOut,
    draw_normal_samples,
)
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
    "GaussianProcessRegressor",
    "LeaveOneOut",
    "NearestNeighborsSolver",
    "draw_normal_samples",
]
