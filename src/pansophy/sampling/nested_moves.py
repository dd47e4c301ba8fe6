"""New points above a level of likelihood: many chains at once in the unit cube.

The chains begin at live points, which are uniform above the level already, and have
only to forget where they began.

    slice   along a line through u in direction v: a window of fixed length, placed at
            random around u, shrinks towards u until a point above the level is met (1)
    walk    u + s N(0, C), kept if above the level                                   (2)

Directions and C come from the live points: half of the lines follow the difference of
two of them, which knows the shape of separate modes and the ways between them, half are
normal with their covariance. The window is as wide as a ball of that covariance, twice
sqrt(d + 2); no widening is needed for (1) to be right, as its place is random.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .smc_moves import nan_to_minus_inf, shrunk_covariance

MAX_SHRINKS = 100


class LikelihoodOnCube(NamedTuple):
    """The likelihood on the unit cube."""

    density: Any
    at: Callable

    def value(self, u):
        """Places in the prior and their log likelihood."""
        x = np.asarray(self.at(u), dtype=float).reshape(len(u), -1)
        return x, nan_to_minus_inf(self.density.value(x))


def in_unit_cube(u):
    return np.all((u > 0) & (u < 1), axis=1)


def points_above_level(within, u, level):
    """Places and likelihoods of the points in the cube, and who is above the level."""
    ok = in_unit_cube(u)
    if not ok.any():
        return np.empty(0, np.intp), 0.0, 0.0, 0
    x, L = within.value(u[ok])
    good = level < L
    above = np.flatnonzero(ok)[good]
    return above, x[good], L[good], int(ok.sum())


class ConstrainedSlice:
    """Eq. (1); a chain begins its next slice at once, so that batches stay full."""

    def __init__(self, within, d, n_moves):
        self.within, self.n_moves = within, n_moves or 5 + 2 * d
        self.width = 2.0 * np.sqrt(d + 2.0)

    def __call__(self, rng, s, begin, level):
        lines = SliceDirections(s.u)
        u, x, L = s.u[begin], s.x[begin], s.log_like[begin]
        k, calls = len(u), 0
        v, left = lines(rng, k), -self.width * rng.random(k)
        right, tries, done = left + self.width, np.zeros(k, int), np.zeros(k, int)
        todo = np.arange(k)
        while todo.size:
            low = left[todo]
            t = low + (right[todo] - low) * rng.random(len(todo))
            y = u[todo] + t[:, None] * v[todo]
            above, y_x, y_L, made = points_above_level(self.within, y, level)
            calls += made
            below = np.ones(len(todo), dtype=bool)
            below[above] = False
            met = todo[above]
            u[met], x[met], L[met] = y[above], y_x, y_L
            shrunk, t = todo[below], t[below]
            left[shrunk] = np.where(t < 0, t, left[shrunk])
            right[shrunk] = np.where(t < 0, right[shrunk], t)
            tries[shrunk] += 1
            # a window shrunk to nothing ends where it began
            met = np.concatenate([met, shrunk[tries[shrunk] > MAX_SHRINKS]])
            done[met] += 1
            tries[met] = 0
            v[met] = lines(rng, len(met))
            left[met] = -self.width * rng.random(len(met))
            right[met] = left[met] + self.width
            if met.size and (done[met] >= self.n_moves).any():
                todo = np.flatnonzero(done < self.n_moves)
        return s.scale, (u, x, L), calls


class SliceDirections:
    """Directions of length one in units of the live points' spread."""

    def __init__(self, live):
        self.live, self.root = live, np.linalg.cholesky(shrunk_covariance(live))
        self.round = np.linalg.solve(self.root, live.T).T  # spread one everywhere

    def __call__(self, rng, k):
        z = rng.standard_normal((k, self.live.shape[1]))
        a, b = rng.integers(len(self.live), size=(2, k))
        pair = (rng.random(k) < 0.5) & (a != b)
        z[pair] = self.round[a[pair]] - self.round[b[pair]]
        v = z @ self.root.T
        return v / np.maximum(np.sqrt((z * z).sum(axis=1)), 1e-300)[:, None]


class ConstrainedWalk:
    """Eq. (2)."""

    def __init__(self, within, d, n_moves):
        self.within, self.n_moves = within, n_moves or 20 + 10 * d

    def __call__(self, rng, s, begin, level):
        d = s.u.shape[1]
        root = np.linalg.cholesky(shrunk_covariance(s.u)) / np.sqrt(d)
        u, x, L = s.u[begin], s.x[begin], s.log_like[begin]
        scale, calls = s.scale, 0
        for i in range(1, self.n_moves + 1):
            y = u + scale * rng.standard_normal(u.shape) @ root.T
            above, y_x, y_L, made = points_above_level(self.within, y, level)
            u[above], x[above], L[above] = y[above], y_x, y_L
            calls += made
            # the scale is settled early in a round, then nearly fixed
            scale *= np.exp((len(above) / len(u) - 0.3) / i)
        return float(np.clip(scale, 1e-6, 10.0)), (u, x, L), calls


CONSTRAINED_MOVES = {"slice": ConstrainedSlice, "walk": ConstrainedWalk}
