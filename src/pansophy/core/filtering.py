"""Filtering and smoothing: one recursion for HMMs, Kalman filters and particles.

A hidden chain z_1, z_2, ... is seen through x_1, x_2, ... A belief is a distribution
of z_t, in whatever form; a `Filter` knows three things about it:

    predict   p(z_t | x_1..t-1)  from  p(z_t-1 | x_1..t-1)                       (1)
    update    p(z_t | x_1..t) and log p(x_t | x_1..t-1)  from  p(z_t | x_1..t-1) (2)
    reverse   p(z_t | x_1..n)  from the beliefs at t and p(z_t+1 | x_1..n)       (3)

`bayes_filter` runs (1) and (2) forward, `bayes_smoother` runs (3) backward. For k
discrete states (3) reads  s_t(i) = f_t(i) sum_j A_ij s_t+1(j) / p_t+1(j)  with f the
filtered and p the predicted belief; for linear Gaussian chains it is the
Rauch-Tung-Striebel step. A missing observation is None: (2) is left out.

Discrete chains have compiled loops for the whole sequence. With the likelihoods L_t,
the scaled recursions are  a_t = (a_t-1 A) L_t / c_t  and  b_t = A (L_t+1 b_t+1) /
c_t+1; log p(x) = sum_t log c_t and

    p(z_t = i | x) = a_t(i) b_t(i)                                               (4)
    sum_t p(z_t = i, z_t+1 = j | x) = A_ij sum_t a_t(i) L_t+1(j) b_t+1(j) / c_t+1 (5)

so that expected counts, the statistics of Baum-Welch, cost one pass. Likelihoods
enter as logarithms and each step is divided by its largest; a sequence whose scaled
messages still leave the range of numbers is done again in logarithms.

Sequences of few states go side by side, and a long one is cut up if the chain forgets
(`lanes`). With more states sequences go to threads in groups of fixed size, and a long
one is worked from both ends at once: forward over the first half and backward over
the second, which store their messages; then each goes on over the other's half and
meets what is stored. That takes two threads, half the memory and no more work. What
is done together depends on the evidence alone, not on the number of threads.

Time O(n k^2), memory O(longest sequence * k) a thread, and for few states times the
sequences side by side; Viterbi keeps pointers of one byte, or two beyond 128 states.

Shapes    start (k,)   trans A (k, k)   log_table (v, k)   index (n,)   ends (s,)
Refs      [Rabiner1989]; [Sarkka2013]
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from . import batched_chains, threads
from .hidden_chain import Chain, ChainLayout, Evidence, Expected
from .hidden_chain import group_sequences as groups
from .numerics import safe_divide, safe_log
from .rows import total
from .viterbi import viterbi


@runtime_checkable
class Filter(Protocol):
    """What a model of a hidden chain gives; beliefs are its own business."""

    def predict(self, belief: Any) -> Any: ...
    def update(self, belief: Any, x: Any) -> tuple[Any, float]: ...
    def reverse(self, filtered: Any, predicted: Any, smoothed: Any) -> Any: ...


class Filtered(NamedTuple):
    """Beliefs before and after each observation, and log p of each given the past."""

    predicted: list
    filtered: list
    logliks: np.ndarray

    @property
    def loglik(self) -> float:
        return float(self.logliks.sum())


def bayes_filter(model: Filter, prior, xs: Iterable) -> Filtered:
    """Eq. (1) and (2) along xs; `prior` is the belief in z_1 before x_1."""
    predicted, filtered, logliks = [], [], []
    belief = prior
    for t, x in enumerate(xs):
        belief = model.predict(belief) if t else prior
        predicted.append(belief)
        belief, loglik = (belief, 0.0) if x is None else model.update(belief, x)
        filtered.append(belief)
        logliks.append(float(loglik))
    return Filtered(predicted, filtered, np.array(logliks))


def bayes_smoother(model: Filter, run: Filtered) -> list:
    """Eq. (3) from the last belief back to the first."""
    smoothed = run.filtered[-1:]
    for t in range(len(run.filtered) - 2, -1, -1):
        belief = model.reverse(run.filtered[t], run.predicted[t + 1], smoothed[-1])
        smoothed.append(belief)
    return smoothed[::-1]


class MarkovFilter(NamedTuple):
    """A discrete chain: beliefs are probability vectors (k,)."""

    trans: np.ndarray  # A
    likelihood: Any  # x -> (k,)

    def predict(self, belief):
        return belief @ self.trans

    def update(self, belief, x):
        joint = belief * self.likelihood(x)
        c = joint.sum()
        return safe_divide(joint, c + 0 * joint), float(safe_log(c))

    def reverse(self, filtered, predicted, smoothed):
        return filtered * (self.trans @ safe_divide(smoothed, predicted))


def forward_backward(work: ChainLayout, counts, *, log, paired):
    """For each piece: starts, transitions, counts and log p of its sequences.

    Posteriors go into the rows of `counts` (n, k), or if it is None are summed by
    the row of the table.
    """
    k = work.k

    def logs(begin, ends):
        from ._log_filtering import log_forward_backward

        each, out = work.room(begin, int(ends[-1]), counts)
        logliks, pairs = np.empty(len(ends)), np.zeros((k, k) if paired else (0, 0))
        seen = work.seen(begin, int(ends[-1]), log=True)
        first = log_forward_backward(
            *work.chain, *seen, ends, each, out, pairs, logliks
        )
        return Expected(first, pairs, out, logliks)

    def logs_each(begins, lengths):
        parts = [logs(b, np.array([n])) for b, n in zip(begins, lengths, strict=True)]
        logliks = np.concatenate([p.loglik for p in parts])
        if counts is not None:
            parts = [p._replace(counts=np.zeros((0, k))) for p in parts]
        return total(p._replace(loglik=0.0) for p in parts)._replace(loglik=logliks)

    def one(begin, n):
        return logs(begin, np.array([n]))

    def task(begin, ends):
        if work.few:
            got = batched_chains.expected_of_batch(
                work, begin, ends, counts, paired=paired
            )
            return logs_each(begin, ends) if got is None else got
        got = sequential_forward_backward(work, begin, ends, counts, paired=paired)
        return logs(begin, ends) if got is None else got

    def whole(begin, n):
        ways = [batched_chains.blockwise_forward_backward, two_ended_forward_backward][
            k > batched_chains.MAX_BLOCK_STATES :
        ]
        for way in ways:
            got = way(work, begin, n, counts, paired=paired)
            if got is not None:
                return got
        return one(begin, n)

    if log:
        return work.run(logs_each if work.few else logs, one)
    return work.run(task, whole)


def sequential_forward_backward(work: ChainLayout, begin, ends, counts, *, paired):
    """Expected of sequences one after the other, or None where one is impossible or
    its messages lose their digits."""
    k, pad = work.k, len(work.start)
    each, out = work.room(begin, int(ends[-1]), counts)
    logliks, pairs = np.empty(len(ends)), np.zeros((pad, pad) if paired else (0, 0))
    seen = work.seen(begin, int(ends[-1]))
    first, well = work.loops.expected(
        work.start, work.trans, *seen, ends, each, out, pairs, logliks
    )
    if not well:
        return None
    trans = pairs.T[:k, :k] * work.chain.trans if paired else pairs
    return Expected(first[:k], trans, out, logliks)


def two_ended_forward_backward(work: ChainLayout, begin, n, counts, *, paired):
    """Expected of one long sequence, or None as in `sequential_forward_backward`."""
    k, pad, loops = work.k, len(work.start), work.loops
    back = np.ascontiguousarray(work.trans.T)
    stored, seen, logliks = half_sweeps(work, begin, n, back)
    if stored is None:
        return None
    m, edge = n // 2, np.empty((2, pad))
    each, out = work.room(begin, n, counts)
    pairs = np.zeros((2, pad, pad) if paired else (2, 0, 0))
    other = out if each else np.zeros_like(out)
    middle = stored[m - 1].copy(), stored[m] @ back
    ahead = lambda: loops.meet(
        middle[0], False, work.trans, *seen, m, 1, n - m, stored, each, out,
        pairs[0], edge[0])  # fmt: skip
    home = lambda: loops.meet(
        middle[1], True, back, *seen, m - 1, -1, m, stored, each, other,
        pairs[1], edge[1])  # fmt: skip
    rest, check = threads.run([ahead, home])
    if np.isnan(rest + check):
        return None
    out = out if each else out + other
    trans = pairs[0] + pairs[1].T
    trans = trans[:k, :k] * work.chain.trans if paired else trans
    return Expected(edge[1, :k], trans, out, np.array([logliks[0] + rest]))


def half_sweeps(work: ChainLayout, begin, n, back):
    """Messages of a long sequence, forward in its first half and backward in its
    second, the evidence, and log p of both; None where they left the numbers."""
    pad, m, loops = len(work.start), n // 2, work.loops
    stored = np.empty((n, pad))
    if work.local:
        seen = np.empty((n, pad)), np.empty(n), work.index[:n]
    else:
        seen = work.seen(begin, n)

    def half(first, M, t, step, low, high):
        if work.local:
            rows = work.log_table[begin + low : begin + high]
            loops.exp_rows(rows, seen[0][low:high], seen[1][low:high])
        return loops.sweep(first, M, *seen, t, step, high - low, stored)

    logliks = list(
        threads.run(
            [
                lambda: half(work.start, work.trans, 0, 1, 0, m),
                lambda: half(np.ones(pad), back, n - 1, -1, m, n),
            ]
        )
    )
    return (None if -np.inf in logliks else stored), seen, logliks


def expected_counts(chain: Chain, evidence: Evidence, *, log=False) -> Expected:
    """Eq. (4) and (5), summed over all sequences. `log` works in logarithms."""
    work = ChainLayout(chain, evidence)
    counts = np.empty((work.n, work.k)) if work.dense else None
    parts = forward_backward(work, counts, log=log, paired=True)
    none = np.zeros((0, work.k))
    if work.dense:
        parts = (p._replace(counts=none) for p in parts)
    out = total(p._replace(loglik=float(p.loglik.sum())) for p in parts)
    return out._replace(counts=counts) if work.dense else out


def smooth_chain(chain: Chain, evidence: Evidence, *, log=False):
    """Posterior of the state at every step (n, k), and log p of each sequence (s,)."""
    work = ChainLayout(chain, evidence)
    out = np.empty((work.n, work.k))
    parts = forward_backward(work, out, log=log, paired=False)
    return out, in_sequence_order(work, [p.loglik for p in parts])


def in_sequence_order(work: ChainLayout, logliks):
    """What the pieces say of their sequences, as the sequences stand."""
    out = np.empty(sum(map(len, logliks)))
    out[work.order] = np.concatenate(logliks)
    return out


def forward_filter(work: ChainLayout, out):
    """Beliefs into `out` (n, k) unless it is empty, and log p of each sequence."""

    def logs(begin, ends):
        from ._log_filtering import log_beliefs

        n, logliks = int(ends[-1]), np.empty(len(ends))
        part = out[begin : begin + n] if len(out) else np.empty((n, work.k))
        seen = work.seen(begin, n, log=True)
        log_beliefs(*work.chain, *seen, ends, part, logliks)
        return logliks

    def one(begin, n):
        return logs(begin, np.array([n]))

    def task(begin, ends):
        if work.few:
            got = batched_chains.beliefs_of_batch(work, begin, ends, out)
            if got is None:
                each = zip(begin, ends, strict=True)
                return np.concatenate([one(b, n) for b, n in each])
            return got
        n, logliks = int(ends[-1]), np.empty(len(ends))
        seen, part = work.seen(begin, n), out[begin : begin + n]
        well = work.loops.beliefs(work.start, work.trans, *seen, ends, part, logliks)
        return logliks if well else logs(begin, ends)

    def whole(begin, n):
        got = (
            batched_chains.blockwise_beliefs(work, begin, n, out)
            if work.k <= batched_chains.MAX_BLOCK_STATES
            else None
        )
        if got is None and not len(out):
            got = two_ended_log_likelihood(work, begin, n)
        if got is None:
            got = task(np.array([begin]) if work.few else begin, np.array([n]))
        return got

    return in_sequence_order(work, list(work.run(task, whole)))


def two_ended_log_likelihood(work: ChainLayout, begin, n):
    """Log p of one long sequence (1,), or None."""
    back = np.ascontiguousarray(work.trans.T)
    stored, _, logliks = half_sweeps(work, begin, n, back)
    if stored is None:
        return None
    a, v = stored[n // 2 - 1], stored[n // 2]
    joint = a @ work.trans @ v / (a.sum() * v.sum())
    return np.array([sum(logliks) + np.log(joint)]) if joint > 0 else None


def filter_chain(chain: Chain, evidence: Evidence):
    """Belief in the state at every step given the past (n, k), and log p (s,)."""
    work = ChainLayout(chain, evidence)
    out = np.empty((work.n, work.k))
    return out, forward_filter(work, out)


def sequence_log_likelihoods(chain: Chain, evidence: Evidence):
    """Log p of each sequence (s,)."""
    return forward_filter(ChainLayout(chain, evidence), np.empty((0, 0)))
