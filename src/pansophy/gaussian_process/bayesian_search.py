"""Bayesian search: minimises a costly function with a Gaussian process as its model.

The first points are a Latin hypercube. Then a process is fitted to all values so far,
and the next point is where the improvement over the best value y* is expected to be
largest:

    EI(x) = E[max(y* - f(x), 0)] = (y* - m) Phi(z) + s phi(z),   z = (y* - m) / s  (1)

with the mean m and standard deviation s of f(x). EI is looked at on random points of
the space and on points near the best one, and then near its own maximum. Points are
compared in the unit cube (`optim.search_space`): logarithmic ranges by their logarithm,
choices by the middle of their cell. A value that is not finite counts as the worst
finite one, so that a failed trial is a bad trial. Of the values that are far above the
median the model sees only that they are bad (`clip_bad_values`): a few that explode
would hide the differences between the good ones.

Worth it where one evaluation takes longer than a fit of the process (n^3).

Refs      [Jones1998]
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from ..core.drivers.iterate import Result, iterate
from ..core.drivers.progress import SILENT, FitTask
from ..core.loops import threads
from ..core.random import make_rng
from ..kernels import Constant, Matern, White
from ..optim.black_box.point_search import latin_hypercube
from ..optim.black_box.search_space import search_space
from ..params import check_count
from .gaussian_process_regressor import GaussianProcessRegressor

CANDIDATES = 1000
OUTLYING = 6.0  # times the gap of the median above the best: what counts as bad
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
    start = latin_hypercube(space.d, min(first, n), random_state=rng)
    start = cell_middles(space.levels, start)

    def step(s):
        i = len(s.values)
        if i < len(start):
            u = start[i]
        else:
            u = propose_point(space.levels, s.U, s.values, rng)
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


def cell_middles(levels, U):
    """Coordinates of choices (`levels` of them) moved to the middle of their cell."""
    cells = np.maximum(levels, 1)
    middles = (np.minimum(np.floor(U * cells), cells - 1) + 0.5) / cells
    return np.where(levels > 0, middles, U)


def clip_bad_values(y):
    """Values as the model sees them: at most OUTLYING times the median's gap above it.

    What is not finite becomes the largest finite value.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.gaussian_process.bayesian_search import clip_bad_values
    >>> clip_bad_values(np.array([1.0, 2.0, 3.0, 1e9, np.inf]))
    array([ 1. ,  2. ,  3. , 11.5, 11.5])
    """
    finite = y[np.isfinite(y)]
    middle = float(np.median(finite))
    gap = middle - float(finite.min())
    highest = middle + OUTLYING * gap if gap > 0 else float(finite.max())
    return np.minimum(np.where(np.isfinite(y), y, finite.max()), highest)


def propose_point(levels, U, values, rng):
    """The point of the unit cube with the largest expected improvement.

    Parameters
    ----------
    levels : array of int, shape (d,)
        Number of values of each coordinate, 0 for a range of reals.
    U : array of shape (n, d)
        Points evaluated so far.
    values : array of shape (n,)
        Of the function there; what is not finite is a failed trial.
    rng : Generator

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.gaussian_process.bayesian_search import propose_point
    >>> U = np.array([[0.0], [0.3], [0.6], [1.0]])
    >>> rng = np.random.default_rng(0)
    >>> u = propose_point(np.zeros(1), U, (U[:, 0] - 0.45) ** 2, rng)
    >>> bool(0.35 < u[0] < 0.55)
    True
    """
    with threads.single_blas():  # matrices of a few dozen rows
        return _most_promising_point(levels, U, np.asarray(values, dtype=float), rng)


def _most_promising_point(levels, U, values, rng):
    """`propose_point`, whatever the number of threads."""
    d = len(levels)
    if not np.isfinite(values).any():
        return cell_middles(levels, rng.random((1, d)))[0]
    y = clip_bad_values(values)
    kernel = Constant(1.0) * Matern(np.full(d, 0.5), nu=2.5) + White(1e-4)
    model = GaussianProcessRegressor(kernel, normalize_y=True, prior=1.0).fit(U, y)

    def improvement(points):
        mean, std = model.predict(points, return_std=True, noise=False)
        gain = expected_improvement(mean, std, y.min())
        tried = (np.abs(points[:, None, :] - U[None, :, :]) < 1e-12).all(axis=2)
        return np.where(tried.any(axis=1), -1.0, gain)

    def near(u, sd):
        return np.clip(u + sd * rng.standard_normal((CANDIDATES // 4, d)), 0, 1)

    best = U[np.argmin(y)]
    points = np.vstack([rng.random((CANDIDATES, d)), *(near(best, sd) for sd in NEAR)])
    points = cell_middles(levels, points)
    gain = improvement(points)
    for sd in NEAR:
        extra_points = cell_middles(levels, near(points[np.argmax(gain)], sd))
        points = np.vstack([points, extra_points])
        gain = np.append(gain, improvement(extra_points))
    return points[np.argmax(gain)]
