"""Simulated annealing over a search space.

At temperature T a proposal y from the current point x is accepted with probability

    min(1, exp(-(f(y) - f(x)) / T))                                              (1)

This is the Metropolis rule for the density exp(-f / T); for T -> 0 it is greedy search.
The decision is made by `core.drivers.metropolis`, which the Markov chains of `sampling`
use too. In an iteration each chain makes `moves` proposals at one temperature; then T
decreases. The size of proposals adapts to the acceptance rate (longer above 0.4,
shorter below), so that a run ends with a fine local search. Several chains may run in
parallel; a vectorised f evaluates them together.

Refs      [Kirkpatrick1983] eq. (1); [Corana1987] the size of proposals
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.drivers.iterate import Result, iterate
from ...core.drivers.metropolis import acceptance_threshold, is_accepted
from ...core.drivers.progress import SILENT, FitTask
from ...core.random import make_rng
from .search_space import (
    mutate_points,
    mutated_coordinates,
    reflect_into_cube,
    search_space,
    vectorized_objective,
)

GOAL = 0.4  # acceptance rate that the size of proposals adapts to
UP = np.exp(0.1 * (1 - GOAL))  # in balance with DOWN at that rate
DOWN = np.exp(-0.1 * GOAL)
LEAST = 1e-8  # proposals shorter than this end a run


class AnnealingState(NamedTuple):
    """The chains and the best point so far."""

    position: Any  # the best point
    objective: float
    evaluations: int
    U: np.ndarray  # where the chains are, in the unit cube
    values: np.ndarray  # f there
    scale: np.ndarray  # size of proposals, per chain
    round: int  # iterations so far
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
    """Minimise f over a search space by simulated annealing, from x or a random point.

    Parameters
    ----------
    f : function of a point; of many points (n, d) if `vectorised`
    where : space
        List or dict of ranges and choices; see `optim.search_space`.
    x : point, optional
        Start of the first chain.
    temperature : float, schedule or None
        T of the first iteration, multiplied by `cooling` after each; or a function of
        the iteration. None is the standard deviation of f over random points; 0 is
        greedy.
    cooling : float
        Factor on the temperature per iteration.
    moves : int or None
        Proposals per chain and iteration; None: 20 per coordinate, at least 50.
    n_chains : int
    max_iter : int
        Temperatures.
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
    rng = make_rng(random_state)
    space = search_space(where)
    values = vectorized_objective(f, space, vectorised)
    moves = moves or max(50, 20 * space.d)
    U = rng.random((n_chains, space.d))
    if x is not None:
        U[0] = space.unit(x)
    v = values(U)
    evaluations = n_chains
    if temperature is None:
        pilot = values(rng.random((20, space.d)))
        pilot = pilot[np.isfinite(pilot)]
        temperature = float(np.std(pilot)) if len(pilot) else 1.0
        evaluations += 20
    first = temperature
    temperature_at = first if callable(first) else lambda t: first * cooling**t
    levels = space.levels
    any_real = bool(np.any(levels == 0))
    any_discrete = bool(levels.any())

    def step(s):
        T = float(temperature_at(s.round))
        U = s.U.copy()
        v = s.values.copy()
        scale = s.scale.copy()
        best_u = None
        best = s.objective
        shape = (moves, *U.shape)
        # a proposal changes one coordinate of any kind, or all real ones
        rate = rng.integers(2, size=(moves, 1, 1)) * (levels == 0)
        change = mutated_coordinates(shape, rate, rng)
        # only proposals of real coordinates adapt the scale
        adapts = ~np.any(change & (levels > 0), axis=-1)
        allowance = acceptance_threshold(T, (moves, len(U)), rng)
        lengths = np.exp(rng.standard_normal((moves, len(U), 1)))
        offsets = np.where(change, lengths, 0.0)
        if not any_discrete:
            offsets *= rng.standard_normal(shape)
        for i in range(moves):
            move = scale[:, None] * offsets[i]
            if any_discrete:
                V = mutate_points(levels, U, move, change[i], rng)
            else:
                V = reflect_into_cube(U + move)
            w = values(V)
            accepted = is_accepted(-w, -v, allowance[i])  # eq. (1)
            U[accepted] = V[accepted]
            v[accepted] = w[accepted]
            factor = np.where(accepted, UP, DOWN)
            if any_discrete:
                factor = factor ** adapts[i]
            scale = np.minimum(scale * factor, 1.0)
            k = int(np.argmin(w))
            if w[k] < best:
                best_u = V[k].copy()
                best = float(w[k])
        position = s.position if best_u is None else space.point(best_u)
        count = s.evaluations + moves * len(U)
        return AnnealingState(position, best, count, U, v, scale, s.round + 1, T)

    k = int(np.argmin(v))
    scale = np.full(n_chains, 0.3)
    start = AnnealingState(
        space.point(U[k]), float(v[k]), evaluations, U, v, scale, 0, 0.0
    )
    return iterate(
        step,
        start,
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: float(new.scale.max()) if any_real else np.inf,
        watch=("temperature", "evaluations"),
        task=task,
    )
