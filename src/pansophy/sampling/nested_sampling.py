"""Nested sampling: the evidence as an integral over shrinking volumes of prior.

Let X(l) be the share of the prior where the likelihood is above l. Then

    Z = int L(x) p(x) dx = int_0^1 L(X) dX                                       (1)

an integral of one falling function. n live points are uniform in the prior above a
level L*. Taking out the lowest of m points shrinks the volume to a share t with the
law of the largest of m uniform numbers,

    E log t = -1/m,   Var log t = 1/m^2                                          (2)

Of n points the k lowest are taken out together, m = n, n-1, ..., n-k+1 one after the
other, and k new ones are drawn above the new level by k chains at once, which begin at
survivors, already uniform there. With k = n/4 the error is 8 % above that of k = 1 and
all calls of the likelihood come in batches. Points on a plateau of the likelihood go
together, since those left on it would not be above the level. Points taken out stand
for the volume between their neighbours,

    Z ~ sum_i L_i dX_i,  dX_i = (X_i-1 - X_i+1) / 2,  posterior p_i = L_i dX_i / Z (3)

and the live points at the end for what is left. Stop when they could add less than a
share `tol` to Z. log Z has the error sqrt(H / n) of the unknown volumes, H = sum p_i
log(L_i / Z) being the information gained; it is computed by drawing the t of (2) many
times, the likelihoods kept.

Cost      n H rounds / k of `moves` constrained moves, a few calls of L each
Shapes    u, x (n, d): points of the unit cube and their places in the prior
Refs      [Skilling2006]; [Henderson2014] k at a time; [Handley2015] slices;
          [Neal2003] windows that shrink; [Fowlie2021] plateaus
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base import Estimator
from ..core.iterate import iterate
from ..core.progress import watched
from ..core.random import rng_from
from ..core.weighted import effective_sample_size
from ..params import Count, Flag, OpenFraction, check_params
from .diagnostics import ChainSummary, diagnose
from .distribution_interface import as_distribution, unit_cube_map
from .driver import warn_not_finished
from .resampling import resample, softmax_weights
from .smc import nan_to_minus_inf, particle_covariance
from .target_density import LogProb, as_target_density, ensure_values

N_VOLUME_SIMULATIONS = 200  # of volumes, for the error
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
        self.live, self.root = live, np.linalg.cholesky(particle_covariance(live))
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
        root = np.linalg.cholesky(particle_covariance(s.u)) / np.sqrt(d)
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


class NestedState(NamedTuple):
    """What a round hands to the next."""

    objective: float  # log of the evidence that may be left, relative to Z
    u: np.ndarray  # live points in the unit cube
    x: np.ndarray  # and in the prior
    log_like: np.ndarray
    log_x: float  # volume
    log_z: float  # evidence of the points taken out
    scale: float
    calls: int


@dataclass(eq=False, repr=False)
class NestedResult:
    """What `NestedSampling.run` gives.

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
        H, in nats: how much the posterior is narrower than the prior.
    ess : float
        Effective number of posterior draws.
    calls : int
        Calls of the likelihood.
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
        """Equally weighted draws of the posterior, as many as they are worth."""
        n = max(int(self.ess), 1) if n is None else n
        rng = rng_from(random_state)
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
    """m of eq. (2) for each of k points taken out of n."""
    return np.arange(n, n - k, -1)


def log_volume_widths(log_x):
    """log dX_i of falling volumes (..., N), eq. (3): they sum to one exactly.

    Bounds between points lie half way, the first at X = 1 and the last at X = 0.
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


def evidence_std_error(log_like, m, rng):
    """Standard deviation of log Z over draws of the volumes, eq. (2)."""
    log_t = -rng.standard_exponential((N_VOLUME_SIMULATIONS, len(m))) / m
    terms = log_like + log_volume_widths(np.cumsum(log_t, axis=1))
    return float(np.std(np.logaddexp.reduce(terms, axis=1), ddof=1))


@dataclass(eq=False, repr=False)
class NestedSampling(Estimator):
    """Nested sampling of an evidence and a posterior.

    Parameters
    ----------
    log_likelihood : function or density
        log L, as `target` takes it: of one position or of all at once.
    prior : law or function
        A box [(low, high), ...], a `Normal`, a frozen SciPy law with `ppf`; or a
        function from the unit cube (n, d) to positions (n, d), with `dim` given.
    dim : int or None
        Dimension, needed where the prior is a function.
    n_live : int
    batch : int or None
        k, points taken out together; None is a quarter of them.
    moves : {"slice", "walk"}
        How new points are found: slices along directions of the live points, or a
        random walk shaped like them.
    n_moves : int or None
        Moves of a chain for a new point; None is 5 + 2 d slices or 20 + 10 d steps.
    tol : float
        Share of the evidence that may be left in the live points.
    batched : bool or None
        Whether log_likelihood takes many positions at once. None finds out.

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
        """Shrink the prior to the peaks of the likelihood.

        Parameters
        ----------
        random_state : int, Generator, RandomState or None
        max_rounds : int
        progress : bool
        """
        check_params(self)
        rng = rng_from(random_state)
        d, at = self.map_of_cube()
        n = max(self.n_live, 2 * d + 2)
        k = min(self.batch or max(n // 4, 1), n // 2)
        u = rng.random((n, d))
        density = as_target_density(self.log_likelihood, None, self.batched)
        within = LikelihoodOnCube(
            ensure_values(density, np.reshape(at(u), (n, -1))), at
        )
        x, L = within.value(u)
        if np.all(-np.inf == L):
            raise ValueError("log_likelihood is -inf at every point of the prior.")
        move = CONSTRAINED_MOVES[self.moves](within, d, self.n_moves)
        dead: list = []
        step = lambda s: self.round(s, k, move, dead, rng)
        start = NestedState(np.inf, u, x, L, 0.0, -np.inf, 1.0, n)
        goal = np.log(self.tol)
        left = lambda old, new: 0.0 if new.objective < goal else 1.0
        how = {"max_iter": max_rounds, "tol": 0.0, "change": left}
        go = lambda task: iterate(step, start, task=task, watch=("log_z",), **how)
        result = watched(self, go, total=None, verbose=progress)
        warn_not_finished(
            result.reason, "max_rounds", "live points still hold evidence"
        )
        return self.collected(result, dead[: result.n_iter], rng)

    def map_of_cube(self):
        """Dimension of the prior and its map from the unit cube."""
        prior = self.prior
        if callable(prior) and not hasattr(prior, "ppf"):
            if self.dim is None:
                raise ValueError("dim is needed where prior is a function.")
            return self.dim, prior
        law = as_distribution(prior)
        map = unit_cube_map(law)
        if map is None:
            raise TypeError(
                "prior must be a box, a Normal, a SciPy law with ppf, or a function "
                "of the unit cube."
            )
        if self.dim not in (None, map.d):
            raise ValueError(f"dim is {self.dim}, but the prior has {map.d}.")
        return map.d, map.at

    def round(self, s, k, move, dead, rng) -> NestedState:
        """Take out the k lowest and draw k new ones above them, eq. (2)."""
        n = len(s.u)
        order = np.argsort(s.log_like, kind="stable")
        level = s.log_like[order[k - 1]]
        k = int((s.log_like <= level).sum())  # a plateau is taken out whole
        if k == n:  # a flat top: nothing lies above
            return s._replace(objective=-1e300)
        low, high = order[:k], order[k:]
        share = 1.0 / shrinkage_counts(n, k)
        log_x = s.log_x - np.cumsum(share)
        terms = s.log_like[low] + log_x + np.log(np.expm1(share))  # X_i-1 - X_i
        log_z = np.logaddexp(s.log_z, np.logaddexp.reduce(terms))
        begin = rng.choice(high, k, replace=k > len(high))
        scale, (u, x, L), calls = move(rng, s, begin, level)
        u, x, L = (
            np.concatenate([old[high], new])
            for old, new in zip((s.u, s.x, s.log_like), (u, x, L), strict=True)
        )
        rest = L.max() + log_x[-1]
        left = min(float(rest - np.logaddexp(log_z, rest)), 1e300)
        dead.append((s.x[low], s.log_like[low]))
        return NestedState(
            left, u, x, L, float(log_x[-1]), log_z, scale, s.calls + calls
        )

    def collected(self, result, dead, rng) -> NestedResult:
        """All points with their volumes, those still alive at the end."""
        s = result.state
        n = len(s.u)
        order = np.argsort(s.log_like, kind="stable")
        dead = [block for block in dead if len(block[0])]
        x = np.concatenate([*(block[0] for block in dead), s.x[order]])
        L = np.concatenate([*(block[1] for block in dead), s.log_like[order]])
        sizes = [len(block[0]) for block in dead]
        m = np.concatenate(
            [*(shrinkage_counts(n, k) for k in sizes), shrinkage_counts(n, n)]
        )
        log_x = -np.cumsum(1.0 / m)
        log_z, p, H = evidence_of_points(L, log_x)
        error = evidence_std_error(L, m, rng)
        return NestedResult(
            x, p, L, log_x, float(log_z), error, H, s.calls, result.reason,
            result.seconds,
        )  # fmt: skip
