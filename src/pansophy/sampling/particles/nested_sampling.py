"""Nested sampling: the evidence as an integral over shrinking prior volumes.

Let X(l) be the prior probability that the likelihood is above l. Then

    Z = int L(x) p(x) dx = int_0^1 L(X) dX                                       (1)

an integral of one decreasing function. n live points are uniform in the prior above a
level L*. Removing the lowest of m points shrinks the volume by a factor t distributed
as the largest of m uniform numbers,

    E log t = -1/m,   Var log t = 1/m^2                                          (2)

Of n points the k lowest are removed together, m = n, n-1, ..., n-k+1, and k new ones
are drawn above the new level by k chains, which start at surviving points. With k = n/4
the error is 8 % above that of k = 1 and all evaluations of the likelihood come in
batches. Points on a plateau of the likelihood are removed together, since those left on
it would not be above the level. Removed points represent the volume between their
neighbours,

    Z ~ sum_i L_i dX_i,  dX_i = (X_i-1 - X_i+1) / 2,  posterior p_i = L_i dX_i / Z (3)

and the live points at the end the rest. The run stops when the live points could add
less than a share `tol` to Z. log Z has the error sqrt(H / n) of the unknown volumes,
with H = sum p_i log(L_i / Z) the information gained; it is computed by simulating the t
of (2) with the likelihoods fixed.

New points are found by Markov chains in the unit cube, which the prior maps to x:

    slice   along a line through u in direction v: a window of fixed length, placed at
            random around u, shrinks towards u until a point above the level is met (4)
    walk    u + s N(0, C), accepted if above the level                               (5)

Directions and C come from the live points: half of the lines follow the difference of
two live points, which adapts to separate modes, half are normal with their covariance.
The window is twice sqrt(d + 2) wide in units of that covariance; (4) is correct for any
window, as its position is random.

Cost      n H rounds / k of `n_moves` constrained moves, a few evaluations of L each
Shapes    u, x (n, d): points of the unit cube and their positions in the prior
Refs      [Skilling2006]; [Henderson2014] k at a time; [Handley2015] slices;
          [Neal2003] shrinking windows; [Fowlie2021] plateaus
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ...base import Estimator
from ...core.arrays.weighted import effective_sample_size
from ...core.drivers.iterate import iterate
from ...core.drivers.progress import run_with_progress
from ...core.random import make_rng
from ...params import Count, Flag, OpenFraction, check_params
from ..chains.diagnostics import ChainSummary, diagnose
from ..chains.driver import warn_not_finished
from ..densities.distribution_interface import as_distribution, unit_cube_map
from ..densities.target_density import LogProb, as_target_density, ensure_values
from .resampling import resample, softmax_weights
from .smc import nan_to_minus_inf, particle_covariance

N_VOLUME_SIMULATIONS = 200  # for the error of the evidence
MAX_SHRINKS = 100


class LikelihoodOnCube(NamedTuple):
    """The likelihood as a function on the unit cube."""

    density: Any
    at: Callable

    def value(self, u):
        """Positions in the prior and their log likelihood."""
        x = np.asarray(self.at(u), dtype=float).reshape(len(u), -1)
        return x, nan_to_minus_inf(self.density.value(x))


def _in_unit_cube(u):
    """Mask of the points that are inside the unit cube."""
    return np.all((u > 0) & (u < 1), axis=1)


def _points_above_level(within, u, level):
    """Points above the level: indices, positions, likelihoods; evaluations made."""
    in_cube = _in_unit_cube(u)
    if not in_cube.any():
        return np.empty(0, np.intp), 0.0, 0.0, 0
    x, L = within.value(u[in_cube])
    is_above = level < L
    hits = np.flatnonzero(in_cube)[is_above]
    return hits, x[is_above], L[is_above], int(in_cube.sum())


class ConstrainedSlice:
    """Slice moves, eq. (4); chains start their next slice at once to fill batches."""

    def __init__(self, within, d, n_moves):
        self.within = within
        self.n_moves = n_moves or 5 + 2 * d
        self.width = 2.0 * np.sqrt(d + 2.0)

    def __call__(self, rng, s, start_index, level):
        lines = SliceDirections(s.u)
        u = s.u[start_index]
        x = s.x[start_index]
        L = s.log_like[start_index]
        k = len(u)
        calls = 0
        v = lines(rng, k)
        left = -self.width * rng.random(k)
        right = left + self.width
        n_shrinks = np.zeros(k, int)
        n_done = np.zeros(k, int)
        active = np.arange(k)
        while active.size:
            lower = left[active]
            t = lower + (right[active] - lower) * rng.random(len(active))
            y = u[active] + t[:, None] * v[active]
            hits, y_x, y_L, n_calls = _points_above_level(self.within, y, level)
            calls += n_calls
            is_rejected = np.ones(len(active), dtype=bool)
            is_rejected[hits] = False
            finished = active[hits]
            u[finished] = y[hits]
            x[finished] = y_x
            L[finished] = y_L
            rejected, t = active[is_rejected], t[is_rejected]
            left[rejected] = np.where(t < 0, t, left[rejected])
            right[rejected] = np.where(t < 0, right[rejected], t)
            n_shrinks[rejected] += 1
            # a window that has shrunk to nothing keeps its point
            finished = np.concatenate(
                [finished, rejected[n_shrinks[rejected] > MAX_SHRINKS]]
            )
            n_done[finished] += 1
            n_shrinks[finished] = 0
            v[finished] = lines(rng, len(finished))
            left[finished] = -self.width * rng.random(len(finished))
            right[finished] = left[finished] + self.width
            if finished.size and (n_done[finished] >= self.n_moves).any():
                active = np.flatnonzero(n_done < self.n_moves)
        return s.scale, (u, x, L), calls


class SliceDirections:
    """Random directions of unit length in the metric of the live points."""

    def __init__(self, live):
        self.live = live
        self.root = np.linalg.cholesky(particle_covariance(live))
        self.round = np.linalg.solve(self.root, live.T).T  # whitened

    def __call__(self, rng, k):
        z = rng.standard_normal((k, self.live.shape[1]))
        a, b = rng.integers(len(self.live), size=(2, k))
        pair = (rng.random(k) < 0.5) & (a != b)
        z[pair] = self.round[a[pair]] - self.round[b[pair]]
        v = z @ self.root.T
        return v / np.maximum(np.sqrt((z * z).sum(axis=1)), 1e-300)[:, None]


class ConstrainedWalk:
    """Random walk moves, eq. (5)."""

    def __init__(self, within, d, n_moves):
        self.within = within
        self.n_moves = n_moves or 20 + 10 * d

    def __call__(self, rng, s, start_index, level):
        d = s.u.shape[1]
        root = np.linalg.cholesky(particle_covariance(s.u)) / np.sqrt(d)
        u = s.u[start_index]
        x = s.x[start_index]
        L = s.log_like[start_index]
        scale = s.scale
        calls = 0
        for i in range(1, self.n_moves + 1):
            y = u + scale * rng.standard_normal(u.shape) @ root.T
            hits, y_x, y_L, n_calls = _points_above_level(self.within, y, level)
            u[hits] = y[hits]
            x[hits] = y_x
            L[hits] = y_L
            calls += n_calls
            # the scale adapts early in a round and is then nearly fixed
            scale *= np.exp((len(hits) / len(u) - 0.3) / i)
        return float(np.clip(scale, 1e-6, 10.0)), (u, x, L), calls


CONSTRAINED_MOVES = {"slice": ConstrainedSlice, "walk": ConstrainedWalk}


class NestedState(NamedTuple):
    """State of the live points."""

    objective: float  # log of the share of the evidence in the live points
    u: np.ndarray  # live points in the unit cube
    x: np.ndarray  # and in the prior
    log_like: np.ndarray
    log_x: float  # volume
    log_z: float  # evidence of the removed points
    scale: float
    calls: int


@dataclass(eq=False, repr=False)
class NestedResult:
    """Result of `NestedSampling.run`.

    Attributes
    ----------
    positions : ndarray of shape (N, d)
        All points, in order of likelihood.
    weights : ndarray of shape (N,)
        Posterior weights, which sum to one.
    log_like : ndarray of shape (N,)
    log_volume : ndarray of shape (N,)
        log X of each point.
    log_evidence, error : float
        log Z and its standard error.
    information : float
        H in nats: the information gained from prior to posterior.
    ess : float
        Effective sample size of the posterior weights.
    calls : int
        Number of evaluations of the likelihood.
    """

    positions: np.ndarray
    weights: np.ndarray
    log_like: np.ndarray
    log_volume: np.ndarray
    log_evidence: float
    error: float
    information: float
    calls: int
    reason: str
    seconds: float

    @property
    def ess(self) -> float:
        return effective_sample_size(self.weights)

    def resample(self, n=None, random_state=None):
        """Equally weighted draws of the posterior; by default as many as the ESS."""
        n = max(int(self.ess), 1) if n is None else n
        rng = make_rng(random_state)
        index = resample(self.weights, n, random_state=rng)
        return self.positions[rng.permutation(index)]

    def summary(self) -> ChainSummary:
        """Moments and quantiles of equally weighted draws."""
        return diagnose(self.resample(random_state=0)[None])

    def __repr__(self):
        return (
            f"log evidence {self.log_evidence:.3f} +- {self.error:.3f}, information "
            f"{self.information:.2f} nats, {len(self.weights)} points worth "
            f"{self.ess:.0f}, {self.calls} calls, {self.seconds:.1f} s\n"
            + self.summary().table(10)
        )


def shrinkage_counts(n, k):
    """m of eq. (2) for each of k points removed from n."""
    return np.arange(n, n - k, -1)


def log_volume_widths(log_x):
    """log dX_i of falling volumes (..., N), eq. (3): they sum to one exactly.

    Bounds lie half way between points, the first at X = 1 and the last at X = 0.
    """
    ends = (*log_x.shape[:-1], 1)
    half = np.logaddexp(log_x[..., :-1], log_x[..., 1:]) - np.log(2.0)
    upper = np.concatenate([np.zeros(ends), half], axis=-1)
    lower = np.concatenate([half, np.full(ends, -np.inf)], axis=-1)
    return upper + np.log(-np.expm1(np.minimum(lower - upper, -1e-300)))


def evidence_of_points(log_like, log_x):
    """log Z, weights and information of points in order of likelihood, eq. (3)."""
    terms = log_like + log_volume_widths(log_x)
    p, log_mean = softmax_weights(terms)
    log_z = log_mean + np.log(len(terms))
    used = p > 0
    return log_z, p, float(p[used] @ (log_like[used] - log_z))


def _evidence_std_error(log_like, m, rng):
    """Standard deviation of log Z over simulated volumes, eq. (2)."""
    log_t = -rng.standard_exponential((N_VOLUME_SIMULATIONS, len(m))) / m
    terms = log_like + log_volume_widths(np.cumsum(log_t, axis=1))
    return float(np.std(np.logaddexp.reduce(terms, axis=1), ddof=1))


@dataclass(eq=False, repr=False)
class NestedSampling(Estimator):
    """Nested sampling: the evidence and draws of the posterior.

    Parameters
    ----------
    log_likelihood : function or density
        log L, as `as_target_density` takes it: of one position or of all at once.
    prior : distribution or function
        A box [(low, high), ...], a `Normal`, a frozen SciPy distribution with `ppf`; or
        a function from the unit cube (n, d) to positions (n, d), with `dim` given.
    dim : int or None
        Dimension, needed where the prior is a function.
    n_live : int
    batch : int or None
        k, number of points removed together; None is a quarter of them.
    moves : {"slice", "walk"}
        How new points are found: slices along directions of the live points, or a
        random walk with their covariance.
    n_moves : int or None
        Moves of a chain for a new point; None is 5 + 2 d slices or 20 + 10 d steps.
    tol : float
        Share of the evidence that may remain in the live points.
    batched : bool or None
        Whether log_likelihood takes many positions at once; None detects it.

    Examples
    --------
    A normal likelihood in a wide box: Z = 1 / volume.

    >>> import numpy as np
    >>> from pansophy.distributions import Normal
    >>> from pansophy.sampling import NestedSampling
    >>> hill = Normal(np.zeros(2), np.eye(2))
    >>> run = NestedSampling(hill.log_prob, [(-10, 10)] * 2).run(0)
    >>> bool(abs(run.log_evidence + np.log(400)) < 3 * run.error)
    True
    """

    log_likelihood: LogProb
    prior: Any
    _: KW_ONLY
    dim: Count | None = None
    n_live: Count = 500
    batch: Count | None = None
    moves: Literal["slice", "walk"] = "slice"
    n_moves: Count | None = None
    tol: OpenFraction = 0.01
    batched: Flag | None = None

    def run(
        self, random_state=None, *, max_rounds=10_000, progress=False
    ) -> NestedResult:
        """Run until the live points hold less than `tol` of the evidence.

        Parameters
        ----------
        random_state : int, Generator, RandomState or None
        max_rounds : int
        progress : bool
        """
        check_params(self)
        rng = make_rng(random_state)
        d, map_point = self.map_of_cube()
        n = max(self.n_live, 2 * d + 2)
        k = min(self.batch or max(n // 4, 1), n // 2)
        u = rng.random((n, d))
        density = as_target_density(self.log_likelihood, None, self.batched)
        density_on_cube = LikelihoodOnCube(
            ensure_values(density, np.reshape(map_point(u), (n, -1))), map_point
        )
        x, L = density_on_cube.value(u)
        if np.all(-np.inf == L):
            raise ValueError("log_likelihood is -inf at every point of the prior.")
        move = CONSTRAINED_MOVES[self.moves](density_on_cube, d, self.n_moves)
        removed: list = []
        step = lambda s: self.round(s, k, move, removed, rng)
        start = NestedState(np.inf, u, x, L, 0.0, -np.inf, 1.0, n)
        goal = np.log(self.tol)
        change = lambda old, new: 0.0 if new.objective < goal else 1.0
        run_task = lambda task: iterate(
            step,
            start,
            max_iter=max_rounds,
            tol=0.0,
            change=change,
            watch=("log_z",),
            task=task,
        )
        result = run_with_progress(self, run_task, total=None, verbose=progress)
        warn_not_finished(
            result.reason, "max_rounds", "live points still hold evidence"
        )
        return self.collect_result(result, removed[: result.n_iter], rng)

    def map_of_cube(self):
        """Dimension of the prior and its map from the unit cube."""
        prior = self.prior
        if callable(prior) and not hasattr(prior, "ppf"):
            if self.dim is None:
                raise ValueError("dim is needed where prior is a function.")
            return self.dim, prior
        map = unit_cube_map(as_distribution(prior))
        if map is None:
            raise TypeError(
                "prior must be a box, a Normal, a SciPy distribution with ppf, or a "
                "function of the unit cube."
            )
        if self.dim not in (None, map.d):
            raise ValueError(f"dim is {self.dim}, but the prior has {map.d}.")
        return map.d, map.at

    def round(self, s, k, move, removed, rng) -> NestedState:
        """Remove the k lowest points and draw k new ones above them, eq. (2)."""
        n = len(s.u)
        order = np.argsort(s.log_like, kind="stable")
        level = s.log_like[order[k - 1]]
        k = int((s.log_like <= level).sum())  # a plateau is removed as a whole
        if k == n:  # all points are on the highest plateau
            return s._replace(objective=-1e300)
        low, high = order[:k], order[k:]
        share = 1.0 / shrinkage_counts(n, k)
        log_x = s.log_x - np.cumsum(share)
        terms = s.log_like[low] + log_x + np.log(np.expm1(share))  # X_i-1 - X_i
        log_z = np.logaddexp(s.log_z, np.logaddexp.reduce(terms))
        start_index = rng.choice(high, k, replace=k > len(high))
        scale, (u, x, L), calls = move(rng, s, start_index, level)
        u, x, L = (
            np.concatenate([old[high], new])
            for old, new in zip((s.u, s.x, s.log_like), (u, x, L), strict=True)
        )
        log_rest = L.max() + log_x[-1]
        log_remaining = min(float(log_rest - np.logaddexp(log_z, log_rest)), 1e300)
        removed.append((s.x[low], s.log_like[low]))
        return NestedState(
            log_remaining, u, x, L, float(log_x[-1]), log_z, scale, s.calls + calls
        )

    def collect_result(self, result, removed, rng) -> NestedResult:
        """All points with their volumes, the live ones at the end."""
        s = result.state
        n = len(s.u)
        order = np.argsort(s.log_like, kind="stable")
        removed = [block for block in removed if len(block[0])]
        x = np.concatenate([*(block[0] for block in removed), s.x[order]])
        L = np.concatenate([*(block[1] for block in removed), s.log_like[order]])
        sizes = [len(block[0]) for block in removed]
        m = np.concatenate(
            [*(shrinkage_counts(n, k) for k in sizes), shrinkage_counts(n, n)]
        )
        log_x = -np.cumsum(1.0 / m)
        log_z, p, H = evidence_of_points(L, log_x)
        error = _evidence_std_error(L, m, rng)
        return NestedResult(
            x,
            p,
            L,
            log_x,
            float(log_z),
            error,
            H,
            s.calls,
            result.reason,
            result.seconds,
        )
