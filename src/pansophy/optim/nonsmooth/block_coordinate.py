"""Block coordinate descent: minimise over one block at a time, the others held.

    x_j <- argmin_u f(x_1, ..., x_{j-1}, u, x_{j+1}, ..., x_m),     j = 1, ..., m   (1)

No update can raise f if each minimises over its block, so f converges; for smooth f
with a unique minimiser in each block, the limit is a stationary point.
`alternating_minimization` takes blocks of any kind (k-means: centres and labels;
factorisation: rows and columns); `block_descent` splits a vector into index sets and
needs only f.

Refs      [Tseng2001]
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.drivers.iterate import Result, iterate, relative_change
from ...core.drivers.progress import SILENT, FitTask

NOISE = 1e-10  # relative increase of f that counts as rounding


class BlockCoordinateState(NamedTuple):
    """Blocks and objective after an iteration."""

    position: Any  # the blocks, a tuple
    objective: float  # f
    halves: tuple[float, ...] = ()  # f after each update of the last iteration


def alternating_minimization(
    objective: Callable,
    updates: Sequence[Callable],
    blocks,
    *,
    max_iter: int = 100,
    tol: float = 1e-8,
    change: Callable = relative_change,
    task: FitTask = SILENT,
) -> Result:
    """Block coordinate descent with block solvers of the user, eq. (1).

    `objective(*blocks)` is f and `updates[j](*blocks)` returns the new block j. An
    update that raises f beyond rounding raises ValueError: its formula is wrong.
    `history["half"]` has f at the start and after each single update.

    Examples
    --------
    >>> f = lambda a, b: (a - b) ** 2 + (b - 3) ** 2 + a**2
    >>> updates = [lambda a, b: b / 2, lambda a, b: (a + 3) / 2]
    >>> run = alternating_minimization(f, updates, (0.0, 0.0))
    >>> [round(u, 4) for u in run.state.position], round(run.objective, 6)
    ([1.0, 2.0], 3.0)
    """
    trace = []

    def step(s):
        current = list(s.position)
        halves = []
        last_value = s.objective
        for j, update in enumerate(updates):
            current[j] = update(*current)
            value = float(objective(*current))
            if value > last_value + NOISE * max(abs(last_value), 1.0):
                raise ValueError(
                    f"update {j} raised the objective from {last_value!r} to "
                    f"{value!r}; it does not minimise over its block."
                )
            halves.append(value)
            last_value = value
        trace.extend(halves)
        return BlockCoordinateState(tuple(current), last_value, tuple(halves))

    start = BlockCoordinateState(tuple(blocks), float(objective(*blocks)))
    trace.append(start.objective)
    run = iterate(step, start, max_iter=max_iter, tol=tol, change=change, task=task)
    return run._replace(history=run.history | {"half": np.asarray(trace)})


def block_descent(
    f: Callable,
    x,
    blocks=None,
    *,
    solver: Callable | None = None,
    max_iter: int = 1000,
    tol: float = 1e-6,
    inner: int = 50,
    task: FitTask = SILENT,
) -> Result:
    """Block coordinate descent of f(x) -> (value, gradient) over index sets of x.

    `blocks` is a list of index arrays; None takes coordinates one at a time. `solver(f,
    x, max_iter=, tol=)` minimises over one block; BFGS if None. Stops when max |g_j|
    <= tol.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> H = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    >>> f = lambda x: (x @ H @ x / 2 - x.sum(), H @ x - 1)
    >>> run = optim.block_descent(f, np.zeros(3), [[0, 1], [2]])
    >>> run.converged, run.state.position.round(5) + 0.0
    (True, array([0.5, 0. , 0.5]))
    """
    from ..smooth.bfgs import bfgs

    solver = solver or bfgs
    x = np.array(x, dtype=float)
    sets = [np.array([j]) for j in range(len(x))] if blocks is None else blocks
    sets = [np.atleast_1d(np.asarray(b, dtype=int)) for b in sets]
    if sorted(np.concatenate(sets).tolist()) != list(range(len(x))):
        raise ValueError("blocks must hold every index of x exactly once.")

    def replaced(x, index, u):
        x = x.copy()
        x[index] = u
        return x

    def restricted(x, index):
        def g(u):
            value, gradient = f(replaced(x, index, u))
            return value, gradient[index]

        return g

    def step(s):
        x = s.position
        for index in sets:
            run = solver(restricted(x, index), x[index], max_iter=inner, tol=tol / 10)
            x = replaced(x, index, run.state.position)
        return BlockCoordinateState(x, float(f(x)[0]))

    slope = lambda old, new: float(np.abs(f(new.position)[1]).max())
    start = BlockCoordinateState(x, float(f(x)[0]))
    return iterate(step, start, max_iter=max_iter, tol=tol, change=slope, task=task)
