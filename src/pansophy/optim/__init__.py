"""Solvers: gradient, Newton, L-BFGS, coordinate, proximal and stochastic methods.

Every solver takes an objective and a start, is run by `core.iterate`, and returns its
`Result`: `result.state.position`, `result.objective`, `result.history`.
"""

from . import schedules
from .check import check_gradient, numeric_gradient, numeric_hessian
from .gradient import (
    backtracking,
    bold_driver,
    constant,
    exact,
    gradient_descent,
    line_search,
    normalised,
    subgradient,
)
from .newton import newton, newton_cg
from .proximal import fista, projected_gradient, proximal_gradient
from .quasi_newton import lbfgs
from .schedules import check_schedule
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


def __getattr__(name):
    # compiled loops load when they are wanted
    if name == "coordinate_descent":
        from .coordinate import coordinate_descent

        return coordinate_descent
    if name == "soft_threshold":
        from ..penalties import soft_threshold

        return soft_threshold
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Transform",
    "adagrad",
    "adam",
    "backtracking",
    "bold_driver",
    "chain",
    "check_gradient",
    "check_schedule",
    "clip",
    "constant",
    "coordinate_descent",
    "decay",
    "ema",
    "exact",
    "fista",
    "gradient_descent",
    "lbfgs",
    "line_search",
    "momentum",
    "nesterov",
    "newton",
    "newton_cg",
    "normalised",
    "numeric_gradient",
    "numeric_hessian",
    "projected_gradient",
    "proximal_gradient",
    "rmsprop",
    "scale",
    "schedules",
    "scheduled",
    "sgd",
    "soft_threshold",
    "subgradient",
]
