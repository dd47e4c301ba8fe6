"""Orthant-wise L-BFGS for a smooth function plus an L1 penalty.

    min over x   f(x) + sum_j c_j |x_j|                                          (1)

Inside an orthant (signs fixed) the sum is linear, so L-BFGS can step there. With g the
gradient of f, the steepest slope of (1) is the pseudo-gradient

    p_j = g_j + c_j sign(x_j)                            where x_j is not 0      (2)
    p_j = g_j - sign(g_j) min(|g_j|, c_j)                where it is

The step is d = -H p, with H from the last changes of g (two-loop recursion,
[Nocedal1980]) and entries of d that are not descent directions set to 0. The orthant is
that of x, or of -p where x_j = 0; trial points are projected onto it:

    x(eta)_j = x_j + eta d_j, or 0 where its sign is not that of the orthant     (3)

until (1) decreases by 1e-4 of p.(x(eta) - x). Zeros are exact, a minimum has p = 0, and
with all c_j = 0 this is L-BFGS.

Cost      a call of f and O(memory d) a step
Shapes    x, g, p, c (d,)
Refs      [Andrew2007] [Nocedal1980]
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT, FitTask

ENOUGH = 1e-4  # share of the first-order decrease that a step must achieve
SHORTEST = 60  # halvings of a step before the search fails


class OrthantWiseState(NamedTuple):
    """A point, f and its (pseudo-)gradient there, and the last moves."""

    position: np.ndarray  # x
    objective: float  # eq. (1)
    gradient: np.ndarray  # g
    slope: np.ndarray  # p
    moves: tuple  # the last (s, y, 1 / s.y), oldest first
    stuck: bool = False


def pseudo_gradient(x, g, c):
    """Pseudo-gradient p of eq. (1), by eq. (2)."""
    at_zero = g - np.sign(g) * np.minimum(np.abs(g), c)
    return np.where(x != 0, g + c * np.sign(x), at_zero)


def _two_loop_direction(p, moves):
    """Quasi-Newton direction -H p by the two-loop recursion over the last moves."""
    d = -p
    shares = []
    for s, y, rho in reversed(moves):
        a = rho * (s @ d)
        d -= a * y
        shares.append(a)
    if moves:
        s, y, rho = moves[-1]
        d /= rho * (y @ y)
    for (s, y, rho), a in zip(moves, reversed(shares), strict=True):
        d += (a - rho * (y @ d)) * s
    return d


def orthant_lbfgs(
    f: Callable,
    x,
    l1=0.0,
    *,
    max_iter: int = 1000,
    tol: float = 1e-5,
    memory: int = 10,
    change: Callable | None = None,
    task: FitTask = SILENT,
) -> Result:
    """OWL-QN: minimise eq. (1) for f(x) -> (value, gradient) until max |p_j| <= tol.

    Parameters
    ----------
    f : function
    x : array of shape (d,)
    l1 : float or array of shape (d,)
        Penalties c_j, at least 0.
    max_iter : int
    tol : float
    memory : int
        Number of moves that are stored.
    change : function (old, new) -> float, optional
        Stopping measure compared with tol in place of max |p_j|.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> bowl = lambda x: (0.5 * ((x - [3.0, 0.5]) ** 2).sum(), x - [3.0, 0.5])
    >>> optim.orthant_lbfgs(bowl, np.zeros(2), 1.0).state.position.round(6)
    array([2., 0.])
    """
    c = np.broadcast_to(np.asarray(l1, dtype=float), np.shape(x))
    if (c < 0).any():
        raise ValueError("l1 must not be negative.")
    sparse = bool(c.any())

    def state_at(x, value, g, moves):
        p = pseudo_gradient(x, g, c) if sparse else g
        return OrthantWiseState(x, value, g, p, moves)

    def penalized(x):
        value, g = f(x)
        return float(value) + (float(c @ np.abs(x)) if sparse else 0.0), g

    def step(s):
        x, value, g, p, moves, _ = s
        d = _two_loop_direction(p, moves)
        if sparse:
            d[d * p >= 0] = 0.0
        if not (p @ d < 0):
            d = -p
            moves = ()
        orthant = np.where(x != 0, np.sign(x), -np.sign(p))
        eta = 1.0 if moves else 1.0 / max((p @ p) ** 0.5, 1e-300)
        for _ in range(SHORTEST):
            new = x + eta * d
            if sparse:
                new[new * orthant <= 0] = 0.0
            trial, new_g = penalized(new)
            if trial <= value + ENOUGH * (p @ (new - x)):
                break
            eta *= 0.5
        else:
            return s._replace(stuck=True)
        ds = new - x
        dy = new_g - g
        curvature = ds @ dy
        if curvature > 1e-10 * (dy @ dy) ** 0.5 * (ds @ ds) ** 0.5:
            moves = (*moves[-(memory - 1) :], (ds, dy, 1 / curvature))
        return state_at(new, trial, new_g, moves)

    def measure(old, new):
        if new.stuck:
            return 0.0
        return change(old, new) if change else float(np.abs(new.slope).max(initial=0))

    start = np.array(x, dtype=float)
    value, g = penalized(start)
    first = state_at(start, value, g, ())
    if np.abs(first.slope).max(initial=0) <= tol and change is None:
        return Result(first, 0, "tolerance", {"objective": np.zeros(0)})
    return iterate(step, first, max_iter=max_iter, tol=tol, change=measure, task=task)
