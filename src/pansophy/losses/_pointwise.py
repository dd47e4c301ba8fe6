"""Scalar losses for compiled loops, chosen by an integer `kind`.

The formulas are those of `pointwise.py` and `robust.py`, for one row.
"""

import math

from ..core._scalar import log1pexp, sigmoid
from ..core.loops.compiled import compiled
from . import _glm as glm
from .base import (
    ABSOLUTE,
    EPSILON_INSENSITIVE,
    EXPONENTIAL,
    GAMMA,
    GLM,
    HALF_SQUARED,
    HINGE,
    HUBER,
    LOGISTIC,
    LP,
    MODIFIED_HUBER,
    PERCEPTRON,
    POISSON,
    QUANTILE,
    SQUARED,
    SQUARED_EPSILON_INSENSITIVE,
    SQUARED_HINGE,
    TUKEY,
    TWEEDIE,
)


@compiled(inner=True)
def loss_value(kind, y, f, a):
    """l(y, f) with parameter a."""
    r = f - y
    if kind == SQUARED:
        return r * r
    if kind == HALF_SQUARED:
        return r * r / 2
    if kind == ABSOLUTE:
        return abs(r)
    if kind == QUANTILE:
        return max(-a * r, (1 - a) * r)
    if kind == HUBER:
        near = min(abs(r), a)
        return near * (abs(r) - near / 2)
    if kind == EPSILON_INSENSITIVE:
        return max(abs(r) - a, 0.0)
    if kind == LOGISTIC:
        return log1pexp(f) - y * f
    if kind == HINGE:
        return max(1 - y * f, 0.0)
    if kind == SQUARED_HINGE:
        return max(1 - y * f, 0.0) ** 2
    if kind == PERCEPTRON:
        return max(-y * f, 0.0)
    if kind == EXPONENTIAL:
        return math.exp(-y * f)
    if kind == POISSON:
        return math.exp(f) - y * f
    if kind == GAMMA:
        return y * math.exp(-f) + f
    if kind == MODIFIED_HUBER:
        z = y * f
        return max(1 - z, 0.0) ** 2 if z >= -1 else -4 * z
    if kind == SQUARED_EPSILON_INSENSITIVE:
        return max(abs(r) - a, 0.0) ** 2
    if kind == TWEEDIE:
        return math.exp((2 - a) * f) / (2 - a) - y * math.exp((1 - a) * f) / (1 - a)
    if kind == LP:
        return abs(r) ** a
    if kind == TUKEY:
        u = min(abs(r) / a, 1.0)
        return a * a / 6 * (1 - (1 - u * u) ** 3)
    if kind >= GLM:
        return glm.glm_value(kind, y, f, a)
    return math.nan


@compiled(inner=True)
def sign_of(x):
    if x > 0:
        return 1.0
    return -1.0 if x < 0 else 0.0


@compiled(inner=True)
def loss_gradient(kind, y, f, a):
    """dl/df, a sub-gradient at kinks."""
    r = f - y
    if kind == SQUARED:
        return 2 * r
    if kind == HALF_SQUARED:
        return r
    if kind == ABSOLUTE:
        return sign_of(r)
    if kind == QUANTILE:
        return 0.0 if r == 0 else (1.0 - a if r > 0 else -a)
    if kind == HUBER:
        return min(max(r, -a), a)
    if kind == EPSILON_INSENSITIVE:
        return sign_of(r) if abs(r) > a else 0.0
    if kind == LOGISTIC:
        return sigmoid(f) - y
    if kind == HINGE:
        return -y if y * f < 1 else 0.0
    if kind == SQUARED_HINGE:
        return -2 * y * max(1 - y * f, 0.0)
    if kind == PERCEPTRON:
        return -y if y * f <= 0 else 0.0
    if kind == EXPONENTIAL:
        return -y * math.exp(-y * f)
    if kind == POISSON:
        return math.exp(f) - y
    if kind == GAMMA:
        return 1 - y * math.exp(-f)
    if kind == MODIFIED_HUBER:
        z = y * f
        return -2 * y * max(1 - z, 0.0) if z >= -1 else -4 * y
    if kind == SQUARED_EPSILON_INSENSITIVE:
        return 2 * sign_of(r) * max(abs(r) - a, 0.0)
    if kind == TWEEDIE:
        return math.exp((2 - a) * f) - y * math.exp((1 - a) * f)
    if kind == LP:
        return 0.0 if r == 0 else a * sign_of(r) * abs(r) ** (a - 1)
    if kind == TUKEY:
        u = min(abs(r) / a, 1.0)
        return r * (1 - u * u) ** 2
    if kind >= GLM:
        return glm.glm_gradient(kind, y, f, a)
    return math.nan


@compiled(inner=True)
def logistic_curvature(f):
    """p (1 - p) for the log odds f."""
    e = math.exp(-abs(f))
    return e / ((1 + e) * (1 + e))


@compiled(inner=True)
def loss_curvature(kind, y, f, a):
    """d2l/df2 where it exists, 0 on straight pieces."""
    if kind == SQUARED:
        return 2.0
    if kind == HALF_SQUARED:
        return 1.0
    if kind == HUBER:
        return 1.0 if abs(f - y) <= a else 0.0
    if kind == LOGISTIC:
        return logistic_curvature(f)
    if kind == SQUARED_HINGE:
        return 2.0 if y * f < 1 else 0.0
    if kind == EXPONENTIAL:
        return math.exp(-y * f)
    if kind == POISSON:
        return math.exp(f)
    if kind == GAMMA:
        return y * math.exp(-f)
    if kind == MODIFIED_HUBER:
        return 2.0 if -1 <= y * f < 1 else 0.0
    if kind == SQUARED_EPSILON_INSENSITIVE:
        return 2.0 if abs(f - y) > a else 0.0
    if kind == TWEEDIE:
        low = (1 - a) * y * math.exp((1 - a) * f)
        return (2 - a) * math.exp((2 - a) * f) - low
    if kind == LP:
        return 0.0 if f == y else a * (a - 1) * abs(f - y) ** (a - 2)
    if kind == TUKEY:
        u = min(abs(f - y) / a, 1.0)
        return (1 - u * u) * (1 - 5 * u * u)
    if kind >= GLM:
        return glm.glm_curvature(kind, y, f, a)
    return 0.0
