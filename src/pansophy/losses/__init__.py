"""Losses l(y, f): value, gradient, curvature, link and best constant of each.

`LOSSES` lists one instance of every loss; the common battery runs over it. `get_loss`
finds one by name, with its parameter: `get_loss("huber", 1.5)`.
"""

from ..core.recipes import remember_recipe
from .base import Loss
from .decisions import (
    bayes_action,
    conditional_mean,
    cost_threshold,
    quantile_action,
    reject_rule,
)
from .glm import GLMFamily, get_family, glm_loss, tweedie
from .margin import (
    SLACK_CATEGORIES,
    bernoulli_log_likelihood,
    class_weighted_loss,
    costs_by_sign,
    margin_losses,
    slack,
    tube_slacks,
)
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
    modified_huber,
    perceptron,
    poisson,
    quantile,
    squared,
    squared_epsilon_insensitive,
    squared_hinge,
    zero_one,
)
from .ranking import LambdaRank
from .robust import lp, lp_norm, student_t, tukey

pinball = quantile  # the other usual name

LOSSES = [
    squared,
    half_squared,
    absolute,
    quantile(0.3),
    huber(),
    lp(1.5),
    tukey(),
    student_t(),
    epsilon_insensitive(),
    squared_epsilon_insensitive(),
    logistic,
    softmax,
    multiclass_hinge,
    hinge,
    squared_hinge,
    modified_huber,
    perceptron,
    exponential,
    poisson,
    gamma,
    tweedie(),
]
FACTORIES = {
    "huber": huber,
    "quantile": quantile,
    "pinball": quantile,
    "lp": lp,
    "tukey": tukey,
    "student_t": student_t,
    "tweedie": tweedie,
    "epsilon_insensitive": epsilon_insensitive,
    "squared_epsilon_insensitive": squared_epsilon_insensitive,
}


def get_loss(name: str, parameter: float | None = None) -> Loss:
    """The loss of that name."""
    if name in FACTORIES:
        make = FACTORIES[name]
        return make() if parameter is None else make(parameter)
    for loss in LOSSES:
        if loss.name == name:
            return loss
    known = ", ".join(sorted(loss.name for loss in LOSSES))
    raise ValueError(f"no loss is called {name!r}; there are {known}.")


for _loss in LOSSES:
    remember_recipe(_loss, get_loss, _loss.name)

__all__ = [
    "LOSSES",
    "SLACK_CATEGORIES",
    "GLMFamily",
    "LambdaRank",
    "Loss",
    "absolute",
    "bayes_action",
    "costs_by_sign",
    "conditional_mean",
    "cost_threshold",
    "cross_entropy",
    "epsilon_insensitive",
    "exponential",
    "get_family",
    "gamma",
    "get_loss",
    "glm_loss",
    "half_squared",
    "hinge",
    "huber",
    "bernoulli_log_likelihood",
    "logistic",
    "lp",
    "lp_norm",
    "margin_losses",
    "modified_huber",
    "multiclass_hinge",
    "perceptron",
    "pinball",
    "poisson",
    "quantile",
    "quantile_action",
    "reject_rule",
    "slack",
    "smooth_labels",
    "softmax",
    "squared",
    "squared_epsilon_insensitive",
    "squared_hinge",
    "student_t",
    "tube_slacks",
    "tukey",
    "tweedie",
    "class_weighted_loss",
    "zero_one",
]
