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
says nothing about z_t, and its likelihood is 1 in every state. Hard EM, or Viterbi
training, counts along the likeliest path instead, and raises max_z log p(x, z). A
state that is never visited keeps its parameters.

Time O(n k^2) a turn beyond log b. Sequences run on threads.

Shapes    X (n, d) all sequences one after the other, ends (s,)   pi (k,)   A (k, k)
Refs      [Baum1970]; [Rabiner1989]
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.filtering import Chain, Evidence, Expected, expected_counts, viterbi
from ..core.numerics import safe_divide, safe_log
from ..distributions.base import SufficientStatistics
from ..distributions.categorical import Categorical, pick_rows
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
    if hasattr(emission, "evidence"):  # see `emissions`: reads gaps, has a quick way
        return emission.evidence(X, ends)
    if isinstance(emission, Categorical):
        none = np.zeros((1, len(emission.prob)))
        table = np.vstack([safe_log(emission.prob.T), none])
        return Evidence(table, codes(emission, X), ends)
    gone = np.isnan(X).any(axis=1)
    table = emission.log_prob(np.where(gone[:, None], 0.0, X))
    return Evidence(np.where(gone[:, None], 0.0, table), None, ends)


def codes(emission: Categorical, X) -> np.ndarray:
    """Symbols (n,) as small whole numbers, m where one is missing; codes as they are.

    A fit makes them once and hands them to every turn in place of X.
    """
    if X.ndim == 1:
        return X
    m, x = emission.prob.shape[1], X[:, 0]
    if np.isnan(x.min(initial=0.0)):
        x = np.where(np.isnan(x), m, x)
    return x.astype(np.int32)


def with_stop(seen: Evidence, stop) -> Evidence:
    """Evidence in which each sequence ends: the last step has the factor stop (k,)."""
    last, log_stop = seen.ends - 1, safe_log(np.asarray(stop, dtype=float))
    if seen.index is None:
        table = np.array(seen.log_table, dtype=float)
        table[last] += log_stop
        return Evidence(table, None, seen.ends)
    index = np.array(seen.index)
    index[last] += len(seen.log_table)
    table = np.vstack([seen.log_table, seen.log_table + log_stop])
    return Evidence(table, index, seen.ends)


def path_counts(chain: Chain, seen: Evidence) -> Expected:
    """Counts along the likeliest paths, and the log-probability of those: hard EM."""
    path, scores = viterbi(chain, seen)
    k, n = len(chain.start), len(path)
    begins = np.r_[0, seen.ends[:-1]]
    start = np.bincount(path[begins], minlength=k).astype(float)
    inner = np.ones(n, bool)
    inner[begins] = False
    t = np.flatnonzero(inner)
    trans = np.bincount(path[t - 1] * k + path[t], minlength=k * k).reshape(k, k)
    rows = np.arange(n) if seen.index is None else seen.index
    v = len(seen.log_table)
    counts = np.bincount(rows * k + path, minlength=v * k).reshape(v, k)
    total = float(scores.sum())
    return Expected(start, trans.astype(float), counts.astype(float), total)


def expect(p: Params, X, ends, *, log=False, hard=False) -> tuple[Stats, float]:
    """E-step: expected counts under p, and log p(x).

    If `hard`, counts along the likeliest paths, and log p(x, path).
    """
    seen, chain = evidence(p.emission, X, ends), Chain(p.start, p.trans)
    E = path_counts(chain, seen) if hard else expected_counts(chain, seen, log=log)
    if hasattr(p.emission, "evidence"):
        return Stats(E.start, E.trans, p.emission.expected(X, E.counts)), E.loglik
    if seen.index is not None:
        counts = np.ascontiguousarray(E.counts[:-1].T)  # without the missing
        return Stats(
            E.start, E.trans, SufficientStatistics(counts.sum(1), (counts,))
        ), E.loglik
    here = ~np.isnan(X).any(axis=1)
    return Stats(E.start, E.trans, p.emission.stats(X[here], E.counts[here])), E.loglik


def maximise(stats: Stats, old: Params, priors: Priors, letters: str) -> Params:
    """M-step, eq. (2) and (3), of the parameters named by letters s, t and e."""
    start, trans, emission = old
    if "s" in letters:
        start = likeliest(stats.start, start, priors.start)
    if "t" in letters:
        trans = likeliest(stats.trans, trans, priors.trans)
    own = set(letters) - set("st")  # letters of the emission, "e" if it has but one
    if own and hasattr(emission, "learn"):
        emission = emission.learn(stats.emission, priors.emission, own)
    elif own:
        new = type(emission).from_stats(stats.emission, prior=priors.emission)
        emission = kept(emission, new, stats.emission, priors.emission)
    return Params(start, trans, emission)


def kept(old, new, stats, prior):
    """The new emission; symbols of a state that emits nothing keep their old one."""
    if not isinstance(new, Categorical) or prior is not None:
        return new
    empty = np.asarray(stats.weight) <= 0
    return Categorical(np.where(empty[:, None], old.prob, new.prob))


def likeliest(counts, old, prior):
    """Relative frequencies with pseudo-counts; what was impossible stays so.

    A row without counts or prior keeps what it was.
    """
    prior = np.broadcast_to(np.asarray(prior, dtype=float), counts.shape)
    p = np.where(old == 0, 0.0, np.maximum(counts + prior - 1, 0.0))
    total = p.sum(axis=-1, keepdims=True)
    return np.where(total > 0, safe_divide(p, total + 0 * p), old)


def log_prior(p: Params, priors: Priors, letters: str) -> float:
    """The part of the objective that comes from the priors, up to a constant."""

    def dirichlet(prob, a):
        a = np.broadcast_to(np.asarray(a, dtype=float), prob.shape)
        some = (prob > 0) & (a != 1)
        return float(((a[some] - 1) * np.log(prob[some])).sum())

    value = dirichlet(p.start, priors.start) if "s" in letters else 0.0
    value += dirichlet(p.trans, priors.trans) if "t" in letters else 0.0
    if hasattr(p.emission, "log_prior"):
        value += p.emission.log_prior(priors.emission)
    elif "e" in letters and isinstance(priors.emission, Dirichlet):
        value += dirichlet(p.emission.prob, priors.emission.concentration)
    return value


def simulate(p: Params, n: int, rng, first=None):
    """n steps of the chain and what it emits: X (n, d), z (n,)."""
    from ._walk import walk

    edges = np.cumsum(p.trans, axis=1)
    edges = np.where(edges >= edges[:, -1:], 1.0, edges)  # a walk that does not end
    z = np.empty(n, np.int64)
    z[0] = (
        pick_rows(p.start[None], np.zeros(1, int), rng)[0] if first is None else first
    )
    walk(edges, z[0], len(edges), rng.random(n - 1), z[1:])
    return p.emission.draw(z, rng), z
