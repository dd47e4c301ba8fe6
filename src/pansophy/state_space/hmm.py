"""Hidden Markov models with emissions of any distribution.

A chain z_1, z_2, ... of k states starts in pi and moves by A; state j emits x_t from
the j-th component of a batch of distributions, b_j:

    p(x, z) = pi(z_1) b_{z_1}(x_1) prod_t A(z_t-1, z_t) b_{z_t}(x_t)              (1)

Baum-Welch is EM [Baum1970]: the E-step takes the posteriors g_t(j) = p(z_t = j | x)
and expected transitions from `core.filtering`, the M-step is counting,

    pi = sum over sequences of g_1,   A_ij in proportion to expected i -> j      (2)
    b = from_stats( sum_t g_t(j) s(x_t) )                                        (3)

plus the pseudo-counts of Dirichlet priors. Nothing here depends on what b is: any
`Distribution` with stats and from_stats will do. An x_t that is NaN is missing: it
says nothing about z_t, and its likelihood is 1 in every state.

Time O(n k^2) a turn beyond log b. Sequences run on threads.

Shapes    X (n, d) all sequences one after the other, ends (s,)   pi (k,)   A (k, k)
Refs      [Baum1970]; [Rabiner1989]
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.filtering import Chain, Evidence, expected_counts
from ..core.numerics import safe_log
from ..distributions.base import Sums
from ..distributions.categorical import Categorical, frequencies, pick_rows
from ..distributions.priors import Dirichlet


class Params(NamedTuple):
    """What Baum-Welch estimates."""

    start: np.ndarray  # pi
    trans: np.ndarray  # A
    emission: Any  # b, a batch of k distributions


class Stats(NamedTuple):
    """Expected counts, eq. (2) and (3)."""

    start: np.ndarray
    trans: np.ndarray
    emission: Any  # statistics of the emission's own kind


class Priors(NamedTuple):
    """Pseudo-counts of the Dirichlet priors; 1 adds nothing."""

    start: Any = 1.0
    trans: Any = 1.0
    emission: Any = None  # a conjugate prior of the emission, or None


def evidence(emission, X, ends) -> Evidence:
    """log b_j(x_t) as the loops take it: by symbol if there are any, else by step."""
    if isinstance(emission, Categorical):
        m, x = emission.prob.shape[1], X[:, 0]
        table = np.vstack(
            [safe_log(emission.prob.T), np.zeros((1, len(emission.prob)))]
        )
        index = np.where(np.isnan(x), m, x).astype(np.int64)
        return Evidence(table, index, ends)
    gone = np.isnan(X).any(axis=1)
    table = emission.log_prob(np.where(gone[:, None], 0.0, X))
    return Evidence(np.where(gone[:, None], 0.0, table), None, ends)


def expect(p: Params, X, ends, *, log=False) -> tuple[Stats, float]:
    """E-step: expected counts under p, and log p(x)."""
    seen = evidence(p.emission, X, ends)
    E = expected_counts(Chain(p.start, p.trans), seen, log=log)
    if seen.index is not None:
        counts = np.ascontiguousarray(E.counts[:-1].T)  # without the missing
        return Stats(E.start, E.trans, Sums(counts.sum(1), (counts,))), E.loglik
    here = ~np.isnan(X).any(axis=1)
    return Stats(E.start, E.trans, p.emission.stats(X[here], E.counts[here])), E.loglik


def maximise(stats: Stats, old: Params, priors: Priors, letters: str) -> Params:
    """M-step, eq. (2) and (3), of the parameters named by letters s, t and e."""
    start, trans, emission = old
    if "s" in letters:
        start = likeliest(stats.start, start, priors.start)
    if "t" in letters:
        trans = likeliest(stats.trans, trans, priors.trans)
    if "e" in letters:
        emission = type(emission).from_stats(stats.emission, prior=priors.emission)
    return Params(start, trans, emission)


def likeliest(counts, old, prior):
    """Relative frequencies with pseudo-counts; what was impossible stays so."""
    prior = np.broadcast_to(np.asarray(prior, dtype=float), counts.shape)
    p = np.where(old == 0, 0.0, np.maximum(counts + prior - 1, 0.0))
    return frequencies(p)


def log_prior(p: Params, priors: Priors, letters: str) -> float:
    """The part of the objective that comes from the priors, up to a constant."""

    def dirichlet(prob, a):
        a = np.broadcast_to(np.asarray(a, dtype=float), prob.shape)
        some = (prob > 0) & (a != 1)
        return float(((a[some] - 1) * np.log(prob[some])).sum())

    value = dirichlet(p.start, priors.start) if "s" in letters else 0.0
    value += dirichlet(p.trans, priors.trans) if "t" in letters else 0.0
    if "e" in letters and isinstance(priors.emission, Dirichlet):
        value += dirichlet(p.emission.prob, priors.emission.concentration)
    return value


def simulate(p: Params, n: int, rng, first=None):
    """n steps of the chain and what it emits: X (n, d), z (n,)."""
    z = np.empty(n, np.int64)
    z[0] = (
        pick_rows(p.start[None], np.zeros(1, int), rng)[0] if first is None else first
    )
    for t in range(1, n):
        z[t] = pick_rows(p.trans, z[t - 1 : t], rng)[0]
    return p.emission.draw(z, rng), z
