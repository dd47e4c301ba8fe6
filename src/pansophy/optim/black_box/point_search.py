"""Derivative-free search over points: exhaustive, grid, random, Latin hypercube.

    exhaustive        every candidate: the answer is the global minimum
    grid              every combination of a few values per coordinate
    random_search     n points at random, or one in each stratum of each coordinate
    latin_hypercube   those strata: with n points, each of the n equal slices of each
                      coordinate holds exactly one
    local_search      moves to the lowest neighbour until none is lower

Random points usually do better than a grid of the same size, since each coordinate
takes n different values rather than n^(1/d). All are run by `core.drivers.iterate`: the
history is the best value so far, and Ctrl-C keeps the best point.

Refs      [Bergstra2012] random against grid; [McKay1979] Latin hypercubes
"""

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ...core.drivers.iterate import Result, StopReason, iterate
from ...core.drivers.progress import SILENT, FitTask
from ...core.random import make_rng
from .search_space import search_space


class PointSearchState(NamedTuple):
    """The best point so far, and all points evaluated."""

    position: Any  # the best point
    objective: float
    evaluations: int
    points: Any = None  # all points tried
    values: np.ndarray = np.empty(0)  # and f there


def _best_of_points(
    f, points, *, vectorised=False, batch_size=None, max_iter=None, task=SILENT
):
    """Evaluate the points in order, keeping the best; the earliest wins ties."""
    n = len(points)
    if n == 0:
        raise ValueError("there are no points to search.")
    size = batch_size or (max(1, -(-n // 100)) if vectorised else 1)
    tried = np.full(n, np.nan)

    def step(s):
        i = s.evaluations
        j = min(i + size, n)
        block = points[i:j]
        tried[i:j] = f(block) if vectorised else [float(f(x)) for x in block]
        values = np.where(np.isnan(tried[i:j]), np.inf, tried[i:j])
        k = int(np.argmin(values))
        if values[k] < s.objective or s.position is None:
            return PointSearchState(block[k], float(values[k]), j)
        return PointSearchState(s.position, s.objective, j)

    n_batches = -(-n // size)
    run = iterate(
        step,
        PointSearchState(None, np.inf, 0),
        max_iter=min(n_batches, max_iter or n_batches),
        tol=None,
        task=task,
    )
    m = run.state.evaluations
    state = run.state._replace(points=points[:m], values=tried[:m])
    complete = run.reason == StopReason.MAX_ITER and m == n
    reason = StopReason.TOLERANCE if complete else run.reason
    return run._replace(state=state, reason=reason)


def exhaustive_search(
    f: Callable,
    candidates,
    *,
    vectorised: bool = False,
    batch_size: int | None = None,
    task: FitTask = SILENT,
) -> Result:
    """Evaluate all candidates, a list of points or a discrete space; keep the best.

    Examples
    --------
    >>> from pansophy import optim
    >>> f = lambda x: (x[0] - 2) ** 2 + x[1]
    >>> run = optim.exhaustive_search(f, [range(5), [3, 1]])
    >>> run.state.position, run.objective, run.state.evaluations
    (array([2., 1.]), 1.0, 10)
    """
    first = next(iter(candidates), None)
    if isinstance(candidates, dict) or isinstance(first, (range, list)):
        space = search_space(candidates)
        if np.any(space.levels == 0):
            raise ValueError("exhaustive needs whole values; see grid for reals.")
        candidates = _grid_points(space, space.levels)
    elif not isinstance(candidates, np.ndarray):
        candidates = list(candidates)
    return _best_of_points(
        f, candidates, vectorised=vectorised, batch_size=batch_size, task=task
    )


def _grid_points(where, steps):
    """Points of a regular grid with `steps` values per coordinate.

    Real ranges include both ends (one step: the middle); of discrete values all are
    used if they are no more than the steps, otherwise evenly spaced ones.
    """
    space = search_space(where)
    steps = np.broadcast_to(np.asarray(steps, dtype=int), (space.d,))
    if np.any(steps < 1):
        raise ValueError("steps must be at least 1 for every coordinate.")
    axes = []
    for k, m in zip(space.levels, steps, strict=True):
        if k:
            picked = np.linspace(0, k - 1, min(m, k)).round().astype(int)
            axes.append((picked + 0.5) / k)
        else:
            axes.append(np.linspace(0.0, 1.0, m) if m > 1 else np.array([0.5]))
    U = np.array(list(product(*axes)))
    return space.points(U)


def grid_search(
    f: Callable,
    where,
    steps=10,
    *,
    vectorised: bool = False,
    batch_size: int | None = None,
    task: FitTask = SILENT,
) -> Result:
    """Evaluate a regular grid; `steps` is one number, or one per coordinate.

    Examples
    --------
    >>> from pansophy import optim
    >>> run = optim.grid_search(lambda x: x @ x, [(-1, 1), (-1, 1)], steps=(3, 5))
    >>> run.state.position + 0.0, run.state.evaluations
    (array([0., 0.]), 15)
    """
    points = _grid_points(where, steps)
    return _best_of_points(
        f, points, vectorised=vectorised, batch_size=batch_size, task=task
    )


def latin_hypercube(where, n: int, *, random_state=None):
    """Latin hypercube of n points: one in each of the n slices of every coordinate.

    `where` is a search space, or the number of coordinates of the unit cube.

    Examples
    --------
    >>> from pansophy import optim
    >>> P = optim.latin_hypercube(2, 5, random_state=0)
    >>> [sorted((P[:, j] * 5).astype(int).tolist()) for j in (0, 1)]
    [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]
    """
    rng = make_rng(random_state)
    d = where if isinstance(where, (int, np.integer)) else search_space(where).d
    order = np.argsort(rng.random((n, d)), axis=0)
    U = (order + rng.random((n, d))) / n
    return U if isinstance(where, (int, np.integer)) else search_space(where).points(U)


def random_search(
    f: Callable,
    where,
    n: int = 100,
    *,
    design: str = "random",
    vectorised: bool = False,
    batch_size: int | None = None,
    random_state=None,
    task: FitTask = SILENT,
) -> Result:
    """Evaluate n random points; `design` is "random" or "latin" (Latin hypercube).

    Examples
    --------
    >>> from pansophy import optim
    >>> run = optim.random_search(lambda x: x @ x, [(-1, 1)] * 2, 500, random_state=0)
    >>> bool(run.objective < 0.02)
    True
    """
    if design not in ("random", "latin"):
        raise ValueError(f"design must be 'random' or 'latin', got {design!r}.")
    rng = make_rng(random_state)
    space = search_space(where)
    if design == "latin":
        points = latin_hypercube(space, n, random_state=rng)
    else:
        points = space.points(rng.random((n, space.d)))
    return _best_of_points(
        f, points, vectorised=vectorised, batch_size=batch_size, task=task
    )


def _neighbours_of(where, step) -> Callable:
    """Function x -> neighbours, which differ in one coordinate by `step` or a value."""

    def around(x):
        for j in range(len(x)):
            part = None if where is None else where.parts[j]
            if part is not None and part.values is not None:
                position = part.values.index(x[j])
                near = (
                    (position - 1, position + 1)
                    if part.number
                    else range(len(part.values))
                )
                moves = [part.values[k] for k in near if 0 <= k < len(part.values)]
            else:
                moves = [x[j] - step, x[j] + step]
                if part is not None:
                    moves = [min(max(v, part.low), part.high) for v in moves]
            for v in moves:
                if v != x[j]:
                    new = x.copy()
                    new[j] = v
                    yield new

    return around


def local_search(
    f: Callable,
    x,
    neighbours: Callable[[Any], Iterable] | float = 1.0,
    *,
    where=None,
    max_iter: int = 10_000,
    task: FitTask = SILENT,
) -> Result:
    """Local search: move to the lowest neighbour until none is lower.

    `neighbours` is a function x -> points, or the length of a step along each
    coordinate. In a space `where` integers move to the next value, choices to any.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> run = optim.local_search(lambda x: (x[0] - 3) ** 2 + x[1] ** 2, np.zeros(2))
    >>> run.state.position, run.converged
    (array([3., 0.]), True)
    """
    space = None if where is None else search_space(where)
    neighbours_at = (
        neighbours if callable(neighbours) else _neighbours_of(space, neighbours)
    )
    if not callable(neighbours):
        x = np.array(x, dtype=float) if space is None or space.number else list(x)

    def step(s):
        best = s.position
        lowest = s.objective
        count = s.evaluations
        for new in neighbours_at(s.position):
            value = float(f(new))
            count += 1
            if value < lowest:
                best = new
                lowest = value
        return PointSearchState(best, lowest, count)

    change = lambda old, new: old.objective - new.objective
    start = PointSearchState(x, float(f(x)), 1)
    return iterate(step, start, max_iter=max_iter, tol=0.0, change=change, task=task)
