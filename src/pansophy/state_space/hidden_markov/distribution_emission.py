"""Emissions of hidden Markov models by any batch of distributions: counts, symbols.

An emission reads rows X (n, d) with NaN where a value is missing, and gives what
`hmm` asks for: the evidence of all rows, statistics under the posteriors, and the
M-step `learn`. It wraps a batch of k distributions and adds three things:

- rows that are equal are looked at once. Counts and symbols repeat, so the loops run
  over a table with one row for each different one, and give back expected counts of
  those;
- a value that is missing drops out where the coordinates are independent, else the
  whole row does;
- a state to which no row belongs keeps what it has, and so does one whose most likely
  parameters do not exist. Both are told in `notes`.

Shapes    X (n, d)   values (v, d) different rows   counts (v, k) or (n, k)
"""

from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...core.chains.filtering import Evidence
from ...distributions.base import SufficientStatistics
from ...distributions.categorical import Categorical, Multinomial
from ...distributions.counts import Bernoulli, Poisson
from ...distributions.priors import Dirichlet, Gamma
from .gaussian_hmm import EMPTY_STATE, empty_state_notes

DISCRETE = (Categorical, Multinomial, Bernoulli, Poisson)
INDEPENDENT = (Bernoulli, Poisson, Gamma)  # over coordinates
MAX_GAMMA_SHAPE = 1e8  # shape of a Gamma, beyond which it is a point


class GammaPseudoCounts(NamedTuple):
    """A Gamma prior of rates by its counts: `shape` - 1 events in `rate` steps."""

    shape: Any
    rate: Any


class UniqueRows(NamedTuple):
    """Different rows, and which of them each row is; None for itself."""

    X: np.ndarray
    values: np.ndarray  # (v, d)
    index: np.ndarray | None  # (n,)


def unique_rows(X, discrete: bool) -> UniqueRows:
    """Equal rows once, if that saves half of them."""
    if not discrete:
        return UniqueRows(X, X, None)
    low = np.where(np.isnan(X), -1.0, X)  # counts and symbols are not negative
    if X.shape[1] == 1:
        values, index = np.unique(low[:, 0], return_inverse=True)
        values = values[:, None]
    else:
        values, index = np.unique(low, axis=0, return_inverse=True)
    if 2 * len(values) > len(X):
        return UniqueRows(X, X, None)
    index = np.ascontiguousarray(index.reshape(-1), np.int64)
    return UniqueRows(X, np.where(values < 0, np.nan, values), index)


@dataclass(frozen=True, eq=False)
class DistributionEmission:
    """A batch of k distributions of one family as an emission."""

    distribution: Any
    notes: tuple = ()
    cache: list = field(default_factory=list)

    def table(self, X) -> UniqueRows:
        if not self.cache or self.cache[0].X is not X:
            self.cache[:] = [unique_rows(X, isinstance(self.distribution, DISCRETE))]
        return self.cache[0]

    @property
    def k(self) -> int:
        return len(batched_parameters(self.distribution)[0][1])

    def log_prob_of_values(self, values):
        """Log-densities of rows with gaps."""
        gone = np.isnan(values)
        if not gone.any():
            return self.distribution.log_prob(values)
        out = np.zeros((len(values), self.k))
        is_complete = ~gone.any(axis=1)
        if is_complete.any():
            out[is_complete] = self.distribution.log_prob(values[is_complete])
        if isinstance(self.distribution, INDEPENDENT):
            for a in range(values.shape[1]):
                seen_alone = ~is_complete & ~gone[:, a]
                if seen_alone.any():
                    out[seen_alone] += one_coordinate(self.distribution, a).log_prob(
                        values[seen_alone][:, [a]]
                    )
        return out

    def log_prob(self, X):
        t = self.table(X)
        L = self.log_prob_of_values(t.values)
        return L if t.index is None else L[t.index]

    def evidence(self, X, ends) -> Evidence:
        t = self.table(X)
        return Evidence(self.log_prob_of_values(t.values), t.index, ends)

    def expected(self, X, counts):
        """Statistics from counts in the form of the evidence."""
        values = self.table(X).values
        gone = np.isnan(values)
        if not gone.any():
            return self.distribution.stats(values, counts)
        if isinstance(self.distribution, INDEPENDENT):
            column_stats = [
                one_coordinate(self.distribution, a).stats(
                    values[~g][:, [a]], counts[~g]
                )
                for a, g in enumerate(gone.T)
            ]
            total = zip(*(s.total for s in column_stats), strict=True)
            return SufficientStatistics(
                np.stack([s.weight for s in column_stats], axis=1),
                tuple(np.concatenate(t, axis=1) for t in total),
            )
        is_complete = ~gone.any(axis=1)
        return self.distribution.stats(values[is_complete], counts[is_complete])

    def stats(self, X, R):
        """Statistics from weights (n, k) of the rows themselves."""
        t = self.table(X)
        if t.index is not None:
            n, v = len(X), len(t.values)
            R = sp.csr_array((np.ones(n), (t.index, np.arange(n))), shape=(v, n)) @ R
        return self.expected(X, R)

    def learn(self, stats, prior, letters) -> "DistributionEmission":
        old = self.distribution
        options = {"trials": old.trials} if isinstance(old, Multinomial) else {}
        weight = np.asarray(stats.weight)
        if prior is None and (weight < EMPTY_STATE).any():
            stats = stats._replace(weight=np.maximum(weight, EMPTY_STATE))
        with np.errstate(all="ignore"):  # a point has no shape: what fails stays
            new = type(old).from_stats(stats, prior=prior, **options)
        empty = weight < EMPTY_STATE
        stay = empty.reshape(len(empty), -1) & (prior is None)
        lost = np.zeros(self.k, bool)
        for _, value in batched_parameters(new):
            value = value.reshape(len(value), -1)
            limit = MAX_GAMMA_SHAPE if isinstance(old, Gamma) else np.inf
            lost |= (~np.isfinite(value) | (value > limit)).any(axis=1)
        stay = stay | lost[:, None]
        distribution = replace(
            new,
            **{
                n: _keep_old_parameters(old, new, n, stay)
                for n, _ in batched_parameters(new)
            },
        )
        has_no_rows = empty if empty.ndim == 1 else empty.all(axis=1)
        notes = [
            *empty_state_notes(has_no_rows),
            *degenerate_notes(lost & ~has_no_rows),
        ]
        return replace(self, distribution=distribution, notes=tuple(notes))

    def log_prior(self, prior) -> float:
        """The part of the objective that comes from the prior, up to a constant."""
        if isinstance(prior, Dirichlet):
            return float(
                weighted_log_sum(prior.concentration - 1, self.distribution.prob)
            )
        if isinstance(prior, GammaPseudoCounts):
            rate = self.distribution.rate
            rate_term = float((np.broadcast_to(prior.rate, rate.shape) * rate).sum())
            return (
                float(weighted_log_sum(np.asarray(prior.shape) - 1, rate)) - rate_term
            )
        return 0.0

    def draw(self, z, rng):
        if hasattr(self.distribution, "draw"):
            return np.asarray(self.distribution.draw(z, rng), float)
        samples = self.distribution.sample(len(z), rng)
        return np.asarray(samples, float)[np.arange(len(z)), z].reshape(len(z), -1)

    @property
    def free(self) -> int:
        if hasattr(self.distribution, "free"):
            return int(self.distribution.free)
        return sum(value.size for _, value in batched_parameters(self.distribution))


def batched_parameters(distribution):
    """Names and values of the parameters that have one entry for each component."""
    pairs = ((f.name, getattr(distribution, f.name)) for f in fields(distribution))
    return [(name, value) for name, value in pairs if np.ndim(value)]


def one_coordinate(distribution, a):
    """Coordinate a of independent ones."""
    return replace(
        distribution,
        **{n: v[:, [a]] for n, v in batched_parameters(distribution)},
    )


def _keep_old_parameters(old, new, name, stay):
    """A parameter as learned, but as it was where it is to stay."""
    old_value, value = getattr(old, name), getattr(new, name)
    return (
        np.where(stay.reshape(len(stay), -1), old_value, value) if stay.any() else value
    )


def degenerate_notes(lost):
    names = ", ".join(str(j) for j in np.flatnonzero(lost))
    if names:
        yield f"state {names} has shrunk to a point and keeps its old parameters."


def weighted_log_sum(a, p):
    """sum a log p over the entries where neither is 0."""
    a = np.broadcast_to(a, p.shape)
    has_term = (a != 0) & (p > 0)
    return (a[has_term] * np.log(p[has_term])).sum()
