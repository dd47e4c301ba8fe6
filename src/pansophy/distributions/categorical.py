"""Categorical and multinomial distributions: one of m symbols, and their counts.

    log p(x) = log p_x                                                           (1)
    log p(c) = log N! - sum_v log c_v! + sum_v c_v log p_v,   N = sum_v c_v       (2)

The statistics are weighted counts; the maximum-likelihood p is the relative frequency,
and with a Dirichlet(a) prior the MAP is (count + a - 1) / sum of the same.

Shapes    prob (m,) or (k, m)   X (n,) or (n, 1) symbols 0..m-1   counts X (n, m)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import arrays
from ..core.numerics import safe_divide, safe_log, xlogy
from .base import (
    SufficientStatistics,
    as_events,
    counts_times_log_probability,
    float_parameter,
    gammaln,
    require_all,
    sum_of_weights,
    weighted_sum,
)


def checked_probabilities(prob, what):
    """prob as a float array whose last axis sums to 1."""
    prob = float_parameter(prob)
    xp = arrays.namespace(prob)
    require_all(prob >= 0, f"{what} must not be negative.")
    gap = xp.abs(xp.sum(prob, axis=-1) - 1)
    require_all(gap <= 1e-6, f"{what} must sum to 1 for each component.")
    return prob


def estimated_probabilities(counts, prior=None):
    """Maximum-likelihood probabilities for counts (..., m), or MAP under a Dirichlet.

    A component without any count gets equal probabilities.
    """
    xp = arrays.namespace(counts)
    if prior is not None:
        counts = counts + arrays.asarray(prior.concentration, like=counts) - 1
        counts = xp.maximum(counts, xp.zeros_like(counts))
    total = xp.sum(counts, axis=-1, keepdims=True)
    return safe_divide(counts, total + 0 * counts, 1 / counts.shape[-1])


def pick_rows(prob, z, rng):
    """One symbol for each z_i, drawn from row z_i of prob (k, m)."""
    edges = np.cumsum(prob, axis=1)
    u = rng.random(len(z)) * edges[z, -1]
    return np.minimum((u[:, None] >= edges[z]).sum(axis=1), prob.shape[1] - 1)


@dataclass(frozen=True, eq=False)
class Categorical:
    """One of m symbols 0..m-1.

    Parameters
    ----------
    prob : array of shape (m,) or (k, m)
        Probability of each symbol.

    Examples
    --------
    >>> from pansophy.distributions import Categorical, Dirichlet
    >>> p = Categorical([0.5, 0.25, 0.25])
    >>> s = p.stats([0, 0, 1, 2])
    >>> Categorical.from_stats(s).prob
    array([0.5 , 0.25, 0.25])
    >>> Categorical.from_stats(s, prior=Dirichlet([2.0, 2.0, 2.0])).prob
    array([0.42857143, 0.28571429, 0.28571429])
    """

    prob: Any

    def __post_init__(self):
        object.__setattr__(self, "prob", checked_probabilities(self.prob, "prob"))

    @property
    def single(self) -> bool:
        return self.prob.ndim == 1

    @property
    def mean(self):
        """Mean of the symbol taken as a number."""
        xp = arrays.namespace(self.prob)
        v = xp.arange(self.prob.shape[-1], dtype=self.prob.dtype)
        return xp.sum(self.prob * arrays.asarray(v, like=self.prob), axis=-1)

    @property
    def mode(self):
        return arrays.namespace(self.prob).argmax(self.prob, axis=-1)

    @property
    def entropy(self):
        return -arrays.namespace(self.prob).sum(xlogy(self.prob, self.prob), axis=-1)

    @property
    def free(self) -> int:
        """Number of free parameters."""
        k = 1 if self.single else self.prob.shape[0]
        return k * (self.prob.shape[-1] - 1)

    def __getitem__(self, j) -> "Categorical":
        return Categorical(self.prob[j, ...])

    def symbols(self, X):
        """X as a vector of whole numbers 0..m-1."""
        X = as_events(X, 1)[:, 0]
        xp = arrays.namespace(X)
        m = self.prob.shape[-1]
        value = arrays.as_float(X)
        ok = (value >= 0) & (value <= m - 1) & (xp.floor(value) == value)
        require_all(ok, f"symbols must be whole numbers from 0 to {m - 1}.")
        return xp.astype(X, xp.int64)

    def log_prob(self, X):
        """Eq. (1): (n,) or (n, k)."""
        xp = arrays.namespace(self.prob)
        x = xp.asarray(self.symbols(X), device=arrays.device(self.prob))
        return xp.take(safe_log(self.prob).T, x, axis=0)

    def sample(self, n: int, rng: np.random.Generator):
        """n draws: (n,), or (n, k) for a batch."""
        p = arrays.to_numpy(self.prob)
        rows = p[None] if self.single else p
        draws = [pick_rows(rows, np.full(n, j), rng) for j in range(len(rows))]
        sampled = draws[0] if self.single else np.stack(draws, axis=1)
        xp = arrays.namespace(self.prob)
        return xp.asarray(sampled, device=arrays.device(self.prob))

    def draw(self, z, rng: np.random.Generator):
        """One draw from component z_i for each i: (n, 1)."""
        p = arrays.to_numpy(self.prob)
        return pick_rows(p[None] if self.single else p, np.asarray(z), rng)[:, None]

    def stats(self, X, weights=None) -> SufficientStatistics:
        """Weighted counts of the symbols: (m,) or (k, m)."""
        x = self.symbols(X)
        m = int(self.prob.shape[-1])
        if weights is None or not arrays.is_foreign(x):
            counts = _count_symbols(arrays.to_numpy(x), weights, m)
            counts = arrays.asarray(counts, like=self.prob)
        else:
            xp = arrays.namespace(x)
            v = xp.arange(m, device=arrays.device(x))
            hot = xp.astype(x[:, None] == v, self.prob.dtype)
            counts = weighted_sum(hot, weights)
        return SufficientStatistics(
            arrays.namespace(counts).sum(counts, axis=-1), (counts,)
        )

    @classmethod
    def from_stats(cls, stats: SufficientStatistics, prior=None) -> "Categorical":
        """Relative frequencies; with a `Dirichlet` prior the MAP."""
        return cls(estimated_probabilities(stats.total[0], prior))


def _count_symbols(x, weights, m):
    """Weighted counts of symbols x (n,): (m,), or (k, m) for weights (n, k)."""
    if weights is None:
        return np.bincount(x, minlength=m).astype(float)
    weights = arrays.to_numpy(weights)
    if weights.ndim == 1:
        return np.bincount(x, weights, minlength=m)
    return np.stack([np.bincount(x, w, minlength=m) for w in weights.T])


@dataclass(frozen=True, eq=False)
class Multinomial:
    """Counts of m symbols in N independent draws; N is read off each row.

    Parameters
    ----------
    prob : array of shape (m,) or (k, m)
        Probability of each symbol.
    trials : int, default=1
        N used by `sample`, `mean` and `entropy`-free summaries.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import Multinomial
    >>> p = Multinomial([0.3, 0.7], trials=5)
    >>> round(float(np.exp(p.log_prob([[2, 3]])[0])), 4)
    0.3087
    """

    prob: Any
    trials: int = 1

    def __post_init__(self):
        object.__setattr__(self, "prob", checked_probabilities(self.prob, "prob"))

    @property
    def single(self) -> bool:
        return self.prob.ndim == 1

    @property
    def mean(self):
        return self.trials * self.prob

    @property
    def variance(self):
        return self.trials * self.prob * (1 - self.prob)

    @property
    def free(self) -> int:
        """Number of free parameters."""
        k = 1 if self.single else self.prob.shape[0]
        return k * (self.prob.shape[-1] - 1)

    def log_prob(self, X):
        """Eq. (2): (n,) or (n, k)."""
        X = arrays.asarray(as_events(X, int(self.prob.shape[-1])), like=self.prob)
        require_all(X >= 0, "counts must not be negative.")
        xp = arrays.namespace(X)
        ways = gammaln(xp.sum(X, axis=1) + 1) - xp.sum(gammaln(X + 1), axis=1)
        if not self.single:
            return ways[:, None] + counts_times_log_probability(X, self.prob)
        P = self.prob
        return ways + xp.sum(xlogy(X + 0 * P, P + 0 * X), axis=-1)

    def sample(self, n: int, rng: np.random.Generator):
        """n draws: (n, m), or (n, k, m) for a batch."""
        p = arrays.to_numpy(self.prob)
        size = n if self.single else (n, p.shape[0])
        return arrays.asarray(
            rng.multinomial(self.trials, p, size=size), like=self.prob
        )

    def draw(self, z, rng: np.random.Generator):
        """One draw from component z_i for each i: (n, m)."""
        p = arrays.to_numpy(self.prob)[np.asarray(z)]
        return arrays.asarray(rng.multinomial(self.trials, p), like=self.prob)

    def stats(self, X, weights=None) -> SufficientStatistics:
        """Weighted sums of the counts."""
        X = arrays.asarray(as_events(X, int(self.prob.shape[-1])), like=self.prob)
        return SufficientStatistics(
            sum_of_weights(X, weights), (weighted_sum(X, weights),)
        )

    @classmethod
    def from_stats(
        cls, stats: SufficientStatistics, prior=None, trials: int = 1
    ) -> "Multinomial":
        """Relative frequencies; with a `Dirichlet` prior the MAP."""
        return cls(estimated_probabilities(stats.total[0], prior), trials)
