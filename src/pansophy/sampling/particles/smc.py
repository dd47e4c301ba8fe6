"""Sequential Monte Carlo: particles moved from the prior to the posterior by tempering.

With prior p(x) and likelihood L(x), particles pass through the densities

    pi_t(x) = p(x) L(x)^beta_t / Z_t,     0 = beta_0 < beta_1 < ... < beta_T = 1    (1)

From one to the next they are weighted by w_i = L(x_i)^(beta_t - beta_t-1), which also
estimates the evidence,

    Z_t / Z_t-1 ~ sum_i W_i w_i,    log Z = sum_t log of it                         (2)

resampled by weight, and moved by Markov steps that leave pi_t invariant. beta_t is the
largest value whose weights have an effective sample size of alpha n, found by
bisection. Moves are Metropolis-Hastings steps of two kinds; each particle carries (log
p, log L), so a change of beta costs no evaluation:

    random walk    y = x + s 2.38/sqrt(d) N(0, C),  C their covariance               (3)
    Hamiltonian    momentum r ~ N(0, M), K leapfrog steps of length s along the
                   gradient, accepted by the change of log pi(x) - r' M^-1 r / 2     (4)

with M^-1 the variances of the particles, K drawn at each move, and s adapted to the
acceptance rate. They are repeated until the positions are nearly uncorrelated with
those at the start of the stage, or `max_moves` times. Particles outside the prior are
not passed to L.

Evidence (2) is unbiased except for the choice of beta and s from the same particles, a
bias of order 1/n. Particles are independent except for common ancestors, so modes are
weighted correctly as long as some particle reaches each of them.

Cost      n (moves + 1) evaluations of L a stage, in batches of n
Shapes    x (n, d)   w (n,)
Refs      [DelMoral2006]; [Jasra2011] adaptive beta; [Chopin2020] ch. 17
"""

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ...base import Estimator
from ...core.arrays.weighted import effective_sample_size
from ...core.drivers.iterate import iterate
from ...core.drivers.metropolis import (
    acceptance_probability,
    acceptance_threshold,
    is_accepted,
)
from ...core.drivers.progress import run_with_progress
from ...core.linalg.linalg import one_thread_if_small
from ...core.random import make_rng
from ...params import Count, Flag, OpenFraction, check_params
from ..chains.diagnostics import ChainSummary, diagnose
from ..chains.driver import warn_not_finished
from ..chains.hmc import leapfrog
from ..chains.metropolis import RandomWalk
from ..densities.distribution_interface import (
    as_distribution,
    draw_samples,
    log_density_function,
)
from ..densities.target_density import (
    LogProb,
    as_target_density,
    ensure_gradient,
    ensure_values,
)
from .resampling import DEGENERATE_SHARE, RESAMPLERS, softmax_weights

MAX_LEAPFROG_STEPS = 10  # of a move


def nan_to_minus_inf(L):
    """Log likelihoods with NaN, where a density failed, as -inf."""
    return np.where(np.isnan(L), -np.inf, L)


class TemperedPosterior(NamedTuple):
    """The density p L^beta: prior and likelihood."""

    likelihood: Any  # a target density
    log_prior: Callable
    prior_grad: Any  # function or None

    def value(self, x):
        """log p and log L of positions (n, d)."""
        log_p = self.log_prior(x)
        inside = log_p > -np.inf
        if inside.all():
            return log_p, nan_to_minus_inf(self.likelihood.value(x))
        L = np.full(len(x), -np.inf)
        if inside.any():
            L[inside] = nan_to_minus_inf(self.likelihood.value(x[inside]))
        return log_p, L

    def grad(self, x, beta):
        """log p, log L and the gradient of log p + beta log L."""
        log_p = self.log_prior(x)
        L, g = self.likelihood.value_and_grad(x)
        return log_p, nan_to_minus_inf(L), self.prior_grad(x) + beta * g


def particle_covariance(x):
    """Covariance of particles, shrunk slightly to its diagonal; positive definite."""
    n, d = x.shape
    S = np.atleast_2d(np.cov(x, rowvar=False, bias=True))
    tiny = 1e-12 * (1.0 + np.square(x).mean(axis=0))
    return (n * S + (d + 1) * np.diag(np.diag(S) + tiny)) / (n + d + 1)


def _accept_or_keep(parts, new, beta, log_extra, rng):
    """Accept or reject `new` by Metropolis-Hastings; new parts and mean acceptance."""
    (x, p, L), (y, q, M) = parts, new
    current, proposed = p + beta * L, q + beta * M + log_extra
    alpha = acceptance_probability(proposed - current)
    accepted = is_accepted(proposed, current, acceptance_threshold(1.0, len(x), rng))
    x = np.where(accepted[:, None], y, x)
    parts = x, np.where(accepted, q, p), np.where(accepted, M, L)
    return parts, float(alpha.mean())


class RandomWalkMove:
    """Random walk moves, eq. (3)."""

    def __init__(self, density, x, beta):
        self.density, self.beta = density, beta
        d = x.shape[1]
        self.goal = 0.44 if d == 1 else 0.234
        self.walk = RandomWalk(2.38 / np.sqrt(d), particle_covariance(x))

    def __call__(self, rng, parts, scale):
        with one_thread_if_small(parts[0].shape[1]):
            y = self.walk.rescaled(scale * self.walk.scale)(rng, parts[0])
        new = (y, *self.density.value(y))
        return _accept_or_keep(parts, new, self.beta, 0.0, rng)


class HamiltonianMove:
    """Hamiltonian moves, eq. (4)."""

    goal = 0.8

    def __init__(self, density, x, beta):
        if density.prior_grad is None:
            raise TypeError("moves='hmc' needs prior_grad, the gradient of log prior.")
        self.density, self.beta = density, beta
        self.sd = np.sqrt(np.diag(particle_covariance(x)))

    def __call__(self, rng, parts, scale):
        sd = self.sd
        last_parts = []

        def both(x):
            log_p, L, g = self.density.grad(x, self.beta)
            last_parts[:] = log_p, L  # the parts at the last position
            return log_p + self.beta * L, g

        eps = scale * len(sd) ** -0.25
        r = rng.standard_normal(parts[0].shape) / sd
        energy = lambda r: 0.5 * np.square(sd * r).sum(axis=1)
        steps = int(rng.integers(1, MAX_LEAPFROG_STEPS + 1))
        y, end, _ = leapfrog(both, parts[0], r, eps, steps, np.square(sd)[None])
        return _accept_or_keep(
            parts, (y, *last_parts), self.beta, energy(r) - energy(end), rng
        )


PARTICLE_MOVES = {"metropolis": RandomWalkMove, "hmc": HamiltonianMove}


class SMCState(NamedTuple):
    """State of the particles."""

    objective: float  # 1 - beta
    position: np.ndarray
    log_prior: np.ndarray
    log_like: np.ndarray
    beta: float
    log_evidence: float
    scale: float
    acceptance: float
    size: float  # effective, before resampling
    moves: int


@dataclass(eq=False, repr=False)
class ParticleResult:
    """Result of `SMC.run`: equally weighted draws of the posterior.

    Attributes
    ----------
    positions : ndarray of shape (n, d)
    log_prob : ndarray of shape (n,)
        log prior + log likelihood.
    log_evidence : float
    temperatures : ndarray of shape (stages,)
        beta after each stage; the last is 1.
    history : dict of ndarray of shape (stages,)
        "acceptance", "size" (effective, before resampling), "moves", "log_evidence".
    """

    positions: np.ndarray
    log_prob: np.ndarray
    log_evidence: float
    temperatures: np.ndarray
    history: dict[str, np.ndarray]
    reason: str
    seconds: float

    def summary(self) -> ChainSummary:
        """Moments and quantiles; errors as if the particles were independent."""
        return diagnose(self.positions[None])

    def __repr__(self):
        n, d = self.positions.shape
        return (
            f"{n} particles in {d} dimensions, {len(self.temperatures)} temperatures, "
            f"log evidence {self.log_evidence:.4f}, {self.seconds:.1f} s\n"
            + self.summary().table(10)
        )


def _warn_few_particles(sizes, n):
    """Warn about a stage with a very small effective sample size."""
    if sizes.size and (smallest := sizes.min()) < max(
        DEGENERATE_SHARE * n, min(2.0, n)
    ):
        warnings.warn(
            f"in one stage {n} particles were worth {smallest:.1f}, so the evidence is "
            "not to be trusted: the likelihood is zero nearly everywhere, take more "
            "particles or a closer prior.",
            RuntimeWarning,
            stacklevel=3,
        )


def next_inverse_temperature(log_like, beta, alpha) -> float:
    """The largest beta' <= 1 whose weights have effective size alpha n."""
    n = len(log_like)
    size = lambda b: effective_sample_size(softmax_weights((b - beta) * log_like)[0])
    if size(1.0) >= alpha * n:
        return 1.0
    low = beta
    high = 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if size(middle) >= alpha * n else (low, middle)
        if high - low <= 1e-6 * high:
            break
    return max(low, np.nextafter(beta, 1.0))


@dataclass(eq=False, repr=False)
class SMC(Estimator):
    """Sequential Monte Carlo sampler from a prior to a posterior.

    Parameters
    ----------
    log_likelihood : function or density
        log L, as `as_target_density` takes it: of one position or of all particles at
        once, in NumPy, torch or Numba.
    prior : distribution
        With `sample` and `log_prob`, or a frozen SciPy distribution, or a box.
    n_particles : int
    ess : float
        alpha: relative effective sample size after a change of beta.
    moves : {"metropolis", "hmc"}
        "hmc" needs the gradients of log_likelihood (`grad`, or by autograd) and of the
        prior (`prior_grad`).
    max_moves : int
        Maximum number of moves in a stage.
    memory : float
        A stage ends when the correlation of the positions with those at its start is
        below this in every coordinate.
    resampling : {"multinomial", "stratified", "systematic", "residual"}
    grad, prior_grad : function, True or None
        Gradients of log_likelihood and of the log prior.
    batched : bool or None
        Whether log_likelihood takes all particles at once; None detects it.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import Normal
    >>> from pansophy.sampling import SMC
    >>> y = 2.0  # y ~ N(x, 1), x ~ N(0, 4): evidence N(2; 0, 5)
    >>> run = SMC(lambda x: -0.5 * (y - x[:, 0]) ** 2, Normal(0.0, 4.0)).run(0)
    >>> log_l0 = -0.5 * np.log(2 * np.pi)
    >>> bool(abs(run.log_evidence + log_l0 + 2.124) < 0.1)
    True
    >>> round(float(run.positions.mean()), 1)
    1.6
    """

    log_likelihood: LogProb
    prior: Any
    _: KW_ONLY
    n_particles: Count = 1000
    ess: OpenFraction = 0.5
    moves: Literal["metropolis", "hmc"] = "metropolis"
    max_moves: Count = 30
    memory: OpenFraction = 0.1
    resampling: Literal["multinomial", "stratified", "systematic", "residual"] = (
        "systematic"
    )
    grad: Any = None
    prior_grad: Callable | None = None
    batched: Flag | None = None

    def run(
        self, random_state=None, *, max_stages=1000, progress=False
    ) -> ParticleResult:
        """Move particles from the prior to the posterior.

        Parameters
        ----------
        random_state : int, Generator, RandomState or None
        max_stages : int
        progress : bool
        """
        check_params(self)
        rng = make_rng(random_state)
        prior = as_distribution(self.prior)
        raw = draw_samples(prior, self.n_particles, rng)
        x = np.asarray(raw, dtype=float).reshape(self.n_particles, -1)
        f = log_density_function(prior)
        flat = raw.ndim == 1
        log_prior = lambda x: f(x[:, 0] if flat else x)
        density = ensure_values(
            as_target_density(self.log_likelihood, self.grad, self.batched), x
        )
        L = nan_to_minus_inf(density.value(x))
        if self.moves == "hmc":
            density = ensure_gradient(density, x)
        tempered = TemperedPosterior(density, log_prior, self.prior_grad)
        move = lambda x, beta: PARTICLE_MOVES[self.moves](tempered, x, beta)
        start = SMCState(1.0, x, log_prior(x), L, 0.0, 0.0, 1.0, np.nan, np.nan, 0)
        step = lambda s: self.stage(s, move, rng)
        watch = ("beta", "acceptance", "size", "moves", "log_evidence")
        change = lambda old, new: new.objective
        run_task = lambda task: iterate(
            step,
            start,
            max_iter=max_stages,
            tol=0.0,
            change=change,
            watch=watch,
            task=task,
        )
        result = run_with_progress(self, run_task, total=None, verbose=progress)
        s, history = result.state, result.history
        betas = history.pop("beta")
        history.pop("objective")
        warn_not_finished(result.reason, "max_stages", "beta has not come to 1")
        _warn_few_particles(history["size"], self.n_particles)
        log_prob = s.log_prior + s.log_like
        return ParticleResult(
            s.position,
            log_prob,
            s.log_evidence,
            betas,
            history,
            result.reason,
            result.seconds,
        )

    def stage(self, s, move, rng) -> SMCState:
        """One stage: weight, resample and move, eq. (1) and (2)."""
        beta = next_inverse_temperature(s.log_like, s.beta, self.ess)
        W, log_mean = softmax_weights((beta - s.beta) * s.log_like)
        n = len(W)
        copies = RESAMPLERS[self.resampling](W, n, rng)
        index = np.repeat(np.arange(n), copies)
        parts = s.position[index], s.log_prior[index], s.log_like[index]
        x = parts[0]
        scale = s.scale
        total_acceptance = 0.0
        n_moves = 0
        overlap = PositionCorrelation(x)
        kernel = move(x, beta)
        while n_moves < self.max_moves:
            parts, alpha = kernel(rng, parts, scale)
            n_moves += 1
            total_acceptance += alpha
            scale *= np.exp(n_moves**-0.6 * (alpha - kernel.goal))
            if overlap(parts[0]) < self.memory:
                break
        parts = dict(zip(("position", "log_prior", "log_like"), parts, strict=True))
        return s._replace(
            **parts,
            objective=1.0 - beta,
            beta=beta,
            log_evidence=s.log_evidence + log_mean,
            scale=float(scale),
            acceptance=total_acceptance / n_moves,
            size=effective_sample_size(W),
            moves=n_moves,
        )


class PositionCorrelation:
    """Largest correlation of a coordinate with its values at the start."""

    def __init__(self, x):
        self.a = x - x.mean(axis=0)
        self.length = np.sqrt(np.einsum("ij,ij->j", self.a, self.a))

    def __call__(self, x) -> float:
        product = np.einsum("ij,ij->j", self.a, x)  # a has mean zero
        length = self.length * x.std(axis=0) * np.sqrt(len(x))
        return float(np.max(product / np.where(length > 0, length, np.inf)))
