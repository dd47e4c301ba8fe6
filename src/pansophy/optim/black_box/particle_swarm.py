"""Particle swarm optimisation over a search space.

    v <- w v + c r1 (p - x) + c r2 (q - x),     x <- x + v                       (1)

with p the best point of the particle itself, q the best point of its neighbourhood, and
r1 and r2 uniform in [0, 1], drawn anew for every coordinate. w = 0.7298 and c = 1.4962
are the constriction coefficients under which velocities decay. The neighbourhood is the
whole swarm for half the particles, and two neighbours on a ring for the others, which
explore for longer. A particle that would leave the unit cube stops at its boundary.

Refs      [Kennedy1995] [Clerc2002]
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT, FitTask
from ...core.random import make_rng
from ...params import check_count
from .point_search import latin_hypercube
from .search_space import INSIDE, search_space, vectorized_objective

W = 0.7298
C = 1.4962


class ParticleSwarmState(NamedTuple):
    """The swarm and the best point so far."""

    position: Any  # the best point
    objective: float
    evaluations: int
    U: np.ndarray  # x of the particles, in the unit cube
    V: np.ndarray  # v
    P: np.ndarray  # p
    values: np.ndarray  # f at p
    spread: float  # largest range of p over the particles


def particle_swarm(
    f: Callable,
    where,
    x=None,
    *,
    n_particles: int | None = None,
    max_iter: int = 1000,
    tol: float = 1e-9,
    vectorised: bool = False,
    random_state=None,
    task: FitTask = SILENT,
) -> Result:
    """Minimise f over a search space by a particle swarm.

    Particles start on a Latin hypercube.

    Parameters
    ----------
    f : function of a point; of many points (n, d) if `vectorised`
    where : space
        List or dict of ranges and choices; see `optim.search_space`.
    x : point, optional
        Where the first particle starts.
    n_particles : int or None
        At least 2. None: 20 + 3 per coordinate, at most 100.
    max_iter : int
    tol : float
        Stop when the particles' best points span at most this share of every range.
    vectorised : bool
    random_state : int, Generator or None
    task : Task

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> f = lambda X: np.sum((X - 1) ** 2, axis=1)
    >>> run = optim.particle_swarm(f, [(-5, 5)] * 3, vectorised=True, random_state=0)
    >>> run.state.position.round(6), str(run.reason)
    (array([1., 1., 1.]), 'tolerance')
    """
    rng = make_rng(random_state)
    space = search_space(where)
    values = vectorized_objective(f, space, vectorised)
    n = min(100, 20 + 3 * space.d) if n_particles is None else n_particles
    check_count("n_particles", n, 2)  # one alone would span no range and stop at once
    U = latin_hypercube(space.d, n, random_state=rng)
    if x is not None:
        U[0] = space.unit(x)
    ring = (np.arange(n)[:, None] + np.array([-1, 0, 1])) % n
    is_global = np.arange(n) % 2 == 0

    def step(s):
        best = s.P[np.argmin(s.values)]
        ring_best = s.P[ring[np.arange(n), np.argmin(s.values[ring], axis=1)]]
        Q = np.where(is_global[:, None], best, ring_best)
        r1, r2 = rng.random((2, n, space.d))
        V = W * s.V + C * r1 * (s.P - s.U) + C * r2 * (Q - s.U)
        U = s.U + V
        is_outside = (U < 0) | (U > INSIDE)
        U = np.clip(U, 0.0, INSIDE)
        V = np.where(is_outside, 0.0, V)
        v = values(U)
        better = v < s.values
        P = np.where(better[:, None], U, s.P)
        return state(U, V, P, np.where(better, v, s.values), s.evaluations + n)

    def state(U, V, P, v, count):
        k = int(np.argmin(v))
        spread = float(np.ptp(P, axis=0).max())
        return ParticleSwarmState(
            space.point(P[k]), float(v[k]), count, U, V, P, v, spread
        )

    start = state(U, (rng.random((n, space.d)) - U) / 2, U, values(U), n)
    return iterate(
        step,
        start,
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.spread,
        watch=("spread", "evaluations"),
        task=task,
    )
