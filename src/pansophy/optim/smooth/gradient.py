"""Gradient descent with interchangeable step rules.

An objective is a function f(x) -> (value, gradient). With g the gradient at x, the step
rules are

    constant       eta                                                           (1)
    decaying       eta(t) for a schedule eta and t = 0, 1, ...                   (2)
    normalised     eta / |g|: every step is eta long                             (3)
    backtracking   halve eta until f(x - eta g) <= f(x) - s eta |g|^2            (4)
    wolfe          eq. (4), and the slope along the line has decreased as well
    bold_driver    grow eta if f falls; if it rises, shrink eta and do not move  (5)
    exact          the eta that minimises f along the line                       (6)

Eq. (4) cannot raise f. For convex f whose gradient has Lipschitz constant L, eq. (1)
with eta <= 1/L lowers f at every step and with eta > 2/L diverges. `subgradient` is for
non-smooth objectives, whose value need not decrease: it keeps the best point so far.

Shapes    x, g any one shape, any array namespace
Refs      [Armijo1966] eq. (4); [Battiti1989] eq. (5); [Hager2005]
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays.arrays import namespace
from ...core.drivers.iterate import Result, StopReason, iterate
from ...core.drivers.progress import SILENT, FitTask
from ...penalties.base import euclidean_norm


class GradientState(NamedTuple):
    """A point with f and g there, and the length of the next step."""

    position: Any  # x
    objective: float  # f(x)
    gradient: Any  # g
    eta: float
    count: int = 0  # t

    @property
    def slope(self) -> float:
        """max |g_j|: 0 at a stationary point."""
        return size_of(self.gradient)


class StepRule(NamedTuple):
    """A step rule: the first eta, and move(f, state) -> state."""

    eta: float
    move: Callable


def size_of(g) -> float:
    """Largest magnitude max |g_j|."""
    if isinstance(g, np.ndarray):
        return float(np.abs(g).max(initial=0.0))
    return float(namespace(g).max(namespace(g).abs(g)))


def inner_product(a, b) -> float:
    """Sum of a_j b_j over arrays of one shape."""
    if isinstance(a, np.ndarray):
        return float(np.vdot(a, b))
    return float(namespace(a).sum(a * b))


def state_at_position(f, x, eta) -> GradientState:
    """State with f and its gradient evaluated at x."""
    value, g = f(x)
    return GradientState(x, float(value), g, eta)


def constant_step(eta: float) -> StepRule:
    """Constant step length, eq. (1)."""
    return StepRule(
        eta, lambda f, s: state_at_position(f, s.position - s.eta * s.gradient, s.eta)
    )


def decaying_step(eta: Callable) -> StepRule:
    """Step length by a schedule, eq. (2); see `optim.schedules`."""

    def move(f, s):
        step = float(eta(s.count))
        return state_at_position(f, s.position - step * s.gradient, step)

    return StepRule(float(eta(0)), move)


def normalized_step(eta) -> StepRule:
    """Steps of fixed or scheduled length eta, eq. (3)."""
    rate = eta if callable(eta) else lambda t: eta

    def move(f, s):
        length = float(euclidean_norm(s.gradient))
        step = float(rate(s.count))
        factor = step / length if length > 0 else 0.0
        return state_at_position(f, s.position - factor * s.gradient, step)

    return StepRule(float(rate(0)), move)


def backtracking_search(
    eta: float = 1.0, shrink: float = 0.5, slope: float = 1e-4
) -> StepRule:
    """Armijo backtracking, eq. (4); a search starts at twice the last step."""

    def move(f, s):
        new = line_search(f, s, -s.gradient, s.eta, shrink=shrink, slope=slope)
        return new._replace(eta=2 * new.eta) if new.eta > 0 else new

    return StepRule(eta, move)


def wolfe_search(
    eta: float = 1.0, slope: float = 1e-4, curvature: float = 0.9
) -> StepRule:
    """Line search for the strong Wolfe conditions, by `optim.strong_wolfe`."""
    from .strong_wolfe import strong_wolfe

    def move(f, s):
        return strong_wolfe(f, s, -s.gradient, s.eta, slope=slope, curvature=curvature)

    return StepRule(eta, move)


def bold_driver(eta: float = 0.1, grow: float = 1.1, shrink: float = 0.5) -> StepRule:
    """Bold driver: step length that grows after success, eq. (5)."""

    def move(f, s):
        new = state_at_position(f, s.position - s.eta * s.gradient, s.eta)
        if new.objective <= s.objective:
            return new._replace(eta=grow * s.eta)
        return s._replace(eta=shrink * s.eta)

    return StepRule(eta, move)


def exact_line_search(eta: float = 1.0) -> StepRule:
    """Exact line search, eq. (6), by Brent's method."""

    def move(f, s):
        from scipy.optimize import minimize_scalar

        value_at = lambda t: float(f(s.position - t * s.gradient)[0])
        best = minimize_scalar(value_at, bracket=(0.0, s.eta), options={"xtol": 1e-10})
        return state_at_position(
            f, s.position - best.x * s.gradient, abs(best.x) or s.eta
        )

    return StepRule(eta, move)


def line_search(
    f, state: GradientState, direction, eta=1.0, *, shrink=0.5, slope=1e-4, tries=60
) -> GradientState:
    """Backtracking: the first of eta, eta shrink, ... that satisfies eq. (4).

    Returns the unchanged state with eta 0 if none of them does.
    """
    fall = inner_product(state.gradient, direction)
    noise = 1e-14 * abs(state.objective)
    for _ in range(tries):
        new = state_at_position(f, state.position + eta * direction, eta)
        rise = new.objective - state.objective
        if rise <= slope * eta * fall:
            return new
        # a decrease below rounding is only visible in the slope [Hager2005]
        if (
            rise <= noise
            and inner_product(new.gradient, direction) <= (2 * slope - 1) * fall
        ):
            is_unmoved = not bool(
                namespace(direction).any(new.position != state.position)
            )
            return state._replace(eta=0.0) if is_unmoved else new
        eta *= shrink
    return state._replace(eta=0.0)


def iterate_until_stationary(
    step: Callable, start, *, max_iter: int, tol: float, task: FitTask
) -> Result:
    """`iterate` until max |g_j| <= tol, or until no step lowers f ("stalled").

    No step is taken from a start that is already stationary.
    """
    if start.slope <= tol:
        return Result(start, 0, "tolerance", {"objective": np.empty(0)})
    change = lambda old, new: 0.0 if new.eta == 0 else new.slope
    run = iterate(step, start, max_iter=max_iter, tol=tol, change=change, task=task)
    stuck = run.reason == "tolerance" and run.state.slope > tol
    return run._replace(reason=StopReason.STALLED) if stuck else run


def gradient_descent(
    f: Callable,
    x,
    rule: StepRule | None = None,
    *,
    max_iter: int = 1000,
    tol: float = 1e-6,
    task: FitTask = SILENT,
) -> Result:
    """Gradient descent of f from x until max |g_j| <= tol.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> bowl = lambda x: ((x - 1) @ (x - 1), 2 * (x - 1))
    >>> run = optim.gradient_descent(bowl, np.array([3.0, -1.0]))
    >>> run.converged, run.state.position.round(6)
    (True, array([1., 1.]))
    """
    rule = backtracking_search() if rule is None else rule
    step = lambda s: rule.move(f, s)._replace(count=s.count + 1)
    return iterate_until_stationary(
        step, state_at_position(f, x, rule.eta), max_iter=max_iter, tol=tol, task=task
    )


class Best(NamedTuple):
    """The current point of `subgradient` and the best one so far."""

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
    """Subgradient method: steps of length eta / sqrt(t); keeps the best point.

    eta may be a schedule of step lengths instead. With a `constraint` of `penalties`
    each step is projected onto it. `history["value"]` is f at the current point, which
    may rise; `history["objective"]` is the best value so far.

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
        value = float(value)
        length = float(euclidean_norm(g))
        better = value < s.objective
        move = float(rate(s.count)) / length if length > 0 else 0.0
        return Best(
            current=project(s.current - move * g),
            position=s.current if better else s.position,
            objective=value if better else s.objective,
            count=s.count + 1,
            value=value,
        )

    x = project(x)
    value = float(f(x)[0])
    start = Best(x, x, value, 0, value)
    return iterate(
        step, start, max_iter=max_iter, tol=None, watch=("value",), task=task
    )
