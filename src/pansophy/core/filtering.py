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
enter as logarithms and each step is divided by its largest, so nothing underflows.
Sequences are cut into groups of fixed size that run on threads; their sums are added
in order, so the result does not depend on the number of threads.

Time O(n k^2), memory O(longest sequence * k) a thread.

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
    out, first, begin = [], 0, 0
    for s, end in enumerate(ends):
        if end - begin >= GROUP or s == len(ends) - 1:
            out.append((begin, ends[first : s + 1] - begin))
            first, begin = s + 1, end
    return out


def pieces(evidence: Evidence, log: bool):
    """For each group: table, index, ends, longest sequence, and the log factor taken
    out of the table so that the largest entry of each row is 1."""
    table = np.asarray(evidence.log_table, dtype=float)
    top = table.max(axis=1)
    top = np.where(np.isfinite(top), top, 0.0)
    table = padded(table if log else np.exp(table - top[:, None]), log, 1)
    for begin, ends in groups(np.asarray(evidence.ends, np.int64)):
        cut = slice(begin, begin + int(ends[-1]))
        if evidence.index is None:
            part, index = table[cut], np.arange(int(ends[-1]))
        else:
            part, index = table, np.ascontiguousarray(evidence.index[cut], np.int64)
        if log:
            factor = np.zeros(len(index))
        else:
            factor = top[cut if evidence.index is None else index]
        yield begin, part, index, ends, int(np.diff(ends, prepend=0).max()), factor


def padded(a, log: bool, first: int = 0):
    """A with states that cannot be, up to a multiple of LANES, from axis `first`."""
    more = -a.shape[-1] % LANES
    width = [(0, 0)] * first + [(0, more)] * (a.ndim - first)
    nothing = -np.inf if log else 0.0
    return np.ascontiguousarray(np.pad(a, width, constant_values=nothing))


def parameters(chain: Chain, log: bool):
    """Start and transitions as the loops take them."""
    form = safe_log if log else (lambda a: a)
    return tuple(padded(form(np.asarray(a, dtype=float)), log) for a in chain)


def expected_counts(chain: Chain, evidence: Evidence, *, log=False) -> Expected:
    """Eq. (4) and (5), summed over all sequences. `log` works in logarithms."""
    from . import _filtering as loops

    start, trans = parameters(chain, log)
    k = len(chain.start)
    loop = loops.expected_log if log else loops.expected

    def task(piece):
        _, table, index, ends, longest, factor = piece
        counts = np.zeros(table.shape)
        first, pairs, loglik = loop(start, trans, table, index, ends, longest, counts)
        loglik += factor.sum()
        return Expected(first[:k], pairs[:k, :k], counts[:, :k], loglik)

    tasks = ((lambda p=p: task(p)) for p in pieces(evidence, log))
    parts = threads.run(tasks, blas=True)
    if evidence.index is not None:
        return total(parts)
    parts = list(parts)
    rows = np.concatenate([p.counts for p in parts])
    none = np.zeros((0, k))
    return total(p._replace(counts=none) for p in parts)._replace(counts=rows)


def per_step(chain, evidence, loop, out, log):
    """Run a loop that fills `out` (n, ...) and returns a number for each sequence."""
    start, trans = parameters(chain, log)

    def task(piece):
        begin, table, index, ends, longest, factor = piece
        part = out[begin : begin + len(index)]
        scores = loop(start, trans, table, index, ends, longest, part)
        return scores + np.add.reduceat(factor, np.concatenate([[0], ends[:-1]]))

    tasks = ((lambda p=p: task(p)) for p in pieces(evidence, log))
    return np.concatenate(list(threads.run(tasks)))


def step_table(chain, evidence):
    """Room for a number per step and padded state, and the true k."""
    k = len(chain.start)
    return np.zeros((int(evidence.ends[-1]), k + -k % LANES)), k


def smooth(chain: Chain, evidence: Evidence, *, log=False):
    """Posterior of the state at every step (n, k), and log p of each sequence (s,)."""
    from . import _filtering as loops

    out, k = step_table(chain, evidence)
    loop = loops.posteriors_log if log else loops.posteriors
    logliks = per_step(chain, evidence, loop, out, log)
    return out[:, :k], logliks


def filtered(chain: Chain, evidence: Evidence):
    """Belief in the state at every step given the past (n, k), and log p (s,)."""
    from . import _filtering as loops

    out, k = step_table(chain, evidence)
    logliks = per_step(chain, evidence, loops.beliefs, out, False)
    return out[:, :k], logliks


def viterbi(chain: Chain, evidence: Evidence):
    """The likeliest path of each sequence (n,), and their joint log p (s,)."""
    from . import _filtering as loops

    path = np.empty(int(evidence.ends[-1]), np.int64)
    return path, per_step(chain, evidence, loops.best_paths, path, True)
