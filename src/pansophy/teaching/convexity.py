"""Convexity check by random search for a counterexample.

On a convex region f is convex when, for all x, y there and t in [0, 1],

    f((1 - t) x + t y) <= (1 - t) f(x) + t f(y)              jensen              (1)
    f(y) >= f(x) + g(x).(y - x)                              first-order         (2)
    v^T H(x) v >= 0 for every v                              hessian             (3)

Eq. (2) is tested if a gradient is given, eq. (3) if a Hessian is. Random pairs lie both
far apart and close together, so that narrow dents are found as well as wide ones. A
violation beyond rounding proves that f is not convex; no violation proves nothing, but
makes convexity likely. Strict convexity is eq. (1) with < for x != y, 0 < t < 1.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..core.random import make_rng


class Convexity(NamedTuple):
    """Result of `check_convex`; true if no counterexample was found."""

    convex: bool
    strict: bool
    test: str = ""  # the equation that failed
    counterexample: dict = {}  # x, and y and t or v, and the gap

    def __bool__(self):
        return self.convex

    def __str__(self):
        if self.convex:
            return "strictly convex" if self.strict else "convex, not strictly"
        points = ", ".join(f"{k}={v}" for k, v in self.counterexample.items())
        return f"not convex: {self.test} fails at {points}"


def check_convex(
    f: Callable,
    region,
    *,
    gradient: Callable | None = None,
    hessian: Callable | None = None,
    n_probes: int = 1000,
    tol: float = 1e-9,
    random_state=0,
) -> Convexity:
    """Search for a counterexample to the convexity of f(x) -> number.

    Parameters
    ----------
    f : function of x (d,)
    region : pairs (low, high), one per coordinate; or function rng -> x
        A convex region to draw points from.
    gradient, hessian : functions of x
    n_probes : int
        Pairs of points to try.
    tol : float
        Share of |f| that counts as rounding.
    random_state : int, Generator or None

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import teaching
    >>> print(teaching.check_convex(lambda x: x[0] ** 2, [(-2, 2)]))
    strictly convex
    >>> print(teaching.check_convex(lambda x: 3 * x[0] + 1, [(-2, 2)]))
    convex, not strictly
    >>> teaching.check_convex(lambda x: np.sin(x[0]), [(0, 6)]).test
    'jensen'
    """
    rng = make_rng(random_state)
    draw = _region_sampler(region)
    value = lambda x: float(f(x))
    strict = True
    for i in range(n_probes):
        x = draw(rng)
        y = draw(rng)
        t = rng.uniform(0.05, 0.95)
        if i % 2:  # a close pair
            y = x + 10 ** rng.uniform(-3, -1) * (y - x)
        fx = value(x)
        fy = value(y)
        value_between = value((1 - t) * x + t * y)
        chord = (1 - t) * fx + t * fy
        noise = tol * max(abs(fx), abs(fy), abs(value_between))
        if value_between - chord > noise:
            counterexample = {"x": x, "y": y, "t": t, "gap": value_between - chord}
            return Convexity(False, False, "jensen", counterexample)
        if i % 2 == 0 and np.any(x != y):
            strict = strict and chord - value_between > noise
        if gradient is not None:
            tangent = fx + float(np.vdot(gradient(x), y - x))
            if tangent - fy > max(noise, tol * abs(tangent)):
                counterexample = {"x": x, "y": y, "gap": tangent - fy}
                return Convexity(False, False, "first-order", counterexample)
        if hessian is not None:
            w, V = np.linalg.eigh(np.atleast_2d(hessian(x)))
            if w[0] < -tol * max(abs(w[-1]), abs(w[0])):
                counterexample = {"x": x, "v": V[:, 0], "gap": -float(w[0])}
                return Convexity(False, False, "hessian", counterexample)
    return Convexity(True, strict)


def _region_sampler(region) -> Callable:
    """Function rng -> random point of the region."""
    if callable(region):
        return lambda rng: np.asarray(region(rng), dtype=float)
    limits = np.array(region, dtype=float)
    if limits.ndim != 2 or limits.shape[1] != 2 or np.any(limits[:, 0] > limits[:, 1]):
        raise ValueError("region must be pairs (low, high), low not above high.")
    return lambda rng: rng.uniform(limits[:, 0], limits[:, 1])
