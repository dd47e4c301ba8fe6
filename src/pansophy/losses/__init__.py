"""Losses l(y, f): value, gradient, curvature, link and best constant of each.

`LOSSES` lists one instance of every loss; the common battery runs over it. `get`
finds one by name, with its parameter: `get("huber", 1.5)`.
"""

from .base import Loss
from .decisions import bayes_action, cost_threshold, quantile_action, reject_rule
from .multiclass import cross_entropy, multiclass_hinge, smooth_labels, softmax
from .pointwise import (
    absolute,
    epsilon_insensitive,
    exponential,
    gamma,
    half_squared,
    hinge,
    huber,
    logistic,
    perceptron,
    poisson,
    quantile,
    squared,
    squared_hinge,
    zero_one,
)

LOSSES = [
    squared,
    half_squared,
    absolute,
    quantile(0.3),
    huber(),
    epsilon_insensitive(),
    logistic,
    softmax,
    multiclass_hinge,
    hinge,
    squared_hinge,
    perceptron,
    exponential,
    poisson,
    gamma,
]
FACTORIES = {
    "huber": huber,
    "quantile": quantile,
    "epsilon_insensitive": epsilon_insensitive,
}


def get(name: str, parameter: float | None = None) -> Loss:
    """The loss of that name."""
    if name in FACTORIES:
        make = FACTORIES[name]
        return make() if parameter is None else make(parameter)
    for loss in LOSSES:
        if loss.name == name:
            return loss
    known = ", ".join(sorted(loss.name for loss in LOSSES))
    raise ValueError(f"no loss is called {name!r}; there are {known}.")


__all__ = [
    "LOSSES",
    "Loss",
    "absolute",
    "bayes_action",
    "cost_threshold",
    "cross_entropy",
    "epsilon_insensitive",
    "exponential",
    "gamma",
    "get",
    "half_squared",
    "hinge",
    "huber",
    "logistic",
    "multiclass_hinge",
    "perceptron",
    "poisson",
    "quantile",
    "quantile_action",
    "reject_rule",
    "smooth_labels",
    "softmax",
    "squared",
    "squared_hinge",
    "zero_one",
]
