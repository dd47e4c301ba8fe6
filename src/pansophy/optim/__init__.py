"""Solvers: gradient, Newton, quasi-Newton, coordinate, proximal, stochastic,
constrained and black-box methods, with `minimize` as their common entry point.

Every solver takes an objective and a starting point, is run by `core.drivers.iterate`,
and returns its `Result`: `result.state.position`, `result.objective`, `result.history`
and the reason for stopping. SciPy's optimisers, compiled loops and torch are loaded on
first use.

Rooms

    smooth       smooth problems: gradient, Newton, quasi-Newton and least-squares
                 methods
    nonsmooth    penalties with kinks: proximal steps, coordinates, working sets,
                 splitting
    constraints  constraints: duality, quadratic programs, sequential minimal
                 optimisation
    stochastic   steps from samples: SGD and its kin, schedules, mistake-driven updates
    black_box    values only: grids, random and local search, swarms, genes, annealing
"""

import sys
from typing import Any

from .autodiff import grad, jvp, value_and_grad, vjp
from .black_box.genetic import genetic_algorithm
from .black_box.particle_swarm import particle_swarm
from .black_box.point_search import (
    exhaustive_search,
    grid_search,
    latin_hypercube,
    local_search,
    random_search,
)
from .black_box.search_space import search_space
from .black_box.simulated_annealing import simulated_annealing
from .constraints.constrained import constrained, lagrange_newton
from .constraints.duality import (
    dual_function,
    equality_constraint,
    inequality_constraint,
    kkt_residuals,
)
from .constraints.quadratic_program import quadratic_program
from .constraints.smo import smo
from .method_table import METHODS
from .minimize import minimize, multi_start
from .nonsmooth.admm import admm
from .nonsmooth.block_coordinate import alternating_minimization, block_descent
from .nonsmooth.orthant_wise import orthant_lbfgs
from .nonsmooth.proximal import fista, projected_gradient, proximal_gradient
from .numeric_derivatives import (
    check_gradient,
    numeric_gradient,
    numeric_hessian,
    numeric_jacobian,
    taylor_model,
)
from .power_iteration import PowerIteration, power_iteration
from .smooth.bfgs import bfgs
from .smooth.conjugate_gradient import conjugate_gradient
from .smooth.gauss_newton import gauss_newton
from .smooth.gradient import (
    backtracking_search,
    bold_driver,
    constant_step,
    decaying_step,
    exact_line_search,
    gradient_descent,
    line_search,
    normalized_step,
    subgradient,
    wolfe_search,
)
from .smooth.least_squares import solve_least_squares
from .smooth.newton import newton, newton_cg
from .smooth.strong_wolfe import strong_wolfe
from .smooth.woodbury import woodbury
from .stochastic import schedules
from .stochastic.mistake_driven import mistake_driven, until_clean
from .stochastic.schedules import check_schedule
from .stochastic.stochastic import (
    Transform,
    adagrad,
    adam,
    add_weight_decay,
    chain_transforms,
    clip_by_norm,
    momentum,
    moving_average,
    nesterov,
    rmsprop,
    scale_by,
    scale_by_schedule,
    sgd,
)
from .trajectory import Trajectory


def __getattr__(name) -> Any:
    # compiled loops and SciPy's optimisers are loaded on first use
    if name == "coordinate_descent":
        from .nonsmooth.coordinate import coordinate_descent

        return coordinate_descent
    if name == "lbfgs":
        from .smooth.limited_memory_bfgs import lbfgs

        return lbfgs
    if name == "soft_threshold":
        from ..penalties import soft_threshold

        return soft_threshold
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}",
        name=name,
        obj=sys.modules[__name__],
    )


__all__ = [
    "METHODS",
    "PowerIteration",
    "Trajectory",
    "Transform",
    "adagrad",
    "adam",
    "admm",
    "alternating_minimization",
    "inequality_constraint",
    "backtracking_search",
    "bfgs",
    "block_descent",
    "bold_driver",
    "chain_transforms",
    "check_gradient",
    "check_schedule",
    "clip_by_norm",
    "conjugate_gradient",
    "constant_step",
    "constrained",
    "coordinate_descent",
    "add_weight_decay",
    "decaying_step",
    "dual_function",
    "moving_average",
    "equality_constraint",
    "exact_line_search",
    "exhaustive_search",
    "fista",
    "gauss_newton",
    "genetic_algorithm",
    "grad",
    "gradient_descent",
    "grid_search",
    "jvp",
    "kkt_residuals",
    "lagrange_newton",
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
    "normalized_step",
    "numeric_gradient",
    "numeric_hessian",
    "numeric_jacobian",
    "orthant_lbfgs",
    "particle_swarm",
    "projected_gradient",
    "power_iteration",
    "proximal_gradient",
    "quadratic_program",
    "random_search",
    "rmsprop",
    "scale_by",
    "scale_by_schedule",
    "schedules",
    "sgd",
    "simulated_annealing",
    "smo",
    "soft_threshold",
    "solve_least_squares",
    "search_space",
    "strong_wolfe",
    "subgradient",
    "taylor_model",
    "value_and_grad",
    "vjp",
    "wolfe_search",
    "woodbury",
    "until_clean",
]
