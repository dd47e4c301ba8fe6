"""Particle filter: the belief in any hidden chain as a cloud of weighted particles.

    z_t ~ p(z_t | z_t-1),    x_t ~ p(x_t | z_t)                                   (1)

The belief is m particles z^i with weights W^i. A step is

    resample  when the effective size 1 / sum W^2 falls below a share of m        (2)
    predict   z_t^i ~ q(z_t | z_t-1^i, x_t), by default p(z_t | z_t-1^i)          (3)
    update    w^i = W^i p(x_t | z^i) p(z^i | z_t-1^i) / q(z^i | z_t-1^i, x_t)     (4)
              log p(x_t | x_1..t-1) ~ log sum_i w^i,    W = w / sum w

The product of the sums in (4) is an unbiased estimate of p(x_1..n). With the density of
(1) at hand, the weights of the same particles given the whole series are

    V_t^i = W_t^i sum_j V_t+1^j p_ij / sum_l W_t^l p_lj                           (5)

with p_ij = p(z_t+1^j | z_t^i), which is the reverse step of `core.chains.filtering`.

Cost      O(m) calls of vectorised functions a step; (5) O(m^2)
Shapes    particles (m, k)   weights (m,)   X (n, p)
Refs      [Gordon1993]; [Doucet2000] (4), (5); `sampling.particles.resampling` for (2)
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ...base import Estimator
from ...core.arrays.ragged import stack_sequences
from ...core.arrays.weighted import effective_sample_size, weighted_quantile
from ...core.chains.filtering import bayes_filter, bayes_smoother
from ...core.random import make_rng, spawn_rngs
from ...params import Count, Fraction, check_count, check_params
from ...sampling.particles.resampling import resample, softmax_weights
from ...typing import Seed
from ..forecast import Beliefs, check_interval_level


class ParticleCloud(NamedTuple):
    """Weighted particles, and where they came from."""

    particles: np.ndarray  # (m, k)
    weights: np.ndarray  # (m,), summing to 1
    before: Any = None  # (m, k), each one's particle of the step before
    t: int = 0

    @property
    def mean(self):
        return self.weights @ self.particles

    @property
    def cov(self):
        E = self.particles - self.mean
        return (E * self.weights[:, None]).T @ E


class ParticleBeliefs(Beliefs):
    """Beliefs with the clouds behind them, and their effective sizes (n,)."""

    clouds: list
    sizes: np.ndarray

    def __new__(cls, clouds, loglik):
        means = np.array([c.mean for c in clouds])
        covs = [c.cov for c in clouds]
        self = super().__new__(cls, means, np.array(covs), loglik=loglik)
        self.clouds = clouds
        self.sizes = np.array([effective_sample_size(c.weights) for c in clouds])
        return self

    def __getnewargs__(self):
        return self.clouds, self.loglik

    def interval(self, level=0.95):
        """Bounds (n, k) that hold each coordinate with this probability."""
        check_interval_level(level)
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def quantile(self, q):
        """Weighted quantiles of each coordinate at every step: (n, k)."""
        return np.array(
            [weighted_quantile(c.particles, c.weights, q) for c in self.clouds]
        )


def _observed_cloud(observe, cloud, rng) -> ParticleCloud:
    """Predicted observations of the particles of a cloud, with their weights."""
    x = np.asarray(observe(rng, cloud.particles, cloud.t), dtype=float)
    m = len(cloud.weights)
    if x.ndim not in (1, 2) or len(x) != m:
        raise ValueError(f"observe must draw {m} rows, got shape {x.shape}.")
    return ParticleCloud(x.reshape(m, -1), cloud.weights, None, cloud.t)


class ImportanceSampler(NamedTuple):
    """The member of `core.chains.filtering`, eq. (2) to (5)."""

    move: Callable  # (rng, z (m, k), t) -> (m, k)
    log_likelihood: Callable  # (x, z (m, k), t) -> (m,)
    log_transition: Any  # (z' (m, k), z (m, k), t) -> (m,), or None
    propose: Any  # (rng, z (m, k), x, t) -> z', log p(z'|z) - log q, or None
    scheme: str
    threshold: float
    rng: np.random.Generator

    def resampled(self, cloud):
        """Eq. (2)."""
        m = len(cloud.weights)
        if effective_sample_size(cloud.weights) >= self.threshold * m:
            return cloud
        chosen = resample(cloud.weights, m, self.scheme, self.rng)
        return cloud._replace(
            particles=cloud.particles[chosen], weights=np.full(m, 1 / m)
        )

    def predict(self, belief):
        old = self.resampled(belief)
        t = belief.t + 1
        new = self._states(self.move(self.rng, old.particles, t), old.particles, t)
        return ParticleCloud(new, old.weights, old.particles, t)

    def update(self, belief, x):
        z, W, previous, t = belief
        bonus = 0.0
        if self.propose is not None and previous is not None:
            z, bonus = self.propose(self.rng, previous, x, t)
            z = self._states(z, previous, t)
        log_w = np.asarray(self.log_likelihood(x, z, t), dtype=float)
        if log_w.shape != (len(z),):
            raise ValueError(
                f"log_likelihood must give {len(z)} numbers, got shape {log_w.shape}."
            )
        with np.errstate(divide="ignore"):
            log_w = np.log(W) + log_w + bonus
        try:
            weights, log_mean = softmax_weights(
                np.where(np.isnan(log_w), -np.inf, log_w)
            )
        except ValueError as error:
            raise ValueError(
                f"no particle can have given row {t} of X: take more particles, more "
                "noise, or a proposal that looks at X."
            ) from error
        return ParticleCloud(z, weights, previous, t), log_mean + np.log(len(z))

    def reverse(self, filtered, predicted, smoothed):
        z, W = filtered.particles, filtered.weights
        new = smoothed.particles
        m = len(new)
        log_p = np.empty((len(z), m))
        for i in range(len(z)):
            log_p[i] = self.log_transition(
                new, np.repeat(z[i : i + 1], m, 0), filtered.t
            )
        P = np.exp(log_p - log_p.max(axis=0))
        predicted_weight = W @ P
        ratio = np.where(
            predicted_weight > 0,
            smoothed.weights / np.maximum(predicted_weight, 1e-300),
            0.0,
        )
        back = W * (P @ ratio)
        return ParticleCloud(z, back / back.sum(), filtered.before, filtered.t)

    @staticmethod
    def _states(new, old, t):
        new = np.asarray(new, dtype=float)
        if new.shape != old.shape:
            raise ValueError(
                f"particles must keep the shape {old.shape}, got {new.shape} at "
                f"step {t}."
            )
        return new


@dataclass(eq=False, repr=False)
class ParticleFilter(Estimator):
    """Filter for chains of any form by sequential importance sampling.

    Parameters
    ----------
    transition : function (rng, z, t) -> z'
        Draws next states (m, k) for particles (m, k); t counts the rows of X from 0.
    log_likelihood : function (x, z, t) -> array of shape (m,)
        log p(x | z) of a row x (p,) for every particle; x may hold NaN.
    initial : function (rng, m) -> array of shape (m, k)
        Draws first states.
    log_transition : function (z', z, t) -> array of shape (m,), optional
        log p(z' | z) of pairs, for `smooth`.
    proposal : function (rng, z, x, t) -> z', log_ratio, optional
        Draws next states that look at the row x, with log p(z' | z) - log q(z' | z, x).
    n_particles : int, default=1000
    resampling : {"systematic", "stratified", "residual", "multinomial"}
    threshold : float, default=0.5
        Resample when the effective number falls below this share of the particles;
        1 resamples at every step.
    random_state : int, RandomState, Generator or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.state_space import ParticleFilter
    >>> model = ParticleFilter(
    ...     lambda rng, z, t: z + rng.normal(size=z.shape),
    ...     lambda x, z, t: -0.5 * (x - z[:, 0]) ** 2,
    ...     lambda rng, m: rng.normal(size=(m, 1)), random_state=0)
    >>> model.filter([0.5, 1.0, 2.0]).means.ravel().round(1)
    array([0.2, 0.7, 1.5])
    """

    transition: Callable
    log_likelihood: Callable
    initial: Callable
    _: KW_ONLY
    log_transition: Callable | None = None
    proposal: Callable | None = None
    n_particles: Count = 1000
    resampling: Literal["systematic", "stratified", "residual", "multinomial"] = (
        "systematic"
    )
    threshold: Fraction = 0.5
    random_state: Seed = None

    def _run(self, X, lengths, smooth):
        check_params(self)
        X, ends = stack_sequences(X, lengths)
        rng = make_rng(self.random_state)
        member = ImportanceSampler(
            self.transition,
            self.log_likelihood,
            self.log_transition,
            self.proposal,
            self.resampling,
            self.threshold,
            rng,
        )
        clouds = []
        loglik = 0.0
        m = self.n_particles
        for begin, end in zip(np.r_[0, ends[:-1]], ends):
            first = np.asarray(self.initial(rng, m), dtype=float)
            if first.ndim != 2 or len(first) != m:
                raise ValueError(
                    f"initial must give particles of shape ({m}, k), got {first.shape}."
                )
            prior = ParticleCloud(first, np.full(m, 1 / m))
            rows = [None if np.isnan(x).all() else x for x in X[begin:end]]
            run = bayes_filter(member, prior, rows)
            clouds += bayes_smoother(member, run) if smooth else run.filtered
            loglik += run.loglik
        return ParticleBeliefs(clouds, loglik)

    def filter(self, X, lengths=None) -> ParticleBeliefs:
        """Belief in the state at every step given the past."""
        return self._run(X, lengths, smooth=False)

    def forecast(self, n=1, X=None, *, observe=None) -> ParticleBeliefs:
        """Belief in the states of the n rows after X, or of the first n without X.

        `observe`, a function (rng, z, t) -> x, draws rows (m, p) from p(x | z) for
        particles (m, k); with it the clouds, means and intervals are of what will be
        seen, not of the states.
        """
        n = check_count("n", n)
        past = np.empty((0, 1)) if X is None else stack_sequences(X)[0]
        rows = np.vstack([past, np.full((n, past.shape[1]), np.nan)])
        run = self._run(rows, None, smooth=False)
        coming = run.clouds[-n:]
        if observe is not None:
            rng = spawn_rngs(make_rng(self.random_state), 1)[0]
            coming = [_observed_cloud(observe, cloud, rng) for cloud in coming]
        return ParticleBeliefs(coming, run.loglik)

    def smooth(self, X, lengths=None) -> ParticleBeliefs:
        """Belief in the state at every step given whole sequences, eq. (5)."""
        if self.log_transition is None:
            raise ValueError("smooth needs log_transition, the density of a step.")
        return self._run(X, lengths, smooth=True)

    def score(self, X, lengths=None) -> float:
        """Estimate of the log-likelihood, unbiased before the logarithm."""
        return self.filter(X, lengths).loglik
