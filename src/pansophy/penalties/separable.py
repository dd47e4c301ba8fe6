"""Separable penalties (sums over coordinates): l1, l2, elastic net, box.

    l1           a sum |w_j|                                                     (1)
    l2           b/2 sum w_j^2                                                   (2)
    elastic_net  alpha (rho sum |w_j| + (1 - rho)/2 sum w_j^2), and inf where    (3)
                 some w_j < 0 if `positive`
    box          0 if low <= w_j <= high for all j, else inf                     (4)

The prox of eq. (3) is soft-thresholding by s a followed by division by 1 + s b; eqs.
(1) and (2) are its ends. The sub-differential of |w_j| is its sign, and [-1, 1] at 0.

Refs      [Tibshirani1996] [Zou2005] [Parikh2014]
"""

import math

from ..core.arrays.arrays import namespace
from ..core.recipes import remakeable
from . import base as kinds
from .base import Penalty, check_nonnegative, indicator_value, soft_threshold


def elastic_penalty(name, kind, a, b) -> Penalty:
    """a |w| + b w^2 / 2 per coordinate: eqs. (1) to (3)."""
    positive = kind == kinds.POSITIVE

    def value(w):
        xp = namespace(w)
        if positive and bool(xp.any(w < 0)):
            return math.inf
        return a * xp.sum(xp.abs(w)) + b / 2 * xp.sum(w * w)

    def prox(w, step):
        w = namespace(w).clip(w, 0, math.inf) if positive else w
        return soft_threshold(w, step * a) / (1 + step * b)

    def distance(w, gradient):
        xp = namespace(w)
        total = gradient + b * w
        inward = -total if positive else xp.abs(total)
        at_zero = xp.clip(inward - a, 0, math.inf)
        away = xp.abs(total + a * xp.sign(w))
        if positive:
            away = xp.where(w < 0, xp.full_like(away, math.inf), away)
        return xp.where(w == 0, at_zero, away)

    return Penalty(name, kind, value, prox, distance, a=a, b=b)


@remakeable
def l1(alpha: float = 1.0) -> Penalty:
    """Eq. (1): alpha times the sum of absolute values."""
    return elastic_penalty("l1", kinds.L1, check_nonnegative("alpha of l1", alpha), 0.0)


@remakeable
def l2(alpha: float = 1.0) -> Penalty:
    """Eq. (2): alpha/2 times the sum of squares."""
    return elastic_penalty("l2", kinds.L2, 0.0, check_nonnegative("alpha of l2", alpha))


@remakeable
def elastic_net(
    alpha: float = 1.0, l1_ratio: float = 0.5, positive: bool = False
) -> Penalty:
    """Eq. (3): l1 and l2 mixed, scikit-learn's parameters."""
    alpha = check_nonnegative("alpha of elastic_net", alpha)
    if not 0 <= l1_ratio <= 1:
        raise ValueError(f"l1_ratio must be a number from 0 to 1, got {l1_ratio!r}.")
    a, b = alpha * l1_ratio, alpha * (1 - l1_ratio)
    return elastic_penalty(
        "elastic_net", kinds.POSITIVE if positive else kinds.ELASTIC_NET, a, b
    )


@remakeable
def box(low: float = -math.inf, high: float = math.inf) -> Penalty:
    """Eq. (4): the indicator of an interval per coordinate; prox is the clip."""
    if not low <= high:
        raise ValueError(f"low of box must be at most high, got {low!r} and {high!r}.")

    def value(w):
        xp = namespace(w)
        return indicator_value(bool(xp.all(w >= low)) and bool(xp.all(w <= high)))

    def prox(w, step):
        return namespace(w).clip(w, low, high)

    def distance(w, gradient):
        # the normal cone: everything <= 0 at the lower end, >= 0 at the upper end
        xp = namespace(w)
        size = xp.abs(gradient)
        zero = xp.zeros_like(size)
        size = xp.where((w <= low) & (gradient > 0), zero, size)
        size = xp.where((w >= high) & (gradient < 0), zero, size)
        return xp.where((w < low) | (w > high), xp.full_like(size, math.inf), size)

    return Penalty("box", kinds.BOX, value, prox, distance, low, high, indicator=True)


@remakeable
def nonnegative() -> Penalty:
    """The box [0, inf)."""
    return box(0.0, math.inf)
