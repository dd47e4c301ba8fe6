"""Moves of particles that leave p(x) L(x)^beta as it is: walks and leaps.

Both are Metropolis-Hastings with the rule of `metropolis`; what is carried along is
the pair (log p, log L) at each particle, so a change of beta costs no call of L.

    walk    y = x + s 2.38/sqrt(d) N(0, C),  C the covariance of the particles       (1)
    leap    momentum r ~ N(0, M), K leapfrog steps of length s along the gradient,
            accepted by the change of  log pi(x) - r' M^-1 r / 2                     (2)

with M^-1 the variances of the particles and K drawn anew at each move. Particles
outside the prior are not shown to L.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.acceptance import accept, leeway, passes
from ..core.linalg import few_threads
from .hmc import leapfrog
from .proposals import RandomWalk

MAX_LEAPFROG_STEPS = 10  # most leapfrog steps of a move


def nan_to_minus_inf(L):
    """NaN likelihoods, where a density failed, count as zero."""
    return np.where(np.isnan(L), -np.inf, L)


class TemperedPosterior(NamedTuple):
    """The two parts of p L^beta."""

    likelihood: Any  # a target
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
        """Parts and the gradient of log p + beta log L."""
        log_p = self.log_prior(x)
        L, g = self.likelihood.value_and_grad(x)
        return log_p, nan_to_minus_inf(L), self.prior_grad(x) + beta * g


def shrunk_covariance(x):
    """Covariance of particles, shrunk a little to its diagonal; always positive."""
    n, d = x.shape
    S = np.atleast_2d(np.cov(x, rowvar=False, bias=True))
    tiny = 1e-12 * (1.0 + np.square(x).mean(axis=0))
    return (n * S + (d + 1) * np.diag(np.diag(S) + tiny)) / (n + d + 1)


def accept_or_keep(parts, new, beta, log_extra, rng):
    """Take or refuse `new` by the rule of Metropolis and Hastings."""
    (x, p, L), (y, q, M) = parts, new
    old, fresh = p + beta * L, q + beta * M + log_extra
    alpha = accept(fresh - old)
    taken = passes(fresh, old, leeway(1.0, len(x), rng))
    x = np.where(taken[:, None], y, x)
    parts = x, np.where(taken, q, p), np.where(taken, M, L)
    return parts, float(alpha.mean())


class RandomWalkMove:
    """Eq. (1)."""

    def __init__(self, density, x, beta):
        self.density, self.beta = density, beta
        d = x.shape[1]
        self.goal = 0.44 if d == 1 else 0.234
        self.walk = RandomWalk(2.38 / np.sqrt(d), shrunk_covariance(x))

    def __call__(self, rng, parts, scale):
        with few_threads(parts[0].shape[1]):
            y = self.walk.rescaled(scale * self.walk.scale)(rng, parts[0])
        new = (y, *self.density.value(y))
        return accept_or_keep(parts, new, self.beta, 0.0, rng)


class HamiltonianMove:
    """Eq. (2)."""

    goal = 0.8

    def __init__(self, density, x, beta):
        if density.prior_grad is None:
            raise TypeError("moves='hmc' needs prior_grad, the gradient of log prior.")
        self.density, self.beta = density, beta
        self.sd = np.sqrt(np.diag(shrunk_covariance(x)))

    def __call__(self, rng, parts, scale):
        sd, seen = self.sd, []

        def both(x):
            log_p, L, g = self.density.grad(x, self.beta)
            seen[:] = log_p, L  # the parts at the last place asked for
            return log_p + self.beta * L, g

        eps = scale * len(sd) ** -0.25
        r = rng.standard_normal(parts[0].shape) / sd
        energy = lambda r: 0.5 * np.square(sd * r).sum(axis=1)
        steps = int(rng.integers(1, MAX_LEAPFROG_STEPS + 1))
        y, end, _ = leapfrog(both, parts[0], r, eps, steps, np.square(sd)[None])
        return accept_or_keep(
            parts, (y, *seen), self.beta, energy(r) - energy(end), rng
        )


PARTICLE_MOVES = {"metropolis": RandomWalkMove, "hmc": HamiltonianMove}
