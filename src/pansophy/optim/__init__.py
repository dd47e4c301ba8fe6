"""Solvers: gradient, Newton, quasi-Newton, coordinate, proximal, stochastic,
constrained and black-box methods, behind one front door: `minimize`.

Every solver takes an objective and a start, is run by `core.iterate`, and returns its
`Result`: `result.state.position`, `result.objective`, `result.history` and the reason
of stopping. SciPy's optimisers, compiled loops and torch load when they are wanted.
"""

from typing import Any

from . import schedules
from .admm import admm
from .annealing import simulated_annealing
from .autodiff import grad, jvp, value_and_grad, vjp
from .bfgs import bfgs
from .block import alternate, block_descent
from .check import (
    check_gradient,
    numeric_gradient,
    numeric_hessian,
    numeric_jacobian,
    taylor,
)
from .conjugate import conjugate_gradient
from .constrained import constrained, lagrange
from .convexity import check_convex
from .designs import exhaustive, grid, latin_hypercube, local_search, random_search
from .duality import at_most, dual_function, equal, kkt_residuals
from .gauss_newton import gauss_newton
from .genetic import genetic
from .gradient import (
    backtracking,
    bold_driver,
    constant,
    decaying,
    exact,
    gradient_descent,
    line_search,
    normalised,
    subgradient,
    wolfe,
)
from .line import strong_wolfe
from .methods import METHODS
from .minimize import minimize, multi_start
from .mistakes import mistake_driven, until_clean
from .newton import newton, newton_cg
from .orthant import orthant_lbfgs
from .proximal import fista, projected_gradient, proximal_gradient
from .quadratic import quadratic_program
from .schedules import check_schedule
from .smo import smo
from .solve import solve
from .space import space
from .steps import step_report
from .stochastic import (
    Transform,
    adagrad,
    adam,
    chain,
    clip,
    decay,
    ema,
    momentum,
    nesterov,
    rmsprop,
    scale,
    scheduled,
    sgd,
)
from .swarm import particle_swarm
from .trajectory import Trajectory
from .woodbury import woodbury


def __getattr__(name) -> Any:
    # compiled loops and SciPy's optimisers load when they are wanted
    if name == "coordinate_descent":
        from .coordinate import coordinate_descent

        return coordinate_descent
    if name == "lbfgs":
        from .quasi_newton import lbfgs

        return lbfgs
    if name == "soft_threshold":
        from ..penalties import soft_threshold

        return soft_threshold
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "METHODS",
    "Trajectory",
    "Transform",
    "adagrad",
    "adam",
    "admm",
    "alternate",
    "at_most",
    "backtracking",
    "bfgs",
    "block_descent",
    "bold_driver",
    "chain",
    "check_convex",
    "check_gradient",
    "check_schedule",
    "clip",
    "conjugate_gradient",
    "constant",
    "constrained",
    "coordinate_descent",
    "decay",
    "decaying",
    "dual_function",
    "ema",
    "equal",
    "exact",
    "exhaustive",
    "fista",
    "gauss_newton",
    "genetic",
    "grad",
    "gradient_descent",
    "grid",
    "jvp",
    "kkt_residuals",
    "lagrange",
    "latin_hypercube",
    "lbfgs",
    "line_search",
    "local_search",
    "minimize",
    "mistake_driven",
    "momentum",
    "multi_start",
    "nesterov",
    "newton",
    "newton_cg",
    "normalised",
    "numeric_gradient",
    "numeric_hessian",
    "numeric_jacobian",
    "orthant_lbfgs",
    "particle_swarm",
    "projected_gradient",
    "proximal_gradient",
    "quadratic_program",
    "random_search",
    "rmsprop",
    "scale",
    "scheduled",
    "schedules",
    "sgd",
    "simulated_annealing",
    "smo",
    "soft_threshold",
    "solve",
    "space",
    "step_report",
    "strong_wolfe",
    "subgradient",
    "taylor",
    "value_and_grad",
    "vjp",
    "wolfe",
    "woodbury",
    "until_clean",
]
