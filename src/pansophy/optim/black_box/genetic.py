"""Genetic algorithm: selection, crossover and mutation over a search space.

Each generation selects parents by tournaments of two, crosses pairs and mutates some
coordinates of the children:

    reals     b = p + r (q - p), r uniform in [-0.35, 1.35] per coordinate       (1)
              mutation: plus a Gaussian of the population's standard deviation
    others    the value of either parent; mutation: any other value              (2)

A coordinate mutates with probability 1 / d by default. Eq. (1) preserves the spread of
the parents on average, so only selection shrinks the population, and the search becomes
finer as it contracts. The best few (elite) are kept unchanged: the best value never
rises.

Refs      [Holland1975]; [Eshelman1993] eq. (1)
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT, FitTask
from ...core.random import make_rng
from ...params import check_count
from .point_search import latin_hypercube
from .search_space import (
    mutate_points,
    mutated_coordinates,
    reflect_into_cube,
    search_space,
    vectorized_objective,
)

BLEND = 0.35  # how far children may lie outside their parents, eq. (1)


class GeneticState(NamedTuple):
    """A generation and the best point so far."""

    position: Any  # the best point
    objective: float
    evaluations: int
    U: np.ndarray  # population in the unit cube, best first
    values: np.ndarray  # f there, ascending
    spread: float  # largest range over the population


def crossover(levels, P, Q, rng):
    """One child for each pair of parents, eqs (1) and (2)."""
    r = rng.uniform(-BLEND, 1 + BLEND, size=P.shape)
    blend = reflect_into_cube(P + r * (Q - P))
    return np.where(levels > 0, np.where(rng.random(P.shape) < 0.5, P, Q), blend)


def genetic_algorithm(
    f: Callable,
    where,
    x=None,
    *,
    population: int | None = None,
    elite: float = 0.1,
    mutation: float | None = None,
    max_iter: int = 500,
    tol: float = 1e-9,
    vectorised: bool = False,
    random_state=None,
    task: FitTask = SILENT,
) -> Result:
    """Minimise f over a search space by a genetic algorithm.

    The first generation is a Latin hypercube.

    Parameters
    ----------
    f : function of a point; of many points (n, d) if `vectorised`
    where : space
        List or dict of ranges and choices; see `optim.search_space`.
    x : point, optional
        A member of the first generation.
    population : int or None
        None: 40 + 4 per coordinate, at most 200.
    elite : float
        Share of each generation that is kept unchanged.
    mutation : float or None
        Probability that a coordinate of a child changes; None: 1 / d.
    max_iter : int
        Generations.
    tol : float
        Stop when the population spans at most this share of every range.
    vectorised : bool
    random_state : int, Generator or None
    task : Task

    Examples
    --------
    >>> from pansophy import optim
    >>> ones = lambda x: 20 - x.sum()
    >>> bits = [range(2)] * 20
    >>> run = optim.genetic_algorithm(ones, bits, random_state=0, max_iter=100)
    >>> run.objective
    0.0
    """
    rng = make_rng(random_state)
    space = search_space(where)
    values = vectorized_objective(f, space, vectorised)
    n = population or min(200, 40 + 4 * space.d)
    check_count("population", n, 2)
    if not 0 <= elite < 1:
        raise ValueError(f"elite must be in [0, 1), got {elite}.")
    kept = max(1, int(elite * n))
    rate = 1 / space.d if mutation is None else mutation
    levels = space.levels

    def step(s):
        a, b = rng.integers(n, size=(2, 2 * (n - kept))).reshape(2, 2, -1)
        # U is sorted by f: the smaller index wins the tournament
        P = s.U[np.minimum(a[0], a[1])]
        Q = s.U[np.minimum(b[0], b[1])]
        child = crossover(levels, P, Q, rng)
        change = rng.random(len(child)) < min(1.0, rate * space.d) / 2
        if change.any():
            spread = s.U.std(axis=0)
            changed_children = child[change]
            moves = mutated_coordinates(changed_children.shape, rate, rng)
            child[change] = mutate_points(levels, changed_children, spread, moves, rng)
        U = np.concatenate([s.U[:kept], child])
        v = np.concatenate([s.values[:kept], values(child)])
        return state(U, v, s.evaluations + len(child))

    def state(U, v, count):
        order = np.argsort(v, kind="stable")
        U = U[order]
        v = v[order]
        spread = float(np.ptp(U, axis=0).max())
        return GeneticState(space.point(U[0]), float(v[0]), count, U, v, spread)

    U = latin_hypercube(space.d, n, random_state=rng)
    if x is not None:
        U[0] = space.unit(x)
    return iterate(
        step,
        state(U, values(U), n),
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.spread,
        watch=("spread", "evaluations"),
        task=task,
    )
