"""Simulated annealing: accept what is worse now and then, less and less often.

At temperature T a proposal y of the present point x is taken with probability

    min(1, exp(-(f(y) - f(x)) / T))                                              (1)

which for T -> 0 takes what is not worse: greedy search. It is the rule of Metropolis
for the density exp(-f / T), and the part that decides is the one that chains of
`sampling` use, `core.metropolis`. T falls from round to round;
the size of the proposals follows how often they are taken (longer above 0.4, shorter
below), so that the end of a run is a fine local search. Several chains may run side by
side, evaluated together when f is vectorised. In a round each chain makes `moves`
proposals.

Refs      [Kirkpatrick1983] eq. (1); [Corana1987] the size of proposals
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.iterate import Result, iterate
from ..core.metropolis import acceptance_threshold, is_accepted
from ..core.progress import SILENT, FitTask
from ..core.random import make_rng
from .space import changes, evaluator, mutate, reflect, space

GOAL = 0.4  # share of proposals taken
UP, DOWN = np.exp(0.1 * (1 - GOAL)), np.exp(-0.1 * GOAL)  # in balance at GOAL
LEAST = 1e-8  # proposals shorter than this end a run


class State(NamedTuple):
    position: Any  # the best point
    objective: float
    evaluations: int
    U: np.ndarray  # where the chains are, in the unit cube
    values: np.ndarray  # f there
    scale: np.ndarray  # size of proposals, per chain
    round: int
    temperature: float  # T


def simulated_annealing(
    f: Callable,
    where,
    x=None,
    *,
    temperature=None,
    cooling: float = 0.85,
    moves: int | None = None,
    n_chains: int = 1,
    max_iter: int = 200,
    tol: float = LEAST,
    vectorised: bool = False,
    random_state=None,
    task: FitTask = SILENT,
) -> Result:
    """Minimise f over a space by annealing, from x or a random point.

    Parameters
    ----------
    f : function of a point; of many points (n, d) if `vectorised`
    where : space
        List or dict of ranges and choices; see `optim.space`.
    x : point, optional
        Start of the first chain.
    temperature : float, schedule or None
        T of the first round, multiplied by `cooling` after each; or a function of the
        round. None takes the spread of f over a few random points; 0 is greedy.
    cooling : float
        Factor on the temperature per round.
    moves : int or None
        Proposals per chain and round; None: 20 per coordinate, at least 50.
    n_chains : int
    max_iter : int
        Rounds.
    tol : float
        Stop when proposals are shorter than this share of every range (spaces of reals
        only).
    vectorised : bool
    random_state : int, Generator or None
    task : Task

    Examples
    --------
    >>> from pansophy import optim
    >>> f = lambda x: (x[0] - 1) ** 2 + (x[1] + 2) ** 2
    >>> run = optim.simulated_annealing(f, [(-5, 5)] * 2, random_state=0)
    >>> run.state.position.round(5)
    array([ 1., -2.])
    """
    rng, where = make_rng(random_state), space(where)
    values = evaluator(f, where, vectorised)
    moves = moves or max(50, 20 * where.d)
    U = rng.random((n_chains, where.d))
    if x is not None:
        U[0] = where.unit(x)
    v = values(U)
    spent = n_chains
    if temperature is None:
        few = values(rng.random((20, where.d)))
        spread = float(np.std(few[np.isfinite(few)])) if np.isfinite(few).any() else 1.0
        temperature, spent = spread, spent + 20
    first = temperature
    heat = first if callable(first) else lambda t: first * cooling**t
    levels = where.levels
    reals, whole = bool(np.any(levels == 0)), bool(levels.any())

    def step(s):
        T = float(heat(s.round))
        U, v, scale = s.U.copy(), s.values.copy(), s.scale.copy()
        u, best = None, s.objective
        shape = (moves, *U.shape)
        # one coordinate of any kind, or all that are real
        rate = rng.integers(2, size=(moves, 1, 1)) * (levels == 0)
        change = changes(shape, rate, rng)
        sized = ~np.any(change & (levels > 0), axis=-1)  # those that teach the scale
        room = acceptance_threshold(T, (moves, len(U)), rng)
        far = np.where(change, np.exp(rng.standard_normal((moves, len(U), 1))), 0.0)
        if not whole:
            far *= rng.standard_normal(shape)
        for i in range(moves):
            if whole:
                V = mutate(levels, U, scale[:, None] * far[i], change[i], rng)
            else:
                V = reflect(U + scale[:, None] * far[i])
            w = values(V)
            taken = is_accepted(-w, -v, room[i])  # eq. (1)
            U[taken], v[taken] = V[taken], w[taken]
            pace = np.where(taken, UP, DOWN)
            scale = np.minimum(scale * (pace if not whole else pace ** sized[i]), 1.0)
            k = int(np.argmin(w))
            if w[k] < best:
                u, best = V[k].copy(), float(w[k])
        where_best = s.position if u is None else where.point(u)
        count = s.evaluations + moves * len(U)
        return State(where_best, best, count, U, v, scale, s.round + 1, T)

    k = int(np.argmin(v))
    scale = np.full(n_chains, 0.3)
    start = State(where.point(U[k]), float(v[k]), spent, U, v, scale, 0, 0.0)
    size = lambda old, new: float(new.scale.max()) if reals else np.inf
    watch = ("temperature", "evaluations")
    how = {"max_iter": max_iter, "tol": tol, "change": size, "watch": watch}
    return iterate(step, start, task=task, **how)
