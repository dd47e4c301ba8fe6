"""Line search for the strong Wolfe conditions.

On the line p(t) = f(x + t d) with p'(0) < 0, a step t is neither too short nor too long
when

    p(t) <= p(0) + s t p'(0),     |p'(t)| <= c |p'(0)|,     0 < s < c < 1        (1)

The search grows t until an interval (low, high) must hold such a step: low meets the
first condition with the lowest p so far, and p falls from low towards high. Then the
interval shrinks around the minimum of the cubic through both ends, or of the secant of
the slopes where the values differ by rounding alone, kept off the ends so that each
two tries at least halve it. Near the optimum p(t) - p(0) is rounding, and the slopes
decide:

    p(t) <= p(0) + noise,     c p'(0) <= p'(t) <= (2 s - 1) p'(0)                (2)

Quasi-Newton and conjugate-gradient directions stay descent directions after steps (1).

Refs      [Wolfe1969]; [Nocedal2006] ch. 3.5; [Hager2005] eq. (2)
"""

import math
from typing import NamedTuple

from .gradient import GradientState, inner_product, state_at_position

NOISE = 1e-14  # relative rounding error of f
EDGE = 0.1  # smallest distance of a trial from the ends, as a share of the interval
GROW = 4.0  # largest factor of an extrapolation


class LinePoint(NamedTuple):
    """A point on the line: t, p(t), p'(t)."""

    t: float
    p: float
    slope: float


def strong_wolfe(
    f, state: GradientState, direction, eta=1.0, *, slope=1e-4, curvature=0.9, tries=40
) -> GradientState:
    """The state after a strong Wolfe step, eq. (1), along `direction`, from eta on.

    If no such step is found within `tries`, the lowest point that meets the first
    condition; the unchanged state with eta 0 if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.optim.smooth.gradient import GradientState
    >>> f = lambda x: (float(x @ x), 2 * x)
    >>> x = np.array([3.0])
    >>> state = GradientState(x, *f(x), 1.0)
    >>> new = strong_wolfe(f, state, np.array([-1.0]), curvature=0.1)
    >>> new.position.round(6), round(new.eta, 6)
    (array([0.]), 3.0)
    """
    first = LinePoint(0.0, state.objective, inner_product(state.gradient, direction))
    if not first.slope < 0:
        return state._replace(eta=0.0)
    noise = NOISE * abs(first.p)
    low = first
    high = None
    best = None
    t = float(eta)
    width = math.inf
    for _ in range(tries):
        new = state_at_position(f, state.position + t * direction, t)
        point = LinePoint(t, new.objective, inner_product(new.gradient, direction))
        falls = _falls_enough(point, first, slope, noise)
        if not falls or point.p > low.p + noise:
            high = point
        else:
            if abs(point.slope) <= -curvature * first.slope:
                return new
            ahead = 1.0 if high is None else high.t - low.t
            if point.slope * ahead >= 0:
                high = low
            low = point
            best = new
        if high is None:
            t = _extrapolated_step(first, low)
        else:
            t = _interpolated_step(low, high, noise, width)
            width = abs(high.t - low.t)
        if t in (low.t, high.t if high is not None else low.t):
            break  # the interval has no number inside
    fell = best is not None and best.objective < state.objective
    return best if fell else state._replace(eta=0.0)


def _falls_enough(here: LinePoint, first: LinePoint, slope, noise) -> bool:
    """The condition of sufficient decrease, eq. (1) or (2)."""
    if not (math.isfinite(here.p) and math.isfinite(here.slope)):
        return False
    if here.p <= first.p + slope * here.t * first.slope:
        return True
    return here.p <= first.p + noise and here.slope <= (2 * slope - 1) * first.slope


def _extrapolated_step(first: LinePoint, low: LinePoint) -> float:
    """Next trial beyond `low`: the zero of the secant of the slopes, within bounds."""
    rise = low.slope - first.slope
    t = low.t - low.slope * (low.t - first.t) / rise if rise > 0 else math.inf
    return min(max(t, 1.5 * low.t), GROW * low.t)


def _interpolated_step(a: LinePoint, b: LinePoint, noise: float, width: float) -> float:
    """Next trial inside (a, b): the minimum of the interpolant, or the midpoint."""
    h = b.t - a.t
    middle = a.t + h / 2
    if not (math.isfinite(b.p) and math.isfinite(b.slope)):
        return a.t + EDGE * h
    if abs(h) > 0.66 * width:
        return middle
    if abs(b.p - a.p) <= 10 * noise:
        rise = b.slope - a.slope
        t = a.t - a.slope * h / rise if rise * h > 0 else middle
    else:
        z = a.slope + b.slope - 3 * (b.p - a.p) / h
        root = z * z - a.slope * b.slope
        if root < 0:
            return middle
        root = math.copysign(math.sqrt(root), h)
        denominator = b.slope - a.slope + 2 * root
        t = middle
        if denominator != 0:
            t = b.t - h * (b.slope + root - z) / denominator
    edge = EDGE * abs(h)
    inside = (min(a.t, b.t) + edge, max(a.t, b.t) - edge)
    return min(max(t, inside[0]), inside[1]) if math.isfinite(t) else middle
