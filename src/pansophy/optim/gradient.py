"""Gradient descent: x <- x - eta g, with the rule for eta as a part.

An objective is a function f(x) -> (value, gradient). With g the gradient at x, rules:

    constant       eta                                                           (1)
    normalised     eta / |g|: every step is eta long                             (2)
    backtracking   halve eta until f(x - eta g) <= f(x) - s eta |g|^2            (3)
    bold_driver    grow eta after a fall; after a rise shrink it and stay        (4)
    exact          the eta that minimises f along the line                       (5)

Eq. (3) cannot raise f. For f convex with gradient slope at most L, eq. (1) with eta
<= 1/L lowers f at every step and above 2/L diverges. `subgradient` is for kinked
objectives, whose value need not fall: it keeps the best point seen.

Shapes    x, g any one shape, any array namespace
Refs      [Armijo1966] eq. (3); [Battiti1989] eq. (4); [Hager2005]
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.arrays import namespace
from ..core.iterate import Result, iterate
from ..core.progress import SILENT, Task
from ..penalties.base import norm


class State(NamedTuple):
    """A point with f and g there, and the step length for what comes next."""

    position: Any  # x
    objective: float  # f(x)
    gradient: Any  # g
    eta: float

    @property
    def slope(self) -> float:
        """max |g_j|: 0 at a stationary point."""
        return size_of(self.gradient)


class Rule(NamedTuple):
    """How far to go: the first eta, and move(f, state) -> state."""

    eta: float
    move: Callable


def size_of(g) -> float:
    return float(namespace(g).max(namespace(g).abs(g)))


def at(f, x, eta) -> State:
    value, g = f(x)
    return State(x, float(value), g, eta)


def constant(eta: float) -> Rule:
    """Eq. (1)."""
    return Rule(eta, lambda f, s: at(f, s.position - s.eta * s.gradient, s.eta))


def normalised(eta: float) -> Rule:
    """Eq. (2)."""

    def move(f, s):
        length = float(norm(s.gradient))
        step = s.eta / length if length > 0 else 0.0
        return at(f, s.position - step * s.gradient, s.eta)

    return Rule(eta, move)


def backtracking(eta: float = 1.0, shrink: float = 0.5, slope: float = 1e-4) -> Rule:
    """Eq. (3); the next search starts at twice the step that was taken."""

    def move(f, s):
        new = line_search(f, s, -s.gradient, s.eta, shrink=shrink, slope=slope)
        return new._replace(eta=2 * new.eta) if new.eta > 0 else new

    return Rule(eta, move)


def bold_driver(eta: float = 0.1, grow: float = 1.1, shrink: float = 0.5) -> Rule:
    """Eq. (4)."""

    def move(f, s):
        new = at(f, s.position - s.eta * s.gradient, s.eta)
        if new.objective <= s.objective:
            return new._replace(eta=grow * s.eta)
        return s._replace(eta=shrink * s.eta)

    return Rule(eta, move)


def exact(eta: float = 1.0) -> Rule:
    """Eq. (5), by Brent's method on the line."""

    def move(f, s):
        from scipy.optimize import minimize_scalar

        along = lambda t: float(f(s.position - t * s.gradient)[0])
        best = minimize_scalar(along, bracket=(0.0, s.eta), options={"xtol": 1e-10})
        return at(f, s.position - best.x * s.gradient, abs(best.x) or s.eta)

    return Rule(eta, move)


def line_search(
    f, state: State, direction, eta=1.0, *, shrink=0.5, slope=1e-4, tries=60
) -> State:
    """The first of eta, eta shrink, ... that lowers f enough, eq. (3).

    The state comes back unmoved with eta 0 if none of them does.
    """
    xp = namespace(direction)
    along = lambda g: float(xp.sum(g * direction))
    fall = along(state.gradient)
    noise = 1e-14 * abs(state.objective)
    for _ in range(tries):
        new = at(f, state.position + eta * direction, eta)
        rise = new.objective - state.objective
        if rise <= slope * eta * fall:
            return new
        # a fall below rounding shows in the slope alone [Hager2005]
        if rise <= noise and along(new.gradient) <= (2 * slope - 1) * fall:
            return new
        eta *= shrink
    return state._replace(eta=0.0)


def gradient_descent(
    f: Callable,
    x,
    rule: Rule | None = None,
    *,
    max_iter: int = 1000,
    tol: float = 1e-6,
    task: Task = SILENT,
) -> Result:
    """Minimise f from x until max |g_j| <= tol.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> bowl = lambda x: ((x - 1) @ (x - 1), 2 * (x - 1))
    >>> run = optim.gradient_descent(bowl, np.array([3.0, -1.0]))
    >>> run.converged, run.state.position.round(6)
    (True, array([1., 1.]))
    """
    rule = backtracking() if rule is None else rule
    return iterate(
        lambda s: rule.move(f, s),
        at(f, x, rule.eta),
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.slope,
        task=task,
    )


class Best(NamedTuple):
    """The running point of `subgradient` and the best one so far."""

    current: Any
    position: Any
    objective: float
    count: int


def subgradient(f: Callable, x, eta: float = 1.0, *, max_iter: int = 1000) -> Result:
    """Steps eta / sqrt(t) along a sub-gradient; the best point seen is kept."""

    def step(s):
        value, g = f(s.current)
        length = float(norm(g))
        best = s.position, s.objective
        if float(value) < s.objective:
            best = s.current, float(value)
        move = eta / math.sqrt(s.count + 1) / length if length > 0 else 0.0
        return Best(s.current - move * g, *best, s.count + 1)

    start = Best(x, x, float(f(x)[0]), 0)
    return iterate(step, start, max_iter=max_iter, tol=-1.0)
