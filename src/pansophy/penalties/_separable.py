"""Scalar penalties for coordinate loops, chosen by an integer `kind`."""

import math

from ..core.loops.compiled import compiled
from .base import BOX, POSITIVE


@compiled
def penalty_value(kind, w, a, b):
    """g of one coordinate."""
    if kind == BOX:
        return 0.0 if a <= w <= b else math.inf
    if kind == POSITIVE and w < 0:
        return math.inf
    return a * abs(w) + b * w * w / 2


@compiled
def penalty_prox(kind, w, step, a, b):
    """argmin_u step g(u) + (u - w)^2 / 2."""
    if kind == BOX:
        return min(max(w, a), b)
    size = (w if kind == POSITIVE else abs(w)) - step * a
    if size <= 0:
        return 0.0
    return math.copysign(size, w) / (1 + step * b)


@compiled
def penalty_distance(kind, w, gradient, a, b):
    """Distance of -gradient from the sub-differential at w."""
    if kind == BOX:
        if w < a or w > b:
            return math.inf
        if (w <= a and gradient > 0) or (w >= b and gradient < 0):
            return 0.0
        return abs(gradient)
    total = gradient + b * w
    if kind == POSITIVE and w <= 0:
        return max(-total - a, 0.0) if w == 0 else math.inf
    if w == 0:
        return max(abs(total) - a, 0.0)
    return abs(total + math.copysign(a, w))
