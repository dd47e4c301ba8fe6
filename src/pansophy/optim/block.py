"""Block coordinate descent: minimise over one block at a time, the others held.

    x_j <- argmin_u f(x_1, ..., x_{j-1}, u, x_{j+1}, ..., x_m),     j = 1, ..., m   (1)

No half step can raise f if each update is right, so f settles; for smooth f with one
minimiser a block, at a stationary point. `alternate` takes the blocks as they are,
whatever they are (k-means: centres and labels; factorisation: rows and columns);
`block_descent` cuts a vector into index sets and needs only f.

Refs      [Tseng2001]
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.iterate import Result, iterate, relative_change
from ..core.progress import SILENT, FitTask

NOISE = 1e-10


class State(NamedTuple):
    position: Any  # the blocks, a tuple
    objective: float  # f
    halves: tuple[float, ...] = ()  # f after each update of the last round


def alternate(
    objective: Callable,
    updates: Sequence[Callable],
    blocks,
    *,
    max_iter: int = 100,
    tol: float = 1e-8,
    change: Callable = relative_change,
    task: FitTask = SILENT,
) -> Result:
    """Eq. (1) with the user's own block solvers, until a round changes little.

    `objective(*blocks)` is f and `updates[j](*blocks)` gives the new block j. An update
    that raises f beyond rounding raises ValueError: its formula is wrong.
    `history["half"]` has f at the start and after each single update.

    Examples
    --------
    >>> f = lambda a, b: (a - b) ** 2 + (b - 3) ** 2 + a**2
    >>> updates = [lambda a, b: b / 2, lambda a, b: (a + 3) / 2]
    >>> run = alternate(f, updates, (0.0, 0.0))
    >>> [round(u, 4) for u in run.state.position], round(run.objective, 6)
    ([1.0, 2.0], 3.0)
    """
    trace = []

    def step(s):
        held, halves = list(s.position), []
        before = s.objective
        for j, update in enumerate(updates):
            held[j] = update(*held)
            value = float(objective(*held))
            if value > before + NOISE * max(abs(before), 1.0):
                raise ValueError(
                    f"update {j} raised the objective from {before!r} to {value!r}; "
                    "it does not minimise over its block."
                )
            halves.append(value)
            before = value
        trace.extend(halves)
        return State(tuple(held), before, tuple(halves))

    start = State(tuple(blocks), float(objective(*blocks)))
    trace.append(start.objective)
    how = {"max_iter": max_iter, "tol": tol, "change": change, "task": task}
    run = iterate(step, start, **how)
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
    """Minimise f(x) -> (value, gradient) over index sets of x in turn.

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
    from .bfgs import bfgs

    solver = solver or bfgs
    x = np.array(x, dtype=float)
    sets = [np.array([j]) for j in range(len(x))] if blocks is None else blocks
    sets = [np.atleast_1d(np.asarray(b, dtype=int)) for b in sets]
    if sorted(np.concatenate(sets).tolist()) != list(range(len(x))):
        raise ValueError("blocks must hold every index of x exactly once.")

    def put(x, at, u):
        x = x.copy()
        x[at] = u
        return x

    def part(x, at):
        def g(u):
            value, slope = f(put(x, at, u))
            return value, slope[at]

        return g

    def step(s):
        x = s.position
        for at in sets:
            run = solver(part(x, at), x[at], max_iter=inner, tol=tol / 10)
            x = put(x, at, run.state.position)
        return State(x, float(f(x)[0]))

    slope = lambda old, new: float(np.abs(f(new.position)[1]).max())
    how = {"max_iter": max_iter, "tol": tol, "change": slope, "task": task}
    return iterate(step, State(x, float(f(x)[0])), **how)
