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

Short sequences go to threads in groups of fixed size. A long one is worked from both
ends at once: forward over the first half and backward over the second, which store
their messages; then each goes on over the other's half and meets what is stored. That
takes two threads, half the memory and no more work. What is done together depends on
the lengths alone, so the result does not depend on the number of threads.

Time O(n k^2), memory O(longest sequence * k) a thread; Viterbi keeps pointers of one
byte, or two beyond 128 states.

Shapes    start (k,)   trans A (k, k)   log_table (v, k)   index (n,)   ends (s,)
Refs      [Rabiner1989]; [Sarkka2013]
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from . import threads
from .numerics import safe_divide, safe_log
from .rows import total

GROUP = 1 << 13  # steps of the sequences that one thread takes at a time
LONG = 1 << 14  # steps of a sequence that is worked from both ends
LANES = 8  # the compiled loops take a multiple of this many states


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


class Chain(NamedTuple):
    """A discrete Markov chain."""

    start: np.ndarray  # (k,)
    trans: np.ndarray  # A, rows sum to 1


class Evidence(NamedTuple):
    """Log-likelihoods of the states for sequences that stand one after the other.

    Step t has log_table[index[t]], or log_table[t] where index is None.
    """

    log_table: np.ndarray  # (v, k)
    index: np.ndarray | None  # (n,)
    ends: np.ndarray  # (s,), where each sequence ends


class Expected(NamedTuple):
    """Expected counts under the posterior, and the log-likelihood; they add."""

    start: np.ndarray  # (k,)
    trans: np.ndarray  # (k, k), eq. (5)
    counts: np.ndarray  # (v, k), eq. (4) summed over the steps of each table row
    loglik: float


def groups(ends):
    """Runs of whole sequences of at least GROUP steps, as (begin, ends) pieces."""
    ends = np.asarray(ends, np.int64)
    out, first, begin = [], 0, 0
    while first < len(ends):
        last = min(int(np.searchsorted(ends, begin + GROUP)), len(ends) - 1)
        out.append((begin, ends[first : last + 1] - begin))
        first, begin = last + 1, int(ends[last])
    return out


def padded(a, value=0.0):
    """A (k,) or (k, k) with states that cannot be, up to a multiple of LANES."""
    a = np.asarray(a, dtype=float)
    more = [(0, -size % LANES) for size in a.shape]
    return np.pad(a, more, constant_values=value)


def run_groups(pieces, task, whole):
    """task(begin, ends) of each group, in order; whole(begin, n) of long ones."""
    long = [len(ends) == 1 and ends[0] >= LONG for _, ends in pieces]
    few = [g for g, one in zip(pieces, long, strict=True) if not one]
    short = threads.run((lambda g=g: task(*g)) for g in few)
    for (begin, ends), one in zip(pieces, long, strict=True):
        yield whole(begin, int(ends[0])) if one else next(short)


class Work:
    """A chain and its evidence as the loops take them, cut into groups."""

    def __init__(self, chain: Chain, evidence: Evidence):
        from . import _filtering as loops

        self.loops, self.k = loops, len(chain.start)
        self.chain = Chain(*(np.ascontiguousarray(a, dtype=float) for a in chain))
        self.start, self.trans = padded(chain.start), padded(chain.trans)
        self.log_table = np.ascontiguousarray(evidence.log_table, dtype=float)
        self.dense = evidence.index is None
        self.groups = groups(evidence.ends)
        self.n = int(evidence.ends[-1])
        if self.dense:
            longest = max(int(ends[-1]) for _, ends in self.groups)
            self.index = np.arange(longest, dtype=np.int32)
        else:
            self.index = np.ascontiguousarray(evidence.index, np.int32)
            self.table = self.likelihoods(slice(None))

    def likelihoods(self, cut):
        """Rows of the table, divided by their largest, and the logarithm of that."""
        rows = self.log_table[cut]
        out, top = np.empty((len(rows), len(self.start))), np.empty(len(rows))
        self.loops.exp_rows(rows, out, top)
        return out, top

    def seen(self, begin, n, log=False):
        """Table, its scale, and index of n steps from `begin`."""
        cut = slice(begin, begin + n)
        index = self.index[:n] if self.dense else self.index[cut]
        if log:
            return self.log_table[cut] if self.dense else self.log_table, index
        return (*(self.likelihoods(cut) if self.dense else self.table), index)

    def room(self, begin, n, counts):
        """Where the posteriors of a group go: its rows, or sums by table row."""
        if counts is not None:
            return True, counts[begin : begin + n]
        return False, np.zeros((len(self.log_table), self.k))


def both_passes(work: Work, counts, *, log, paired):
    """For each group: starts, transitions, counts and log p of its sequences.

    Posteriors go into the rows of `counts` (n, k), or if it is None are summed by
    the row of the table.
    """
    k, loops = work.k, work.loops
    pad = len(work.start)
    size = (pad, pad) if paired else (0, 0)
    back = np.ascontiguousarray(work.trans.T)

    def transitions(pairs):
        return pairs[:k, :k] * work.chain.trans if paired else np.zeros((0, 0))

    def logs(begin, ends):
        from ._log_filtering import expected_log

        each, out = work.room(begin, int(ends[-1]), counts)
        logliks, pairs = np.empty(len(ends)), np.zeros((k, k) if paired else (0, 0))
        seen = work.seen(begin, int(ends[-1]), log=True)
        first = expected_log(*work.chain, *seen, ends, each, out, pairs, logliks)
        return Expected(first, pairs, out, logliks)

    def task(begin, ends):
        each, out = work.room(begin, int(ends[-1]), counts)
        logliks, pairs = np.empty(len(ends)), np.zeros(size)
        seen = work.seen(begin, int(ends[-1]))
        first, well = loops.expected(
            work.start, work.trans, *seen, ends, each, out, pairs, logliks
        )
        if not well:
            return logs(begin, ends)
        return Expected(first[:k], transitions(pairs.T), out, logliks)

    def whole(begin, n):
        stored, seen, logliks = two_sweeps(work, begin, n, back)
        if stored is None:
            return logs(begin, np.array([n]))
        m, edge = n // 2, np.empty((2, pad))
        each, out = work.room(begin, n, counts)
        pairs = np.zeros((2, *size))
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
            return logs(begin, np.array([n]))
        out = out if each else out + other
        both = transitions(pairs[0] + pairs[1].T)
        return Expected(edge[1, :k], both, out, np.array([logliks[0] + rest]))

    if log:
        return run_groups(
            work.groups, logs, lambda begin, n: logs(begin, np.array([n]))
        )
    return run_groups(work.groups, task, whole)


def two_sweeps(work: Work, begin, n, back):
    """Messages of a long sequence, forward in its first half and backward in its
    second, the evidence, and log p of both; None where they left the numbers."""
    pad, m, loops = len(work.start), n // 2, work.loops
    stored = np.empty((n, pad))
    if work.dense:
        seen = np.empty((n, pad)), np.empty(n), work.index[:n]
    else:
        seen = work.seen(begin, n)

    def half(first, M, t, step, low, high):
        if work.dense:
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
    work = Work(chain, evidence)
    counts = np.empty((work.n, work.k)) if work.dense else None
    parts = both_passes(work, counts, log=log, paired=True)
    none = np.zeros((0, work.k))
    if work.dense:
        parts = (p._replace(counts=none) for p in parts)
    out = total(p._replace(loglik=float(p.loglik.sum())) for p in parts)
    return out._replace(counts=counts) if work.dense else out


def smooth(chain: Chain, evidence: Evidence, *, log=False):
    """Posterior of the state at every step (n, k), and log p of each sequence (s,)."""
    work = Work(chain, evidence)
    out = np.empty((work.n, work.k))
    parts = both_passes(work, out, log=log, paired=False)
    return out, np.concatenate([p.loglik for p in parts])


def forward_pass(work: Work, out):
    """Beliefs into `out` (n, k) unless it is empty, and log p of each sequence."""

    def task(begin, ends):
        n, logliks = int(ends[-1]), np.empty(len(ends))
        part = out[begin : begin + n]
        seen = work.seen(begin, n)
        if not work.loops.beliefs(work.start, work.trans, *seen, ends, part, logliks):
            from ._log_filtering import beliefs_log

            part = part if len(part) else np.empty((n, work.k))
            seen = work.seen(begin, n, log=True)
            beliefs_log(*work.chain, *seen, ends, part, logliks)
        return logliks

    def whole(begin, n):
        if len(out):
            return task(begin, np.array([n]))
        back = np.ascontiguousarray(work.trans.T)
        stored, _, logliks = two_sweeps(work, begin, n, back)
        if stored is None:
            return task(begin, np.array([n]))
        a, v = stored[n // 2 - 1], stored[n // 2]
        joint = a @ work.trans @ v / (a.sum() * v.sum())
        if not joint > 0:
            return task(begin, np.array([n]))
        return np.array([sum(logliks) + np.log(joint)])

    return np.concatenate(list(run_groups(work.groups, task, whole)))


def filtered(chain: Chain, evidence: Evidence):
    """Belief in the state at every step given the past (n, k), and log p (s,)."""
    work = Work(chain, evidence)
    out = np.empty((work.n, work.k))
    return out, forward_pass(work, out)


def log_likelihoods(chain: Chain, evidence: Evidence):
    """Log p of each sequence (s,)."""
    return forward_pass(Work(chain, evidence), np.empty((0, 0)))


def viterbi(chain: Chain, evidence: Evidence):
    """The likeliest path of each sequence (n,), and their joint log p (s,)."""
    from . import _viterbi as loops

    k = len(chain.start)
    start, A = (padded(safe_log(np.asarray(a, float)), -np.inf) for a in chain)
    back, pad = np.ascontiguousarray(A.T), len(start)
    byte = np.int8 if pad <= 128 else np.int16 if pad <= 32768 else np.int32
    table = np.ascontiguousarray(evidence.log_table, dtype=float)
    dense = evidence.index is None
    index = np.arange(len(table)) if dense else evidence.index
    index = np.ascontiguousarray(index, np.int32)
    path = np.empty(int(evidence.ends[-1]), np.int64)

    def task(begin, ends):
        pointers = np.empty((int(np.diff(ends, prepend=0).max()), pad), byte)
        cut, scores = slice(begin, begin + int(ends[-1])), np.empty(len(ends))
        loops.best_paths(start, A, table, index[cut], ends, pointers, path[cut], scores)
        return scores

    def whole(begin, n):
        pointers, m, cut = np.empty((n, pad), byte), n // 2, slice(begin, begin + n)
        none = np.where(np.arange(pad) < k, 0.0, -np.inf)
        seen = table, index[cut]
        up = lambda: loops.climb(start, A, *seen, 0, 1, m, pointers)
        down = lambda: loops.climb(none, back, *seen, n - 1, -1, n - m, pointers)
        d, e = threads.run([up, down])
        joint = d[:, None] + A + e
        i, j = np.unravel_index(joint.argmax(), joint.shape)
        loops.trace(pointers, int(i), m - 1, 1, m, path[cut])
        loops.trace(pointers, int(j), m, -1, n - m, path[cut])
        return joint[i, j][None]

    work = groups(evidence.ends)
    return path, np.concatenate(list(run_groups(work, task, whole)))
