"""Bernoulli, binomial, Poisson and negative binomial distributions.

Coordinates of an event are independent, so for one event x in d coordinates

    Bernoulli   log p = sum_j x_j log p_j + (1 - x_j) log(1 - p_j)               (1)
    Binomial    log p = sum_j log C(N, x_j) + x_j log p_j + (N - x_j) log(1-p_j)  (2)
    Poisson     log p = sum_j x_j log r_j - r_j - log x_j!                       (3)

    Neg. binom. log p = sum_j log G(a_j + x_j) - log G(a_j) - log x_j!
                        + a_j log(b_j / (b_j + 1)) - x_j log(b_j + 1)            (4)

(4) is a Poisson whose rate is drawn from a Gamma(a, b); G is the gamma function. The
others learn from the weight and the weighted sum of x. The MAP under a Beta(a, b) prior
is (sum + a - 1) / (N weight + a + b - 2), under a Gamma(a, b) (sum + a - 1) /
(weight + b).

Shapes    prob, rate (), (d,) or (k, d)   X (n,) or (n, d)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import arrays
from ..core.numerics import safe_divide, xlogy
from .base import (
    SufficientStatistics,
    as_events,
    counts_times_log_probability,
    float_parameter,
    gammaln,
    over_coordinates,
    require_all,
    sufficient_statistics,
    weight_along_components,
)


def _binomial_log_terms(x, p, N=1.0):
    """x log p + (N - x) log(1 - p), with 0 log 0 = 0."""
    x_broadcast = x + 0 * p
    return xlogy(x_broadcast, p + 0 * x) + xlogy(N - x_broadcast, 1 - p + 0 * x)


def _array_like_parameter(value, like):
    return arrays.asarray(value, like=like)


@dataclass(frozen=True, eq=False)
class Binomial:
    """Number of successes in N trials, independent over coordinates.

    Parameters
    ----------
    trials : int
        N.
    prob : array of shape (), (d,) or (k, d)
        Probability of success.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import Binomial
    >>> round(float(np.exp(Binomial(5, 0.3).log_prob([2])[0])), 4)
    0.3087
    """

    trials: int
    prob: Any

    def __post_init__(self):
        prob = float_parameter(self.prob)
        require_all((prob >= 0) & (prob <= 1), "prob must be from 0 to 1.")
        object.__setattr__(self, "prob", prob)

    @property
    def mean(self):
        return self.trials * self.prob

    @property
    def variance(self):
        return self.trials * self.prob * (1 - self.prob)

    @property
    def mode(self):
        xp = arrays.namespace(self.prob)
        top = xp.floor((self.trials + 1) * self.prob)
        return xp.where(top > self.trials, 0 * top + self.trials, top)

    def log_prob(self, X):
        """Eq. (2): (n,) or (n, k)."""
        N = float(self.trials)

        def one(x, p):
            ways = gammaln(0 * x + N + 1) - gammaln(x + 1) - gammaln(N - x + 1)
            return ways + _binomial_log_terms(x, p, N)

        return over_coordinates(one, X, self.prob)

    def sample(self, n: int, rng: np.random.Generator):
        """n draws: (n, *prob.shape)."""
        p = arrays.to_numpy(self.prob)
        draws = rng.binomial(self.trials, p, size=(n, *p.shape))
        return arrays.asarray(draws, like=self.prob)

    def stats(self, X, weights=None) -> SufficientStatistics:
        """Weight and weighted sum of successes."""
        X = as_events(X, int(self.prob.shape[-1]) if self.prob.ndim else 1)
        return sufficient_statistics(X, weights, lambda x: x)

    @classmethod
    def from_stats(
        cls, stats: SufficientStatistics, prior=None, trials: int = 1
    ) -> "Binomial":
        """Relative frequency; with a `Beta` prior the MAP."""
        return cls(trials, _success_probability(stats, prior, trials))


def _success_probability(stats, prior, trials=1):
    """Maximum-likelihood probability of success, or its MAP under a Beta prior."""
    S = stats.total[0]
    N = stats.weight
    N = trials * weight_along_components(N, S) + 0 * S
    if prior is not None:
        a, b = _array_like_parameter(prior.a, S), _array_like_parameter(prior.b, S)
        S, N = S + a - 1, N + a + b - 2
    return safe_divide(S, N, 0.5)


@dataclass(frozen=True, eq=False)
class Bernoulli:
    """Yes (1) or no (0), independent over coordinates.

    Parameters
    ----------
    prob : array of shape (), (d,) or (k, d)
        Probability of 1.

    Examples
    --------
    >>> from pansophy.distributions import Bernoulli, Beta
    >>> s = Bernoulli(0.5).stats([1, 1, 1, 0])
    >>> Bernoulli.from_stats(s).prob
    array([0.75])
    >>> Bernoulli.from_stats(s, prior=Beta(2.0, 2.0)).prob
    array([0.66666667])
    """

    prob: Any

    def __post_init__(self):
        prob = float_parameter(self.prob)
        require_all((prob >= 0) & (prob <= 1), "prob must be from 0 to 1.")
        object.__setattr__(self, "prob", prob)

    @property
    def mean(self):
        return self.prob

    @property
    def variance(self):
        return self.prob * (1 - self.prob)

    @property
    def mode(self):
        xp = arrays.namespace(self.prob)
        return xp.astype(self.prob > 0.5, self.prob.dtype)

    @property
    def entropy(self):
        """Sum over coordinates, () or (k,)."""
        h = -_binomial_log_terms(self.prob, self.prob)
        return h if h.ndim == 0 else arrays.namespace(h).sum(h, axis=-1)

    def __getitem__(self, j) -> "Bernoulli":
        return Bernoulli(self.prob[j, ...])

    def log_prob(self, X):
        """Eq. (1): (n,) or (n, k)."""
        return over_coordinates(_binomial_log_terms, X, self.prob)

    def sample(self, n: int, rng: np.random.Generator):
        """n draws: (n, *prob.shape)."""
        p = arrays.to_numpy(self.prob)
        return arrays.asarray(rng.random((n, *p.shape)) < p, like=self.prob)

    def draw(self, z, rng: np.random.Generator):
        """One draw from component z_i for each i: (n, d)."""
        p = arrays.to_numpy(self.prob)[np.asarray(z)]
        return arrays.asarray(rng.random(p.shape) < p, like=self.prob)

    def stats(self, X, weights=None) -> SufficientStatistics:
        """Weight and weighted number of ones."""
        X = as_events(X, int(self.prob.shape[-1]) if self.prob.ndim else 1)
        return sufficient_statistics(X, weights, lambda x: x)

    @classmethod
    def from_stats(cls, stats: SufficientStatistics, prior=None) -> "Bernoulli":
        """Relative frequency; with a `Beta` prior the MAP."""
        return cls(_success_probability(stats, prior))


@dataclass(frozen=True, eq=False)
class Poisson:
    """A count with mean `rate`, independent over coordinates.

    Parameters
    ----------
    rate : array of shape (), (d,) or (k, d)
        Mean count, 0 or more.

    Examples
    --------
    >>> from pansophy.distributions import Poisson
    >>> Poisson.from_stats(Poisson(1.0).stats([2, 3, 4])).rate
    array([3.])
    """

    rate: Any

    def __post_init__(self):
        rate = float_parameter(self.rate)
        require_all(rate >= 0, "rate must not be negative.")
        object.__setattr__(self, "rate", rate)

    @property
    def mean(self):
        return self.rate

    @property
    def variance(self):
        return self.rate

    @property
    def mode(self):
        return arrays.namespace(self.rate).floor(self.rate)

    def __getitem__(self, j) -> "Poisson":
        return Poisson(self.rate[j, ...])

    def log_prob(self, X):
        """Eq. (3): (n,) or (n, k)."""
        if self.rate.ndim == 2:
            X = arrays.asarray(as_events(X, int(self.rate.shape[1])), like=self.rate)
            total = arrays.namespace(X).sum
            known = total(self.rate, axis=1) + total(gammaln(X + 1), axis=1)[:, None]
            return counts_times_log_probability(X, self.rate) - known
        log_term = lambda x, r: xlogy(x + 0 * r, r + 0 * x) - r - gammaln(x + 1)
        return over_coordinates(log_term, X, self.rate)

    def sample(self, n: int, rng: np.random.Generator):
        """n draws: (n, *rate.shape)."""
        r = arrays.to_numpy(self.rate)
        return arrays.asarray(rng.poisson(r, size=(n, *r.shape)), like=self.rate)

    def draw(self, z, rng: np.random.Generator):
        """One draw from component z_i for each i: (n, d)."""
        r = arrays.to_numpy(self.rate)[np.asarray(z)]
        return arrays.asarray(rng.poisson(r), like=self.rate)

    def stats(self, X, weights=None) -> SufficientStatistics:
        """Weight and weighted sum."""
        X = as_events(X, int(self.rate.shape[-1]) if self.rate.ndim else 1)
        return sufficient_statistics(X, weights, lambda x: x)

    @classmethod
    def from_stats(cls, stats: SufficientStatistics, prior=None) -> "Poisson":
        """The mean; with a `Gamma` prior the MAP."""
        S = stats.total[0]
        N = stats.weight
        N = weight_along_components(N, S) + 0 * S
        if prior is not None:
            S, N = (
                S + _array_like_parameter(prior.shape, S) - 1,
                N + _array_like_parameter(prior.rate, S),
            )
        xp = arrays.namespace(S)
        return cls(safe_divide(xp.maximum(S, xp.zeros_like(S)), N))


@dataclass(frozen=True, eq=False)
class NegativeBinomial:
    """A count of a Poisson whose rate has a Gamma distribution, eq. (4).

    Its variance a / b + a / b^2 is above its mean: counts are overdispersed.

    Parameters
    ----------
    shape, rate : arrays of shape (), (d,) or (k, d)
        a and b of the Gamma, above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import NegativeBinomial
    >>> p = NegativeBinomial(2.0, 1.0)
    >>> float(p.mean), float(p.variance)
    (2.0, 4.0)
    >>> np.exp(p.log_prob([0, 1])).round(4)
    array([0.25, 0.25])
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
        return self.mean * (1 + 1 / self.rate)

    def log_prob(self, X):
        """Eq. (4): (n,) or (n, k)."""

        def one(x, a, b):
            log = arrays.namespace(b).log
            ways = gammaln(a + x) - gammaln(a + 0 * x) - gammaln(x + 1 + 0 * a)
            return ways + a * (log(b) - log(b + 1)) - x * log(b + 1)

        return over_coordinates(one, X, self.shape, self.rate)

    def sample(self, n: int, rng: np.random.Generator):
        """n draws: (n, *shape.shape)."""
        a, b = arrays.to_numpy(self.shape), arrays.to_numpy(self.rate)
        rates = rng.gamma(a, 1 / b, size=(n, *a.shape))
        return arrays.asarray(rng.poisson(rates), like=self.shape)
