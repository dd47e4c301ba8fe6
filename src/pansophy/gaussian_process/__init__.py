"""Gaussian processes: regression, classification and search with uncertainty."""

from ..scikit_learn import share_names
from .bayesian_search import bayesian_search, expected_improvement
from .gaussian_process_classifier import GaussianProcessClassifier
from .gaussian_process_regressor import (
    GaussianProcessRegressor,
    LeaveOneOut,
    draw_normal_samples,
)
from .laplace import expected_sigmoid, expected_softmax
from .likelihoods import (
    LIKELIHOODS,
    Likelihood,
    get_likelihood,
    loss_likelihood,
    student_t_likelihood,
)
from .solvers import (
    SOLVERS,
    AbstractSolver,
    ChainSolver,
    ExactSolver,
    GridSolver,
    InducingSolver,
    IterativeSolver,
    LaplaceSolver,
    NearestNeighborsSolver,
    VariationalSolver,
)

__all__ = [
    "LIKELIHOODS",
    "SOLVERS",
    "AbstractSolver",
    "ChainSolver",
    "ExactSolver",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "GridSolver",
    "InducingSolver",
    "IterativeSolver",
    "LaplaceSolver",
    "LeaveOneOut",
    "Likelihood",
    "NearestNeighborsSolver",
    "VariationalSolver",
    "bayesian_search",
    "draw_normal_samples",
    "expected_improvement",
    "expected_sigmoid",
    "expected_softmax",
    "get_likelihood",
    "loss_likelihood",
    "student_t_likelihood",
]

__getattr__, __dir__ = share_names(__name__)
