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

Discrete chains have compiled loops for whole sequences. With the likelihoods L_t, the
scaled recursions are  a_t = (a_t-1 A) L_t / c_t  and  b_t = A (L_t+1 b_t+1) / c_t+1;
log p(x) = sum_t log c_t and

    p(z_t = i | x) = a_t(i) b_t(i)                                               (4)
    sum_t p(z_t = i, z_t+1 = j | x) = A_ij sum_t a_t(i) L_t+1(j) b_t+1(j) / c_t+1 (5)

so that expected counts, the statistics of Baum-Welch, cost one pass. Likelihoods
are given as logarithms and each step is divided by its largest; a sequence whose
scaled messages still underflow is computed again in logarithms (`_log_filtering`).

How sequences are processed:

    sequential   one after the other, groups of sequences on threads (`_filtering`)
    batched      up to 16 states, many sequences at once in vector instructions
    blockwise    up to 6 states, one long sequence cut into blocks that are batched
                 (both in `batched_chains`)
    two-ended    one long sequence from both ends on two threads: forward over the
                 first half and backward over the second, which store their messages;
                 then each goes on over the half of the other and meets what is stored

What is computed together depends on the evidence alone, not on the number of threads.

Time O(n k^2), memory O(longest sequence * k) for each thread, and for batches times
the sequences of a batch. Viterbi keeps back-pointers of one byte (two beyond 128
states).

Shapes    start (k,)   trans A (k, k)   log_table (v, k)   index (n,)   ends (s,)
Refs      [Rabiner1989]; [Sarkka2013]
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..arrays.rows import sum_statistics
from ..loops import threads
from ..numerics import safe_divide, safe_log
from . import batched_chains
from .hidden_chain import Chain, ChainLayout, Evidence, Expected
from .hidden_chain import group_sequences as group_sequences
from .viterbi import viterbi as viterbi


@runtime_checkable
class Filter(Protocol):
    """Contract of a hidden-chain model; the form of a belief is up to the model."""

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


def _forward_backward(layout: ChainLayout, counts, *, log, paired):
    """`Expected` of each piece, with log p of each of its sequences.

    Posteriors go into the rows of `counts` (n, k), or if it is None are summed by
    the row of the table; pairs are counted only if `paired`.
    """

    def short(begin, ends):
        if layout.batched:
            result = batched_chains.expected_of_batch(
                layout, begin, ends, counts, paired=paired
            )
            if result is None:
                return _log_batch(layout, begin, ends, counts, paired=paired)
            return result
        result = _sequential_forward_backward(
            layout, begin, ends, counts, paired=paired
        )
        if result is None:
            return _log_group(layout, begin, ends, counts, paired=paired)
        return result

    def long(begin, n):
        result = None
        if layout.k <= batched_chains.MAX_BLOCK_STATES:
            result = batched_chains.blockwise_forward_backward(
                layout, begin, n, counts, paired=paired
            )
        if result is None:
            result = _two_ended_forward_backward(
                layout, begin, n, counts, paired=paired
            )
        return log_long(begin, n) if result is None else result

    def log_short(begin, ends):
        in_logs = _log_batch if layout.batched else _log_group
        return in_logs(layout, begin, ends, counts, paired=paired)

    def log_long(begin, n):
        return _log_group(layout, begin, np.array([n]), counts, paired=paired)

    return layout.run(log_short, log_long) if log else layout.run(short, long)


def _log_group(layout: ChainLayout, begin, ends, counts, *, paired):
    """`Expected` of sequences one after the other, in logarithms."""
    from ._log_filtering import log_forward_backward

    n = int(ends[-1])
    k = layout.k
    counts_each, count_table = layout.count_rows(begin, n, counts)
    logliks = np.empty(len(ends))
    pairs = np.zeros((k, k) if paired else (0, 0))
    first = log_forward_backward(
        *layout.chain,
        *layout.log_evidence(begin, n),
        ends,
        counts_each,
        count_table,
        pairs,
        logliks,
    )
    return Expected(first, pairs, count_table, logliks)


def _log_batch(layout: ChainLayout, begins, lengths, counts, *, paired):
    """`Expected` of a batch of sequences, in logarithms."""
    parts = [
        _log_group(layout, begin, np.array([n]), counts, paired=paired)
        for begin, n in zip(begins, lengths, strict=True)
    ]
    logliks = np.concatenate([part.loglik for part in parts])
    if counts is not None:
        parts = [part._replace(counts=np.zeros((0, layout.k))) for part in parts]
    expected = sum_statistics(part._replace(loglik=0.0) for part in parts)
    return expected._replace(loglik=logliks)


def _sequential_forward_backward(layout: ChainLayout, begin, ends, counts, *, paired):
    """`Expected` of sequences one after the other; None where one is impossible or
    its messages lose their digits."""
    k = layout.k
    padded = len(layout.start)
    n = int(ends[-1])
    counts_each, count_table = layout.count_rows(begin, n, counts)
    logliks = np.empty(len(ends))
    pairs = np.zeros((padded, padded) if paired else (0, 0))
    first, is_possible = layout.loops.scaled_forward_backward(
        layout.start,
        layout.trans,
        layout.scaled_evidence(begin, n),
        ends,
        counts_each,
        count_table,
        pairs,
        logliks,
    )
    if not is_possible:
        return None
    trans = pairs.T[:k, :k] * layout.chain.trans if paired else pairs
    return Expected(first[:k], trans, count_table, logliks)


def _two_ended_forward_backward(layout: ChainLayout, begin, n, counts, *, paired):
    """`Expected` of one long sequence from both ends, on two threads.

    None where it is impossible or its messages lose their digits.
    """
    k = layout.k
    padded = len(layout.start)
    loops = layout.loops
    backward_trans = np.ascontiguousarray(layout.trans.T)
    stored, evidence, logliks = _half_sweeps(layout, begin, n, backward_trans)
    if stored is None:
        return None
    m = n // 2
    edge = np.empty((2, padded))
    counts_each, count_table = layout.count_rows(begin, n, counts)
    pairs = np.zeros((2, padded, padded) if paired else (2, 0, 0))
    other_counts = count_table if counts_each else np.zeros_like(count_table)
    forward_middle = stored[m - 1].copy()
    backward_middle = stored[m] @ backward_trans

    def forward():
        return loops.meeting_sweep(
            forward_middle, False, layout.trans, evidence, m, 1, n - m, stored,
            counts_each, count_table, pairs[0], edge[0],
        )  # fmt: skip

    def backward():
        return loops.meeting_sweep(
            backward_middle, True, backward_trans, evidence, m - 1, -1, m, stored,
            counts_each, other_counts, pairs[1], edge[1],
        )  # fmt: skip

    rest, check = threads.run_tasks([forward, backward])
    if np.isnan(rest + check):
        return None
    count_table = count_table if counts_each else count_table + other_counts
    trans = pairs[0] + pairs[1].T
    trans = trans[:k, :k] * layout.chain.trans if paired else trans
    return Expected(edge[1, :k], trans, count_table, np.array([logliks[0] + rest]))


def _half_sweeps(layout: ChainLayout, begin, n, backward_trans):
    """Messages of a long sequence, forward in its first half and backward in its
    second, the evidence, and log p of both halves; None where they underflow."""
    padded = len(layout.start)
    m = n // 2
    loops = layout.loops
    stored = np.empty((n, padded))
    if layout.per_piece:
        table, top = np.empty((n, padded)), np.empty(n)
        evidence = loops.ScaledEvidence(table, top, layout.index[:n])
    else:
        evidence = layout.scaled_evidence(begin, n)

    def half(first, M, t, step, low, high):
        if layout.per_piece:
            rows = layout.log_table[begin + low : begin + high]
            loops.scaled_exponentials(
                rows, evidence.table[low:high], evidence.top[low:high]
            )
        return loops.scaled_sweep(first, M, evidence, t, step, high - low, stored)

    forward = lambda: half(layout.start, layout.trans, 0, 1, 0, m)
    backward = lambda: half(np.ones(padded), backward_trans, n - 1, -1, m, n)
    logliks = list(threads.run_tasks([forward, backward]))
    return (None if -np.inf in logliks else stored), evidence, logliks


def expected_counts(chain: Chain, evidence: Evidence, *, log=False) -> Expected:
    """Eq. (4) and (5), summed over all sequences. `log` works in logarithms."""
    layout = ChainLayout(chain, evidence)
    counts = np.empty((layout.n, layout.k)) if layout.dense else None
    parts = _forward_backward(layout, counts, log=log, paired=True)
    if layout.dense:
        parts = (part._replace(counts=np.zeros((0, layout.k))) for part in parts)
    expected = sum_statistics(
        part._replace(loglik=float(part.loglik.sum())) for part in parts
    )
    return expected._replace(counts=counts) if layout.dense else expected


def smooth_chain(chain: Chain, evidence: Evidence, *, log=False):
    """Posterior of the state at every step (n, k), and log p of each sequence (s,)."""
    layout = ChainLayout(chain, evidence)
    posterior = np.empty((layout.n, layout.k))
    parts = _forward_backward(layout, posterior, log=log, paired=False)
    return posterior, _in_sequence_order(layout, [part.loglik for part in parts])


def _in_sequence_order(layout: ChainLayout, logliks):
    """Log p of the sequences of all pieces, in the order of the sequences."""
    out = np.empty(sum(map(len, logliks)))
    out[layout.order] = np.concatenate(logliks)
    return out


def _forward_filter(layout: ChainLayout, out):
    """Beliefs into `out` (n, k) unless it is empty, and log p of each sequence."""

    def in_logs(begin, ends):
        from ._log_filtering import log_beliefs

        n = int(ends[-1])
        logliks = np.empty(len(ends))
        part = out[begin : begin + n] if len(out) else np.empty((n, layout.k))
        log_beliefs(*layout.chain, *layout.log_evidence(begin, n), ends, part, logliks)
        return logliks

    def short(begin, ends):
        if layout.batched:
            logliks = batched_chains.beliefs_of_batch(layout, begin, ends, out)
            if logliks is None:
                sequences = zip(begin, ends, strict=True)
                return np.concatenate([in_logs(b, np.array([n])) for b, n in sequences])
            return logliks
        n = int(ends[-1])
        logliks = np.empty(len(ends))
        evidence = layout.scaled_evidence(begin, n)
        part = out[begin : begin + n]
        is_possible = layout.loops.scaled_beliefs(
            layout.start, layout.trans, evidence, ends, part, logliks
        )
        return logliks if is_possible else in_logs(begin, ends)

    def long(begin, n):
        logliks = None
        if layout.k <= batched_chains.MAX_BLOCK_STATES:
            logliks = batched_chains.blockwise_beliefs(layout, begin, n, out)
        if logliks is None and not len(out):
            logliks = _two_ended_log_likelihood(layout, begin, n)
        if logliks is None:
            logliks = short(
                np.array([begin]) if layout.batched else begin, np.array([n])
            )
        return logliks

    return _in_sequence_order(layout, list(layout.run(short, long)))


def _two_ended_log_likelihood(layout: ChainLayout, begin, n):
    """Log p of one long sequence (1,), or None where its messages underflow."""
    backward_trans = np.ascontiguousarray(layout.trans.T)
    stored, _, logliks = _half_sweeps(layout, begin, n, backward_trans)
    if stored is None:
        return None
    a, v = stored[n // 2 - 1], stored[n // 2]
    joint = a @ layout.trans @ v / (a.sum() * v.sum())
    return np.array([sum(logliks) + np.log(joint)]) if joint > 0 else None


def filter_chain(chain: Chain, evidence: Evidence):
    """Belief in the state at every step given the past (n, k), and log p (s,)."""
    layout = ChainLayout(chain, evidence)
    out = np.empty((layout.n, layout.k))
    return out, _forward_filter(layout, out)


def sequence_log_likelihoods(chain: Chain, evidence: Evidence):
    """Log p of each sequence (s,)."""
    return _forward_filter(ChainLayout(chain, evidence), np.empty((0, 0)))
