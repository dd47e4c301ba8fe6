"""Bayesian search: minimises a costly function with a Gaussian process as its model.

The first points are a Latin hypercube. Then a process is fitted to all values so far,
and the next point is where the improvement over the best value y* is expected to be
largest:

    EI(x) = E[max(y* - f(x), 0)] = (y* - m) Phi(z) + s phi(z),   z = (y* - m) / s  (1)

with the mean m and standard deviation s of f(x). EI is looked at on random points of
the space and on points near the best one, and then near its own maximum. Points are
compared in the unit cube (`optim.search_space`): logarithmic ranges by their logarithm,
choices by the middle of their cell. A value that is not finite counts as the worst
finite one, so that a failed trial is a bad trial.

Worth it where one evaluation takes longer than a fit of the process (n^3).

Refs      [Jones1998]
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from ..core.iterate import Result, iterate
from ..core.progress import SILENT, FitTask
from ..core.random import make_rng
from ..kernels import Constant, Matern, White
from ..optim.point_search import latin_hypercube
from ..optim.search_space import search_space
from ..params import check_count
from .gaussian_process_regressor import GaussianProcessRegressor

CANDIDATES = 1000
NEAR = (0.1, 0.02, 0.004)  # standard deviations of points near the best


class BayesianSearchState(NamedTuple):
    """The best point so far, and all points evaluated."""

    position: Any
    objective: float
    points: list
    values: np.ndarray
    U: np.ndarray  # the points in the unit cube


def expected_improvement(mean, std, best):
    """Eq. (1), elementwise.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.gaussian_process import expected_improvement
    >>> expected_improvement(np.array([0.0, 1.0]), np.array([1.0, 0.0]), 0.0).round(6)
    array([0.398942, 0.      ])
    """
    gain = best - np.asarray(mean, float)
    std = np.asarray(std, float)
    safe = np.where(std > 0, std, 1.0)
    z = gain / safe
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    return np.where(std > 0, gain * ndtr(z) + safe * density, np.maximum(gain, 0.0))


def bayesian_search(
    f: Callable,
    where,
    n: int = 30,
    *,
    n_start: int | None = None,
    random_state=None,
    task: FitTask = SILENT,
) -> Result:
    """Minimise f over a search space in n evaluations.

    Parameters
    ----------
    f : callable
        Of a point as the space gives it: an array, a list or a dict.
    where : list or dict
        As `optim.search_space` takes it.
    n : int, default=30
        Evaluations.
    n_start : int, optional
        Of these, the first ones without a model; None is 2 d + 2.
    random_state : int, Generator or None
    task : FitTask, optional

    Returns
    -------
    Result
        `state.position` and `state.objective` are the best, `state.points` and
        `state.values` all that were tried.

    Examples
    --------
    >>> from pansophy.gaussian_process import bayesian_search
    >>> bowl = lambda x: (x[0] - 0.3) ** 2 + (x[1] + 0.5) ** 2
    >>> run = bayesian_search(bowl, [(-1.0, 1.0), (-1.0, 1.0)], 20, random_state=0)
    >>> bool(run.state.objective < 0.01)
    True
    """
    n = check_count("n", n)
    space = search_space(where)
    first = 2 * space.d + 2 if n_start is None else check_count("n_start", n_start)
    rng = make_rng(random_state)
    start = cell_middles(
        space, latin_hypercube(space.d, min(first, n), random_state=rng)
    )

    def step(s):
        i = len(s.values)
        u = start[i] if i < len(start) else next_trial(space, s, rng)
        point = space.point(u)
        value = float(f(point))
        points = [*s.points, point]
        values = np.append(s.values, value if np.isfinite(value) else np.inf)
        best = int(np.argmin(values))
        # iterate stops at what is not finite: a failed first trial has the worst value
        lowest = min(float(values[best]), np.finfo(float).max)
        return BayesianSearchState(
            points[best], lowest, points, values, np.vstack([s.U, u])
        )

    empty = BayesianSearchState(None, np.inf, [], np.empty(0), np.empty((0, space.d)))
    run = iterate(
        step, empty, max_iter=n, tol=0.0, change=lambda old, new: 1.0, task=task
    )
    complete = run.reason == "max_iter"
    return run._replace(reason="tolerance" if complete else run.reason)


def cell_middles(space, U):
    """Coordinates of choices moved to the middle of their cell."""
    levels = space.levels
    cells = np.maximum(levels, 1)
    middles = (np.minimum(np.floor(U * cells), cells - 1) + 0.5) / cells
    return np.where(levels > 0, middles, U)


def next_trial(space, s, rng):
    """The point of the unit cube with the largest expected improvement."""
    finite = np.isfinite(s.values)
    if not finite.any():
        return cell_middles(space, rng.random((1, space.d)))[0]
    y = np.where(finite, s.values, s.values[finite].max())
    kernel = Constant(1.0) * Matern(np.full(space.d, 0.5), nu=2.5) + White(1e-4)
    model = GaussianProcessRegressor(kernel, normalize_y=True, prior=1.0).fit(s.U, y)

    def improvement(U):
        mean, std = model.predict(U, return_std=True, noise=False)
        gain = expected_improvement(mean, std, y.min())
        tried = (np.abs(U[:, None, :] - s.U[None, :, :]) < 1e-12).all(axis=2)
        return np.where(tried.any(axis=1), -1.0, gain)

    def near(u, sd):
        return np.clip(u + sd * rng.standard_normal((CANDIDATES // 4, space.d)), 0, 1)

    best = s.U[np.argmin(y)]
    U = np.vstack([rng.random((CANDIDATES, space.d)), *(near(best, sd) for sd in NEAR)])
    U = cell_middles(space, U)
    gain = improvement(U)
    for sd in NEAR:
        more = cell_middles(space, near(U[np.argmax(gain)], sd))
        U = np.vstack([U, more])
        gain = np.append(gain, improvement(more))
    return U[np.argmax(gain)]
