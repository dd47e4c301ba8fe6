"""Monte Carlo integration with standard errors and variance reduction.

For independent x_i ~ p,

    I = E_p f ~ mean f(x_i),   se = sd(f(x_i)) / sqrt(n)                         (1)

in any dimension. Over a box of volume V, int f = V E f under the uniform distribution.
Four ways to reduce the error:

    antithetic   pairs u and 1 - u, averaged: the variance of a pair mean is
                 (1 + rho)/2 of f's, less than half if f is monotone in u        (2)
    control      f - beta'(g - E g) with E g known; the best beta is the regression
                 of f on g, and the variance left is 1 - R^2                     (3)
    quasi        scrambled Sobol points fill the cube evenly; R independent scrambles
                 give R unbiased means, whose spread is the error, about n^-3/2  (4)
    importance   another distribution with weights, see `importance_sample`

With a tolerance the number of draws doubles until the half width of the confidence
interval is below it. If all n values are equal, (1) gives 0, which is too small: f may
have another value somewhere, with a probability up to

    -log(1 - confidence) / n,    3 / n for 95%,                                  (5)

so the half width is then (5) times the value (at least times V, for f = 0 or 1). Means
and sums of squares are merged over blocks, so that memory does not grow with n.

Shapes    f: (n, ...) -> (n,) or (n, c), c integrals at once
Refs      [MetropolisUlam1949]; [Owen1997] (4); [Glasserman2003] ch. 4
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from ...core.drivers.progress import run_with_progress
from ...core.random import make_rng
from ...params import check_count
from ..densities.distribution_interface import (
    UniformBox,
    as_distribution,
    draw_samples,
    unit_cube_map,
)

DRAWS_PER_BLOCK = 1 << 16  # draws at a time
N_SCRAMBLES = 16  # R of eq. (4)


class MonteCarloResult(NamedTuple):
    """A Monte Carlo estimate with its error."""

    value: np.ndarray | float  # I, () or (c,)
    se: np.ndarray | float  # standard error
    interval: tuple  # (low, high) confidence interval
    n: int  # evaluations of f
    confidence: float
    converged: bool  # whether `tol` was reached

    def __repr__(self):
        v, e = np.atleast_1d(self.value), np.atleast_1d(self.se)
        rows = ", ".join(f"{a:.6g} +- {b:.2g}" for a, b in zip(v, e, strict=True))
        return f"{rows} (n = {self.n})"


class RunningMoments(NamedTuple):
    """Count, mean and scatter of columns, which merge over blocks accurately."""

    n: int
    mean: np.ndarray  # (c,)
    scatter: np.ndarray  # (c, c)


def _moments_of_block(Y) -> RunningMoments:
    """Count, mean and scatter of the rows of a block."""
    mean = Y.mean(axis=0)
    E = Y - mean
    return RunningMoments(len(Y), mean, E.T @ E)


def _merge_moments(a, b) -> RunningMoments:
    """The moments of two blocks together."""
    if a is None:
        return b
    n = a.n + b.n
    gap = b.mean - a.mean
    scatter = a.scatter + b.scatter + (a.n * b.n / n) * np.outer(gap, gap)
    return RunningMoments(n, a.mean + (b.n / n) * gap, scatter)


def _control_variate_estimate(moments, c, centre):
    """Mean and standard error of c columns, with the others as controls (3)."""
    mean = moments.mean[:c]
    S = moments.scatter / max(moments.n - 1, 1)
    variance = np.diag(S)[:c].copy()
    dof = 0
    if len(moments.mean) > c:
        beta, _, dof, _ = np.linalg.lstsq(S[c:, c:], S[c:, :c], rcond=1e-12)
        mean = mean - (moments.mean[c:] - centre) @ beta
        variance -= np.einsum("ij,ij->j", beta, S[c:, :c])
    variance = np.maximum(variance, 0.0) * (moments.n - 1) / max(moments.n - 1 - dof, 1)
    return mean, np.sqrt(variance / moments.n)


def monte_carlo(
    f,
    distribution,
    n=10_000,
    *,
    method="plain",
    control=None,
    control_mean=None,
    tol=None,
    max_n=10**8,
    confidence=0.95,
    random_state=None,
    progress=False,
):
    """E f(x), or the integral of f over a box, with its standard error.

    Parameters
    ----------
    f : function
        Of n draws (n, ...), giving (n,) or (n, c).
    distribution : distribution, function or box
        What x is drawn from: a distribution, a frozen SciPy one or a function (rng, n);
        or a box [(low, high), ...], over which f is integrated.
    n : int
        Number of draws; with `tol`, of the first round.
    method : {"plain", "antithetic", "quasi"}
        The last two need a distribution that is a map of the unit cube: a box, a SciPy
        distribution with `ppf`, or a single `Normal`. "quasi" uses 16 scrambles of a
        power of two of points.
    control : function or None
        Control variates g of the draws, (n,) or (n, m).
    control_mean : float or array (m,)
        E g under the distribution, needed with `control`.
    tol : float or None
        Half width of the confidence interval to reach, by doubling n up to `max_n`.
    max_n : int
    confidence : float
    random_state : int, Generator, RandomState or None
    progress : bool

    Returns
    -------
    MonteCarlo
        value, se, interval, n.

    Examples
    --------
    A circle in a square, pi / 4 of it:

    >>> from pansophy.sampling import monte_carlo
    >>> inside = lambda x: (x**2).sum(axis=1) < 1
    >>> run = monte_carlo(inside, [(0, 1), (0, 1)], 100_000, random_state=0)
    >>> bool(abs(run.value - 0.785398) < 3 * run.se), round(float(run.se), 4)
    (True, 0.0013)
    """
    if method not in ("plain", "antithetic", "quasi"):
        raise ValueError(
            f"method must be 'plain', 'antithetic' or 'quasi', got {method!r}."
        )
    n = check_count("n", n, 2)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}.")
    if (control is None) != (control_mean is None):
        raise ValueError("control and control_mean go together.")
    distribution = as_distribution(distribution)
    rng = make_rng(random_state)
    volume = distribution.volume if isinstance(distribution, UniformBox) else 1.0
    parts = _integrand_columns(f, control, volume)
    draw_block = BLOCK_SAMPLERS[method](distribution, parts, rng)
    centre = np.atleast_1d(control_mean) if control is not None else None
    constant_bound = -np.log1p(-confidence) * np.array([1.0, volume])
    run_task = lambda task: _sample_until_tolerance(
        draw_block, int(n), tol, max_n, confidence, centre, constant_bound, task
    )
    from ..chains.driver import AnonymousSampler

    value, se, used, half, flat = run_with_progress(
        AnonymousSampler(), run_task, total=None, verbose=progress
    )
    converged = tol is None or bool(np.all(half <= tol))
    if not converged:
        warnings.warn(
            f"{used} calls of f leave an interval of +-{np.max(half):.3g}, wider than "
            f"tol={tol:g}; raise max_n.",
            RuntimeWarning,
            stacklevel=2,
        )
    as_result = (lambda a: float(a[0])) if flat else (lambda a: a)
    interval = as_result(value - half), as_result(value + half)
    return MonteCarloResult(
        as_result(value), as_result(se), interval, used, confidence, converged
    )


def _integrand_columns(f, control, volume):
    """A function of draws giving columns of f and of controls, and how many of f."""

    def parts(x):
        y = np.asarray(f(x), dtype=float)
        if y.ndim not in (1, 2) or len(y) != len(x):
            raise ValueError(
                f"f must give one value, or one row, a draw: ({len(x)},), got shape "
                f"{y.shape}."
            )
        flat = y.ndim == 1
        y = volume * y.reshape(len(x), -1)
        if not np.isfinite(y).all():
            i = int(np.argmax(~np.isfinite(y).all(axis=1)))
            raise ValueError(f"f is {y[i]} at {x[i]}.")
        c = y.shape[1]
        if control is not None:
            g = np.asarray(control(x), dtype=float).reshape(len(x), -1)
            y = np.column_stack([y, g])
        return y, c, flat

    return parts


def _sample_until_tolerance(
    draw_block, n, tol, max_n, confidence, centre, constant_bound, task
):
    """Draw until the tolerance is reached: value, se, calls, half width, is scalar.

    `constant_bound`: eq. (5) times n, for a value of 1 and its smallest scale.
    """
    total: Any = None
    used = 0
    goal = n
    c = 1
    flat = True
    while True:
        while used < goal:
            child = task.child(f"draw {used}")
            Y, c, flat, calls, replaces = draw_block(goal - used)
            total = (
                _moments_of_block(Y)
                if replaces
                else _merge_moments(total, _moments_of_block(Y))
            )
            used += calls
            if child.end():
                goal = used
                tol = None
        value, se = _control_variate_estimate(total, c, centre)
        half_width = se * stats.t.ppf(0.5 + confidence / 2, max(total.n - 1, 1))
        constant = np.diag(total.scatter)[:c] == 0.0
        constant_half = (
            np.maximum(constant_bound[0] * np.abs(value), constant_bound[1]) / used
        )
        half_width = np.where(constant, constant_half, half_width)
        if tol is None or np.all(half_width <= tol) or used >= max_n:
            return value, se, used, half_width, flat
        goal = min(2 * used, max_n)


def _independent_blocks(distribution, parts, rng):
    """A function that draws blocks of independent draws."""

    def block(want):
        size = min(want, DRAWS_PER_BLOCK)
        return *parts(draw_samples(distribution, size, rng)), size, False

    return block


def _require_cube_map(distribution, method):
    """The distribution as a map of the unit cube; raises if there is none."""
    map = unit_cube_map(distribution)
    if map is None:
        raise TypeError(
            f"method={method!r} needs a distribution that is a map of the unit cube: "
            "a box, a SciPy distribution with ppf, or one Normal."
        )
    return map


def _antithetic_blocks(distribution, parts, rng):
    """A function that draws blocks of means over pairs u and 1 - u, eq. (2)."""
    map = _require_cube_map(distribution, "antithetic")

    def block(want):
        pairs = max(min((want + 1) // 2, DRAWS_PER_BLOCK), 1)
        U = 1.0 - rng.random((pairs, map.d))  # never 0, whose quantile may be -inf
        U = np.minimum(U, 1 - 2**-53)
        y, c, flat = parts(np.concatenate([map.at(U), map.at(1 - U)]))
        return 0.5 * (y[:pairs] + y[pairs:]), c, flat, 2 * pairs, False

    return block


def _quasi_random_blocks(distribution, parts, rng):
    """A function that draws R means over scrambled Sobol points, eq. (4)."""
    from scipy.stats import qmc

    map = _require_cube_map(distribution, "quasi")

    def block(want):
        power = max(int(np.ceil(np.log2(want / N_SCRAMBLES))), 4)
        means = []
        for _ in range(N_SCRAMBLES):
            U = qmc.Sobol(map.d, scramble=True, rng=rng).random_base2(power)
            U = np.clip(U, 2.0**-60, 1 - 2**-53)
            y, c, flat = parts(map.at(U))
            means.append(y.mean(axis=0))
        return np.array(means), c, flat, N_SCRAMBLES << power, True

    return block


BLOCK_SAMPLERS = {
    "plain": _independent_blocks,
    "antithetic": _antithetic_blocks,
    "quasi": _quasi_random_blocks,
}
