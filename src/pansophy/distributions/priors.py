"""Dirichlet, Beta and Gamma distributions: of probabilities and of rates.

    Dirichlet   log p = sum_v (a_v - 1) log x_v + log G(sum a) - sum log G(a_v)   (1)
    Beta        the Dirichlet of two symbols: x and 1 - x                        (2)
    Gamma       log p = (a - 1) log x - b x + a log b - log G(a)                 (3)

with G the gamma function. They are conjugate to Categorical, Bernoulli and Poisson:
`posterior(X)` adds what was counted, so that batch and any order of single updates
agree, and `predictive()` is the distribution of the next observation. Pseudo-counts of
0 are the improper limits Beta(0, 0), Gamma(0, 0) and Dirichlet(0): they have no density
and no draws, but a posterior, whose mean is the maximum-likelihood estimate.

As families of their own they learn from sums of log x (and x): the
maximum-likelihood parameters solve digamma equations, by Newton steps that are exact
for the rank-one Hessian of (1) and in 1/a for (3).

Shapes    concentration (m,) or (k, m)   a, b, shape, rate (), (d,) or (k, d)
Refs      [Minka2000] Dirichlet; [Minka2002] Gamma
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import arrays
from ..core.numerics import safe_divide, safe_log, xlogy
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
from .categorical import Categorical, Multinomial
from .counts import Bernoulli, NegativeBinomial

LEAST_GAP = 1e-10  # of a Gamma: a standard deviation of 1.4e-5 of the mean
MOST_CONCENTRATION = 1e10  # sum of a: standard deviations below 1e-5
LEAST_CONCENTRATION = 1e-10


def log_beta(a):
    """log of the normaliser of eq. (1) along the last axis."""
    xp = arrays.namespace(a)
    return xp.sum(gammaln(a), axis=-1) - gammaln(xp.sum(a, axis=-1))


def _fit_dirichlet(g, max_iter=200, tol=1e-12):
    """The a of eq. (1) whose mean of log x is g (..., m), by Newton steps.

    The Hessian is a diagonal plus a constant, so a step costs O(m). A step that
    would leave a > 0 is halved until it does not. Rows that do not differ, or zeros,
    have no maximum; entries are at least LEAST_CONCENTRATION, and their sum is at most
    MOST_CONCENTRATION.
    """
    g = arrays.to_numpy(g).astype(float)
    require_all(
        np.isfinite(g),
        "the rows of a Beta or Dirichlet must lie strictly between 0 and 1.",
    )
    a = np.full(g.shape, 1.0)
    for _ in range(max_iter):
        total = a.sum(axis=-1, keepdims=True)
        grad = digamma(total) - digamma(a) + g
        q, z = -trigamma(a), trigamma(total)
        b = (grad / q).sum(-1, keepdims=True) / (1 / z + (1 / q).sum(-1, keepdims=True))
        step = (grad - b) / q
        while (a - step <= 0).any():
            step = np.where((a - step <= 0).any(-1, keepdims=True), step / 2, step)
        excess = (a - step).sum(-1, keepdims=True) / MOST_CONCENTRATION
        step = np.where(excess > 1, a - (a - step) / np.maximum(excess, 1), step)
        step = np.minimum(step, a - LEAST_CONCENTRATION)
        a = a - step
        if np.abs(step).max() <= tol * np.abs(a).max():
            break
    return a


def fit_gamma_shape(gap, max_iter=100, tol=1e-13):
    """The a with log a - digamma(a) = gap = log mean(x) - mean(log x) > 0.

    Newton steps, but where a is large: there log a - digamma(a) is the difference of
    nearly equal numbers, and 1/(2a) + 1/(12a^2) to rounding. Rows that do not differ
    have no maximum; the gap is at least LEAST_GAP.
    """
    s = np.maximum(arrays.to_numpy(gap).astype(float), LEAST_GAP)
    require_all(np.isfinite(s), "the rows of a Gamma must be above 0.")
    large = (1 + np.sqrt(1 + 4 * s / 3)) / (4 * s)
    is_large = s < 1e-5
    s = np.where(is_large, 1.0, s)
    a = (3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    for _ in range(max_iter):
        slope = 1 / a - trigamma(a)
        new = 1 / (1 / a + (np.log(a) - digamma(a) - s) / (a * a * slope))
        is_converged = np.abs(new - a).max() <= tol * np.abs(new).max()
        a = new
        if is_converged:
            break
    return np.where(is_large, large, a)


@dataclass(frozen=True, eq=False)
class Dirichlet:
    """Distribution of a vector of m probabilities.

    Parameters
    ----------
    concentration : array of shape (m,) or (k, m)
        a, each above 0, or 0 for the improper limit. All ones is uniform.

    Examples
    --------
    >>> from pansophy.distributions import Categorical, Dirichlet
    >>> prior = Dirichlet([1.0, 1.0, 1.0])
    >>> prior.posterior([0, 0, 2]).mean
    array([0.5       , 0.16666667, 0.33333333])
    >>> counts = Categorical([0.2, 0.3, 0.5]).stats([0, 0, 2])
    >>> prior.posterior(counts).predictive().prob
    array([0.5       , 0.16666667, 0.33333333])
    """

    concentration: Any

    def __post_init__(self):
        a = float_parameter(self.concentration)
        require_all(a >= 0, "concentration must not be negative.")
        object.__setattr__(self, "concentration", a)

    @property
    def single(self) -> bool:
        return self.concentration.ndim == 1

    @property
    def mean(self):
        """a / sum a; NaN where all are 0."""
        a = self.concentration
        total = arrays.namespace(a).sum(a, axis=-1, keepdims=True)
        return safe_divide(a, total + 0 * a, float("nan"))

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
        _require_proper(a, "Dirichlet")
        xp = arrays.namespace(a)
        m = a.shape[-1]
        total = xp.sum(a, axis=-1)
        inner = xp.sum((a - 1) * digamma(a), axis=-1)
        return log_beta(a) + (total - m) * digamma(total) - inner

    def log_prob(self, X):
        """Eq. (1): (n,) or (n, k)."""
        a = self.concentration
        _require_proper(a, "Dirichlet")
        xp = arrays.namespace(a)
        X = arrays.asarray(as_events(X, int(a.shape[-1])), like=a)
        require_all(X >= 0, "probabilities must not be negative.")
        X = X if self.single else X[:, None, :]
        return xp.sum(xlogy(a - 1, X), axis=-1) - log_beta(a)

    def sample(self, n: int, rng: np.random.Generator):
        """n draws: (n, m) or (n, k, m)."""
        _require_proper(self.concentration, "Dirichlet")
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
        _no_prior(prior, cls)
        g = per_weight(stats.total[0], stats.weight)
        return cls(arrays.asarray(_fit_dirichlet(g), like=g))

    def posterior(self, X, weights=None) -> "Dirichlet":
        """Dir(a + counts), given symbols, rows of counts, or statistics of either.

        Symbols are whole numbers (n,) from 0 to m - 1; rows of counts are (n, m).
        """
        if isinstance(X, SufficientStatistics):
            return Dirichlet(self.concentration + X.total[0])
        m = int(self.concentration.shape[-1])
        X = X if arrays.is_foreign(X) else np.asarray(X)
        uniform = np.full(m, 1 / m)
        family = Categorical(uniform) if X.ndim == 1 else Multinomial(uniform)
        counts = family.stats(X, weights).total[0]
        return Dirichlet(self.concentration + arrays.asarray(counts, like=self.mean))

    def predictive(self) -> Categorical:
        """The distribution of the next symbol: its probabilities are the mean."""
        return Categorical(self.mean)


def _require_proper(a, name):
    """Refuse pseudo-counts of 0, which have no density."""
    require_all(a > 0, f"this {name} is improper: a parameter is 0.")


def _no_prior(prior, cls):
    if prior is not None:
        raise ValueError(f"{cls.__name__} has no conjugate prior: prior must be None.")


@dataclass(frozen=True, eq=False)
class Beta:
    """Distribution of a probability, independent over coordinates.

    Parameters
    ----------
    a, b : arrays of shape (), (d,) or (k, d)
        Pseudo-counts of 1 and 0, each above 0, or 0 for the improper limit.

    Examples
    --------
    >>> from pansophy.distributions import Beta
    >>> posterior = Beta(2, 2).posterior([1, 1, 1, 0])
    >>> float(posterior.mean), round(float(posterior.mode), 6)
    (0.625, 0.666667)
    >>> float(posterior.predictive().prob)  # of a 1 as the next
    0.625
    >>> float(Beta(0, 0).posterior([1, 1, 1, 0]).mean)
    0.75
    """

    a: Any
    b: Any

    def __post_init__(self):
        a, b = float_parameter(self.a), float_parameter(self.b)
        a, b = a + 0 * b, b + 0 * a
        require_all((a >= 0) & (b >= 0), "a and b must not be negative.")
        object.__setattr__(self, "a", a)
        object.__setattr__(self, "b", b)

    @property
    def pair(self):
        """Dirichlet concentrations of both outcomes, (..., 2)."""
        return arrays.namespace(self.a).stack([self.a, self.b], axis=-1)

    @property
    def mean(self):
        """a / (a + b); NaN where both are 0."""
        return safe_divide(self.a, self.a + self.b, float("nan"))

    @property
    def variance(self):
        total = self.a + self.b
        divisor = total * total * (total + 1)
        return safe_divide(self.a * self.b, divisor, float("nan"))

    @property
    def mode(self):
        return Dirichlet(self.pair).mode[..., 0]

    @property
    def entropy(self):
        h = Dirichlet(self.pair).entropy
        return h if h.ndim == 0 else arrays.namespace(h).sum(h, axis=-1)

    def log_prob(self, X):
        """Eq. (2): (n,) or (n, k)."""
        _require_proper(self.pair, "Beta")

        def one(x, a, b):
            norm = gammaln(a + b) - gammaln(a) - gammaln(b)
            return xlogy(a - 1, x) + xlogy(b - 1, 1 - x) + norm

        return over_coordinates(one, X, self.a, self.b)

    def sample(self, n: int, rng: np.random.Generator):
        """n draws: (n, *a.shape)."""
        _require_proper(self.pair, "Beta")
        a, b = arrays.to_numpy(self.a), arrays.to_numpy(self.b)
        return arrays.asarray(rng.beta(a, b, size=(n, *a.shape)), like=self.a)

    def stats(self, X, weights=None) -> SufficientStatistics:
        """Weight and weighted sums of log x and log(1 - x)."""
        X = as_events(X, int(self.a.shape[-1]) if self.a.ndim else 1)
        return sufficient_statistics(X, weights, safe_log, lambda x: safe_log(1 - x))

    @classmethod
    def from_stats(cls, stats: SufficientStatistics, prior=None) -> "Beta":
        """Maximum-likelihood parameters; there is no conjugate prior here."""
        _no_prior(prior, cls)
        like = stats.total[0]
        g = np.stack(
            [arrays.to_numpy(per_weight(t, stats.weight)) for t in stats.total], axis=-1
        )
        fitted = _fit_dirichlet(g)
        pick = lambda j: arrays.asarray(fitted[..., j], like=like)
        return cls(pick(0), pick(1))

    def posterior(self, X, weights=None, *, trials: int = 1) -> "Beta":
        """Beta(a + ones, b + zeros), given rows of 0 and 1, or their statistics.

        With `trials` N the rows count the successes of N trials each.
        """
        stats = _observed_statistics(X, self.a, weights, 0, trials, "0 and 1 only")
        ones = stats.total[0]
        zeros = trials * weight_along_components(stats.weight, ones) - ones
        return Beta(self.a + ones, self.b + zeros)

    def predictive(self) -> Bernoulli:
        """The distribution of the next 0 or 1: its probability of 1 is the mean."""
        return Bernoulli(self.mean)


@dataclass(frozen=True, eq=False)
class Gamma:
    """Distribution of a positive number, independent over coordinates.

    Parameters
    ----------
    shape, rate : arrays of shape (), (d,) or (k, d)
        a and b of eq. (3), above 0, or 0 for the improper limit; the mean is a / b.

    Examples
    --------
    >>> from pansophy.distributions import Gamma
    >>> posterior = Gamma(2, 1).posterior([3, 5])
    >>> round(float(posterior.mean), 6), round(float(posterior.predictive().mean), 6)
    (3.333333, 3.333333)
    >>> float(Gamma(0, 0).posterior([3, 5]).mean)
    4.0
    """

    shape: Any
    rate: Any

    def __post_init__(self):
        a, b = float_parameter(self.shape), float_parameter(self.rate)
        a, b = a + 0 * b, b + 0 * a
        require_all((a >= 0) & (b >= 0), "shape and rate must not be negative.")
        object.__setattr__(self, "shape", a)
        object.__setattr__(self, "rate", b)

    @property
    def mean(self):
        """shape / rate; NaN where the rate is 0."""
        return safe_divide(self.shape, self.rate, float("nan"))

    @property
    def variance(self):
        return safe_divide(self.shape, self.rate * self.rate, float("nan"))

    @property
    def mode(self):
        xp = arrays.namespace(self.shape)
        top = safe_divide(self.shape - 1, self.rate, float("nan"))
        return xp.maximum(top, xp.zeros_like(top))

    @property
    def entropy(self):
        """Sum over coordinates, () or (k,)."""
        _require_proper(self.shape * self.rate, "Gamma")
        a = self.shape
        xp = arrays.namespace(self.shape)
        h = a - xp.log(self.rate) + gammaln(a) + (1 - a) * digamma(a)
        return h if h.ndim == 0 else xp.sum(h, axis=-1)

    def log_prob(self, X):
        """Eq. (3): (n,) or (n, k)."""
        _require_proper(self.shape * self.rate, "Gamma")

        def one(x, a, b):
            log_b = arrays.namespace(b).log(b)
            return xlogy(a - 1, x) - b * x + a * log_b - gammaln(a)

        return over_coordinates(one, X, self.shape, self.rate)

    def sample(self, n: int, rng: np.random.Generator):
        """n draws: (n, *shape.shape)."""
        _require_proper(self.shape * self.rate, "Gamma")
        a, b = arrays.to_numpy(self.shape), arrays.to_numpy(self.rate)
        return arrays.asarray(rng.gamma(a, 1 / b, size=(n, *a.shape)), like=self.shape)

    def stats(self, X, weights=None) -> SufficientStatistics:
        """Weight and weighted sums of x and log x."""
        X = as_events(X, int(self.shape.shape[-1]) if self.shape.ndim else 1)
        return sufficient_statistics(X, weights, lambda x: x, safe_log)

    @classmethod
    def from_stats(cls, stats: SufficientStatistics, prior=None) -> "Gamma":
        """Maximum-likelihood parameters; there is no conjugate prior here."""
        _no_prior(prior, cls)
        mean, log_mean = (per_weight(t, stats.weight) for t in stats.total)
        a = arrays.asarray(fit_gamma_shape(safe_log(mean) - log_mean), like=mean)
        return cls(a, a / mean)

    def posterior(self, X, weights=None) -> "Gamma":
        """Gamma(a + sum, b + rows), given rows of counts, or their statistics."""
        stats = _observed_statistics(X, self.shape, weights, 0, np.inf, "counts")
        S = stats.total[0]
        return Gamma(
            self.shape + S, self.rate + weight_along_components(stats.weight, S)
        )

    def predictive(self) -> NegativeBinomial:
        """The distribution of the next count of a Poisson."""
        return NegativeBinomial(self.shape, self.rate)


def _observed_statistics(X, parameter, weights, low, high, what):
    """Weight and sum of rows X, in the shape of a prior's parameter; or X itself."""
    if isinstance(X, SufficientStatistics):
        return X
    X = as_events(X, int(parameter.shape[-1]) if parameter.ndim else 1)
    X = arrays.asarray(X, like=parameter)
    xp = arrays.namespace(X)
    is_whole = (xp.floor(X) == X) & (low <= X) & (high >= X)
    wanted = what if high in (1, np.inf) else f"whole numbers from {low} to {high}"
    require_all(is_whole, f"the rows of a posterior must hold {wanted}.")
    stats = sufficient_statistics(X, weights, lambda x: x)
    if parameter.ndim:
        return stats
    return SufficientStatistics(stats.weight, (stats.total[0][..., 0],))
