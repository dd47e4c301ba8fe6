"""Dirichlet, Beta and Gamma distributions: of probabilities and of rates.

    Dirichlet   log p = sum_v (a_v - 1) log x_v + log G(sum a) - sum log G(a_v)   (1)
    Beta        the Dirichlet of two symbols: x and 1 - x                        (2)
    Gamma       log p = (a - 1) log x - b x + a log b - log G(a)                 (3)

with G the gamma function. They are conjugate to Categorical, Bernoulli and Poisson:
`posterior(stats)` adds what was counted, so that batch and any order of single updates
agree. As families of their own they learn from sums of log x (and x): the
maximum-likelihood parameters solve digamma equations, by Newton steps that are exact
for the rank-one Hessian of (1) and in 1/a for (3).

Shapes    concentration (m,) or (k, m)   a, b, shape, rate (), (d,) or (k, d)
Refs      [Minka2000] Dirichlet; [Minka2002] Gamma
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import arrays
from ..core.numerics import safe_log, xlogy
from .base import (
    SufficientStatistics,
    as_events,
    digamma,
    float_parameter,
    gammaln,
    over_coordinates,
    per_weight,
    require_all,
    sufficient_statistics,
    trigamma,
    weight_along_components,
)


def log_beta(a):
    """log of the normaliser of eq. (1) along the last axis."""
    xp = arrays.namespace(a)
    return xp.sum(gammaln(a), axis=-1) - gammaln(xp.sum(a, axis=-1))


def fit_dirichlet(g, max_iter=200, tol=1e-12):
    """The a of eq. (1) whose mean of log x is g (..., m), by Newton steps.

    The Hessian is a diagonal plus a constant, so a step costs O(m). A step that
    would leave a > 0 is halved until it does not.
    """
    g = arrays.to_numpy(g).astype(float)
    a = np.full(g.shape, 1.0)
    for _ in range(max_iter):
        total = a.sum(axis=-1, keepdims=True)
        grad = digamma(total) - digamma(a) + g
        q, z = -trigamma(a), trigamma(total)
        b = (grad / q).sum(-1, keepdims=True) / (1 / z + (1 / q).sum(-1, keepdims=True))
        step = (grad - b) / q
        while (a - step <= 0).any():
            step = np.where((a - step <= 0).any(-1, keepdims=True), step / 2, step)
        a = a - step
        if np.abs(step).max() <= tol * np.abs(a).max():
            break
    return a


def fit_gamma_shape(gap, max_iter=100, tol=1e-13):
    """The a with log a - digamma(a) = gap = log mean(x) - mean(log x) > 0."""
    s = np.maximum(arrays.to_numpy(gap).astype(float), 1e-300)
    a = (3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    for _ in range(max_iter):
        slope = 1 / a - trigamma(a)
        new = 1 / (1 / a + (np.log(a) - digamma(a) - s) / (a * a * slope))
        done = np.abs(new - a).max() <= tol * np.abs(new).max()
        a = new
        if done:
            break
    return a


@dataclass(frozen=True, eq=False)
class Dirichlet:
    """Distribution of a vector of m probabilities.

    Parameters
    ----------
    concentration : array of shape (m,) or (k, m)
        a, each above 0. All ones is uniform.

    Examples
    --------
    >>> from pansophy.distributions import Categorical, Dirichlet
    >>> prior = Dirichlet([1.0, 1.0, 1.0])
    >>> counts = Categorical([0.2, 0.3, 0.5]).stats([0, 0, 2])
    >>> prior.posterior(counts).mean
    array([0.5       , 0.16666667, 0.33333333])
    """

    concentration: Any

    def __post_init__(self):
        a = float_parameter(self.concentration)
        require_all(a > 0, "concentration must be above 0.")
        object.__setattr__(self, "concentration", a)

    @property
    def single(self) -> bool:
        return self.concentration.ndim == 1

    @property
    def mean(self):
        a = self.concentration
        return a / arrays.namespace(a).sum(a, axis=-1, keepdims=True)

    @property
    def variance(self):
        m, a = self.mean, self.concentration
        total = arrays.namespace(a).sum(a, axis=-1, keepdims=True)
        return m * (1 - m) / (total + 1)

    @property
    def mode(self):
        """(a - 1) / (sum a - m): needs every a above 1, else a border point."""
        a = self.concentration - 1
        xp = arrays.namespace(a)
        a = xp.maximum(a, xp.zeros_like(a))
        total = xp.sum(a, axis=-1, keepdims=True)
        return xp.where(total > 0, a / (total + (total == 0) * 1.0), self.mean)

    @property
    def entropy(self):
        a = self.concentration
        xp = arrays.namespace(a)
        m = a.shape[-1]
        total = xp.sum(a, axis=-1)
        inner = xp.sum((a - 1) * digamma(a), axis=-1)
        return log_beta(a) + (total - m) * digamma(total) - inner

    def log_prob(self, X):
        """Eq. (1): (n,) or (n, k)."""
        a = self.concentration
        xp = arrays.namespace(a)
        X = arrays.asarray(as_events(X, int(a.shape[-1])), like=a)
        require_all(X >= 0, "probabilities must not be negative.")
        X = X if self.single else X[:, None, :]
        return xp.sum(xlogy(a - 1, X), axis=-1) - log_beta(a)

    def sample(self, n: int, rng: np.random.Generator):
        """n draws: (n, m) or (n, k, m)."""
        a = arrays.to_numpy(self.concentration)
        G = rng.standard_gamma(a, size=(n, *a.shape))
        return arrays.asarray(
            G / G.sum(axis=-1, keepdims=True), like=self.concentration
        )

    def stats(self, X, weights=None) -> SufficientStatistics:
        """Weight and weighted sum of log x."""
        X = as_events(X, int(self.concentration.shape[-1]))
        return sufficient_statistics(X, weights, safe_log)

    @classmethod
    def from_stats(cls, stats: SufficientStatistics, prior=None) -> "Dirichlet":
        """Maximum-likelihood concentration; there is no conjugate prior here."""
        no_prior(prior, cls)
        g = per_weight(stats.total[0], stats.weight)
        return cls(arrays.asarray(fit_dirichlet(g), like=g))

    def posterior(self, stats: SufficientStatistics) -> "Dirichlet":
        """Given the counts of a Categorical or Multinomial: Dir(a + counts)."""
        return Dirichlet(self.concentration + stats.total[0])


def no_prior(prior, cls):
    if prior is not None:
        raise ValueError(f"{cls.__name__} has no conjugate prior: prior must be None.")


@dataclass(frozen=True, eq=False)
class Beta:
    """Distribution of a probability, independent over coordinates.

    Parameters
    ----------
    a, b : arrays of shape (), (d,) or (k, d)
        Pseudo-counts of 1 and 0, each above 0.

    Examples
    --------
    >>> from pansophy.distributions import Bernoulli, Beta
    >>> seen = Bernoulli(0.5).stats([1, 1, 1, 0])
    >>> posterior = Beta(2.0, 2.0).posterior(seen)
    >>> posterior.mean, posterior.mode
    (array([0.625]), array([0.66666667]))
    """

    a: Any
    b: Any

    def __post_init__(self):
        a, b = float_parameter(self.a), float_parameter(self.b)
        a, b = a + 0 * b, b + 0 * a
        require_all((a > 0) & (b > 0), "a and b must be above 0.")
        object.__setattr__(self, "a", a)
        object.__setattr__(self, "b", b)

    @property
    def pair(self):
        """The same as Dirichlet concentrations, (..., 2)."""
        return arrays.namespace(self.a).stack([self.a, self.b], axis=-1)

    @property
    def mean(self):
        return self.a / (self.a + self.b)

    @property
    def variance(self):
        total = self.a + self.b
        return self.a * self.b / (total * total * (total + 1))

    @property
    def mode(self):
        return Dirichlet(self.pair).mode[..., 0]

    @property
    def entropy(self):
        h = Dirichlet(self.pair).entropy
        return h if h.ndim == 0 else arrays.namespace(h).sum(h, axis=-1)

    def log_prob(self, X):
        """Eq. (2): (n,) or (n, k)."""

        def one(x, a, b):
            norm = gammaln(a + b) - gammaln(a) - gammaln(b)
            return xlogy(a - 1, x) + xlogy(b - 1, 1 - x) + norm

        return over_coordinates(one, X, self.a, self.b)

    def sample(self, n: int, rng: np.random.Generator):
        """n draws: (n, *a.shape)."""
        a, b = arrays.to_numpy(self.a), arrays.to_numpy(self.b)
        return arrays.asarray(rng.beta(a, b, size=(n, *a.shape)), like=self.a)

    def stats(self, X, weights=None) -> SufficientStatistics:
        """Weight and weighted sums of log x and log(1 - x)."""
        X = as_events(X, int(self.a.shape[-1]) if self.a.ndim else 1)
        return sufficient_statistics(X, weights, safe_log, lambda x: safe_log(1 - x))

    @classmethod
    def from_stats(cls, stats: SufficientStatistics, prior=None) -> "Beta":
        """Maximum-likelihood parameters; there is no conjugate prior here."""
        no_prior(prior, cls)
        like = stats.total[0]
        g = np.stack(
            [arrays.to_numpy(per_weight(t, stats.weight)) for t in stats.total], axis=-1
        )
        fitted = fit_dirichlet(g)
        pick = lambda j: arrays.asarray(fitted[..., j], like=like)
        return cls(pick(0), pick(1))

    def posterior(self, stats: SufficientStatistics) -> "Beta":
        """Given the statistics of a Bernoulli: Beta(a + ones, b + zeros)."""
        ones = stats.total[0]
        N = stats.weight
        zeros = weight_along_components(N, ones) - ones
        return Beta(self.a + ones, self.b + zeros)


@dataclass(frozen=True, eq=False)
class Gamma:
    """Distribution of a positive number, independent over coordinates.

    Parameters
    ----------
    shape, rate : arrays of shape (), (d,) or (k, d)
        a and b of eq. (3); the mean is a / b.

    Examples
    --------
    >>> from pansophy.distributions import Gamma, Poisson
    >>> Gamma(2.0, 1.0).posterior(Poisson(1.0).stats([3, 5])).mean
    array([3.33333333])
    """

    shape: Any
    rate: Any

    def __post_init__(self):
        a, b = float_parameter(self.shape), float_parameter(self.rate)
        a, b = a + 0 * b, b + 0 * a
        require_all((a > 0) & (b > 0), "shape and rate must be above 0.")
        object.__setattr__(self, "shape", a)
        object.__setattr__(self, "rate", b)

    @property
    def mean(self):
        return self.shape / self.rate

    @property
    def variance(self):
        return self.shape / (self.rate * self.rate)

    @property
    def mode(self):
        xp = arrays.namespace(self.shape)
        top = (self.shape - 1) / self.rate
        return xp.maximum(top, xp.zeros_like(top))

    @property
    def entropy(self):
        """Sum over coordinates, () or (k,)."""
        a = self.shape
        xp = arrays.namespace(self.shape)
        h = a - xp.log(self.rate) + gammaln(a) + (1 - a) * digamma(a)
        return h if h.ndim == 0 else xp.sum(h, axis=-1)

    def log_prob(self, X):
        """Eq. (3): (n,) or (n, k)."""

        def one(x, a, b):
            log_b = arrays.namespace(b).log(b)
            return xlogy(a - 1, x) - b * x + a * log_b - gammaln(a)

        return over_coordinates(one, X, self.shape, self.rate)

    def sample(self, n: int, rng: np.random.Generator):
        """n draws: (n, *shape.shape)."""
        a, b = arrays.to_numpy(self.shape), arrays.to_numpy(self.rate)
        return arrays.asarray(rng.gamma(a, 1 / b, size=(n, *a.shape)), like=self.shape)

    def stats(self, X, weights=None) -> SufficientStatistics:
        """Weight and weighted sums of x and log x."""
        X = as_events(X, int(self.shape.shape[-1]) if self.shape.ndim else 1)
        return sufficient_statistics(X, weights, lambda x: x, safe_log)

    @classmethod
    def from_stats(cls, stats: SufficientStatistics, prior=None) -> "Gamma":
        """Maximum-likelihood parameters; there is no conjugate prior here."""
        no_prior(prior, cls)
        mean, log_mean = (per_weight(t, stats.weight) for t in stats.total)
        xp = arrays.namespace(mean)
        a = arrays.asarray(fit_gamma_shape(xp.log(mean) - log_mean), like=mean)
        return cls(a, a / mean)

    def posterior(self, stats: SufficientStatistics) -> "Gamma":
        """Given the statistics of a Poisson: Gamma(a + sum, b + weight)."""
        S = stats.total[0]
        return Gamma(
            self.shape + S, self.rate + weight_along_components(stats.weight, S)
        )
