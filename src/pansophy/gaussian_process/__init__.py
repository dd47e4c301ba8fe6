"""Gaussian processes: regression with uncertainty."""

from .gaussian_process_regressor import (
    GaussianProcessRegressor,
    LeaveOneOut,
    draw_normal_samples,
)
from .solvers import SOLVERS, AbstractSolver, ExactSolver

__all__ = [
    "SOLVERS",
    "AbstractSolver",
    "ExactSolver",
    "GaussianProcessRegressor",
    "LeaveOneOut",
    "draw_normal_samples",
]
