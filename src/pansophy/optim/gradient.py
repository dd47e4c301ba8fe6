"""Gradient descent: x <- x - eta g, with the rule for eta as a part.

An objective is a function f(x) -> (value, gradient). With g the gradient at x, rules:

    constant       eta                                                           (1)
    decaying       eta(t) for a schedule eta and t = 0, 1, ...                   (2)
    normalised     eta / |g|: every step is eta long                             (3)
    backtracking   halve eta until f(x - eta g) <= f(x) - s eta |g|^2            (4)
    wolfe          eq. (4), and the slope along the line has flattened too
    bold_driver    grow eta after a fall; after a rise shrink it and stay        (5)
    exact          the eta that minimises f along the line                       (6)

Eq. (4) cannot raise f. For f convex with gradient slope at most L, eq. (1) with eta
<= 1/L lowers f at every step and above 2/L diverges. `subgradient` is for kinked
objectives, whose value need not fall: it keeps the best point seen.

Shapes    x, g any one shape, any array namespace
Refs      [Armijo1966] eq. (4); [Battiti1989] eq. (5); [Hager2005]
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import namespace
from ..core.iterate import Result, iterate
from ..core.progress import SILENT, FitTask
from ..penalties.base import euclidean_norm


class State(NamedTuple):
    """A point with f and g there, and the step length for what comes next."""

    position: Any  # x
    objective: float  # f(x)
    gradient: Any  # g
    eta: float
    count: int = 0  # t

    @property
    def slope(self) -> float:
        """max |g_j|: 0 at a stationary point."""
        return size_of(self.gradient)


class Rule(NamedTuple):
    """How far to go: the first eta, and move(f, state) -> state."""

    eta: float
    move: Callable


def size_of(g) -> float:
    if isinstance(g, np.ndarray):
        return float(np.abs(g).max(initial=0.0))
    return float(namespace(g).max(namespace(g).abs(g)))


def dot(a, b) -> float:
    if isinstance(a, np.ndarray):
        return float(np.vdot(a, b))
    return float(namespace(a).sum(a * b))


def at(f, x, eta) -> State:
    value, g = f(x)
    return State(x, float(value), g, eta)


def constant(eta: float) -> Rule:
    """Eq. (1)."""
    return Rule(eta, lambda f, s: at(f, s.position - s.eta * s.gradient, s.eta))


def decaying(eta: Callable) -> Rule:
    """Eq. (2); see `optim.schedules`."""

    def move(f, s):
        step = float(eta(s.count))
        return at(f, s.position - step * s.gradient, step)

    return Rule(float(eta(0)), move)


def normalised(eta) -> Rule:
    """Eq. (3); eta a number or a schedule."""
    rate = eta if callable(eta) else lambda t: eta

    def move(f, s):
        length, step = float(euclidean_norm(s.gradient)), float(rate(s.count))
        factor = step / length if length > 0 else 0.0
        return at(f, s.position - factor * s.gradient, step)

    return Rule(float(rate(0)), move)


def backtracking(eta: float = 1.0, shrink: float = 0.5, slope: float = 1e-4) -> Rule:
    """Eq. (4); the next search starts at twice the step that was taken."""

    def move(f, s):
        new = line_search(f, s, -s.gradient, s.eta, shrink=shrink, slope=slope)
        return new._replace(eta=2 * new.eta) if new.eta > 0 else new

    return Rule(eta, move)


def wolfe(eta: float = 1.0, slope: float = 1e-4, curvature: float = 0.9) -> Rule:
    """Both of Wolfe's conditions, by `optim.strong_wolfe`."""
    from .line import strong_wolfe

    def move(f, s):
        how = {"slope": slope, "curvature": curvature}
        return strong_wolfe(f, s, -s.gradient, s.eta, **how)

    return Rule(eta, move)


def bold_driver(eta: float = 0.1, grow: float = 1.1, shrink: float = 0.5) -> Rule:
    """Eq. (5)."""

    def move(f, s):
        new = at(f, s.position - s.eta * s.gradient, s.eta)
        if new.objective <= s.objective:
            return new._replace(eta=grow * s.eta)
        return s._replace(eta=shrink * s.eta)

    return Rule(eta, move)


def exact(eta: float = 1.0) -> Rule:
    """Eq. (6), by Brent's method on the line."""

    def move(f, s):
        from scipy.optimize import minimize_scalar

        along = lambda t: float(f(s.position - t * s.gradient)[0])
        best = minimize_scalar(along, bracket=(0.0, s.eta), options={"xtol": 1e-10})
        return at(f, s.position - best.x * s.gradient, abs(best.x) or s.eta)

    return Rule(eta, move)


def line_search(
    f, state: State, direction, eta=1.0, *, shrink=0.5, slope=1e-4, tries=60
) -> State:
    """The first of eta, eta shrink, ... that lowers f enough, eq. (4).

    The state comes back unmoved with eta 0 if none of them does.
    """
    fall = dot(state.gradient, direction)
    noise = 1e-14 * abs(state.objective)
    for _ in range(tries):
        new = at(f, state.position + eta * direction, eta)
        rise = new.objective - state.objective
        if rise <= slope * eta * fall:
            return new
        # a fall below rounding shows in the slope alone [Hager2005]
        if rise <= noise and dot(new.gradient, direction) <= (2 * slope - 1) * fall:
            still = not bool(namespace(direction).any(new.position != state.position))
            return state._replace(eta=0.0) if still else new
        eta *= shrink
    return state._replace(eta=0.0)


def descend(
    step: Callable, start, *, max_iter: int, tol: float, task: FitTask
) -> Result:
    """`iterate` until max |g_j| <= tol, or until no step lowers f ("stalled").

    A start that is stationary already takes no step.
    """
    if start.slope <= tol:
        return Result(start, 0, "tolerance", {"objective": np.empty(0)})
    change = lambda old, new: 0.0 if new.eta == 0 else new.slope
    run = iterate(step, start, max_iter=max_iter, tol=tol, change=change, task=task)
    stuck = run.reason == "tolerance" and run.state.slope > tol
    return run._replace(reason="stalled") if stuck else run


def gradient_descent(
    f: Callable,
    x,
    rule: Rule | None = None,
    *,
    max_iter: int = 1000,
    tol: float = 1e-6,
    task: FitTask = SILENT,
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
    step = lambda s: rule.move(f, s)._replace(count=s.count + 1)
    return descend(step, at(f, x, rule.eta), max_iter=max_iter, tol=tol, task=task)


class Best(NamedTuple):
    """The running point of `subgradient` and the best one so far."""

    current: Any
    position: Any
    objective: float
    count: int
    value: float  # f at the point the last step started from


def subgradient(
    f: Callable,
    x,
    eta=1.0,
    *,
    constraint=None,
    max_iter: int = 1000,
    task: FitTask = SILENT,
) -> Result:
    """Steps eta / sqrt(t) along a sub-gradient; the best point seen is kept.

    eta may be a schedule of step lengths instead. With a `constraint` of `penalties`
    each step is projected onto it. `history["value"]` is the trace itself, which may
    rise; `history["objective"]` the best so far, which does not.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> kink = lambda x: (abs(x[0] - 2), np.sign(x - 2))
    >>> run = optim.subgradient(kink, np.zeros(1), max_iter=400)
    >>> bool(run.objective < 0.05), bool(np.all(np.diff(run.history["value"]) <= 0))
    (True, False)
    """
    rate = eta if callable(eta) else lambda t: eta / math.sqrt(t + 1)
    project = (lambda u: constraint.prox(u)) if constraint is not None else lambda u: u

    def step(s):
        value, g = f(s.current)
        value, length = float(value), float(euclidean_norm(g))
        best = s.position, s.objective
        if value < s.objective:
            best = s.current, value
        move = float(rate(s.count)) / length if length > 0 else 0.0
        return Best(project(s.current - move * g), *best, s.count + 1, value)

    x = project(x)
    value = float(f(x)[0])
    start = Best(x, x, value, 0, value)
    how = {"max_iter": max_iter, "tol": -1.0, "watch": ("value",), "task": task}
    return iterate(step, start, **how)
