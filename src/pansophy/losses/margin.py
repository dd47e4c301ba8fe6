"""Margins and slacks of classification, costs per class, a table of margin losses.

For a sign y and a raw prediction f the margin is z = y f, and the hinge loss of a row
is its slack

    s = max(1 - z, 0):   0 outside or on the margin, up to 1 inside it on the right
                         side, above 1 on the wrong side                         (1)

A tube of half-width e around targets has two slacks per row, above and below,

    s+ = max(y - f - e, 0),   s- = max(f - y - e, 0)                             (2)

of which at most one is positive and whose sum is the epsilon-insensitive loss. Costs
of errors on either class multiply any margin loss,

    c_y l(y, f),   R(c+, c-) = R(a c+, a c-) / a = c- R(c+/c-, 1)                (3)

so only their ratio matters to the optimum, and whole costs are repeated rows.

Shapes    y, f, z, s (n,)
"""

import dataclasses
from typing import Any, NamedTuple

from ..core.arrays.arrays import namespace
from ..core.recipes import remakeable
from . import base as kinds
from .base import Loss
from .pointwise import (
    exponential,
    hinge,
    logistic,
    modified_huber,
    perceptron,
    positive_part,
    squared_hinge,
    zero_one,
)

SLACK_CATEGORIES = ("outside", "inside", "wrong")
MARGIN_LOSSES = (
    hinge,
    squared_hinge,
    modified_huber,
    logistic,
    exponential,
    perceptron,
)


class Slack(NamedTuple):
    """Slacks of eq. (1) and, per row, an index into `SLACK_CATEGORIES`."""

    values: Any
    categories: Any


def slack(y, f) -> Slack:
    """Eq. (1) for signs y: 0 is "outside", 1 "inside", 2 "wrong".

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import losses
    >>> losses.slack(np.array([1.0, 1.0, -1.0]), np.array([1.5, 0.5, 0.5]))
    Slack(values=array([0. , 0.5, 1.5]), categories=array([0, 1, 2]))
    """
    xp = namespace(f)
    s = hinge.value(y, f)
    return Slack(s, xp.astype(s > 0, xp.int64) + xp.astype(s > 1, xp.int64))


def tube_slacks(y, f, epsilon=0.1):
    """s+ and s- of eq. (2)."""
    return positive_part(y - f - epsilon), positive_part(f - y - epsilon)


def bernoulli_log_likelihood(y, f, w=None):
    """Bernoulli log-likelihood of fractions or labels y in [0, 1] at logits f."""
    parts = logistic.value(y, f)
    return -namespace(f).sum(parts if w is None else w * parts)


def margin_losses(z) -> dict[str, Any]:
    """Zero-one loss and its stand-ins as functions of the margin z, by name.

    "logistic" is log(1 + exp(-z)), which over log 2 bounds the zero-one loss from
    above as "hinge", "squared_hinge", "modified_huber" and "exponential" do as they
    are; "perceptron" does not.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import losses
    >>> table = losses.margin_losses(np.array([-1.0, 0.0, 0.5]))
    >>> table["hinge"], table["zero_one"]
    (array([2. , 1. , 0.5]), array([1., 1., 0.]))
    """
    ones = namespace(z).ones_like(z)
    return {"zero_one": zero_one(ones, z)} | {
        loss.name: loss.value(ones, z) for loss in MARGIN_LOSSES
    }


def costs_by_sign(y, cost_positive=1.0, cost_negative=1.0):
    """c+ for rows of sign +1 (or 1) and c- for the rest."""
    xp = namespace(y)
    return xp.where(y > 0, 0 * y + cost_positive, 0 * y + cost_negative)


@remakeable
def class_weighted_loss(
    loss: Loss, positive: float = 1.0, negative: float = 1.0
) -> Loss:
    """Eq. (3): `loss` times `positive` on rows of the positive class, or `negative`.

    Takes any loss of signs, and the logistic loss with labels 0 and 1. Compiled loops
    take costs as row weights (`costs_by_sign`), so the result has no `kind` of its own
    and is computed by its array functions.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import losses
    >>> dear = losses.class_weighted_loss(losses.hinge, positive=3.0)
    >>> dear.value(np.array([1.0, -1.0]), np.zeros(2))
    array([3., 1.])
    """
    if loss.domain not in ("sign", "fraction"):
        raise ValueError(
            f"class_weighted_loss takes losses of two classes, not {loss.name!r}."
        )
    if not (positive > 0 and negative > 0):
        raise ValueError(
            "positive and negative of class_weighted_loss must be numbers above 0, got "
            f"{positive!r} and {negative!r}."
        )
    cost = lambda y: costs_by_sign(y, positive, negative)
    return dataclasses.replace(
        loss,
        name=f"weighted_{loss.name}",
        kind=kinds.NO_LOOP,
        values=lambda y, f, a: cost(y) * loss.values(y, f, a),
        gradients=lambda y, f, a: cost(y) * loss.gradients(y, f, a),
        curvatures=lambda y, f, a: cost(y) * loss.curvatures(y, f, a),
        constants=lambda y, w, a: loss.constants(
            y, cost(y) if w is None else w * cost(y), a
        ),
        lipschitz=max(positive, negative) * loss.lipschitz,
    )
