"""Discrete chains as the compiled loops take them, and how sequences are put together.

Sequences of few states go side by side, a batch of like length in each call (see
`_side_by_side`); of more states one after the other in groups of fixed size (see
`_filtering`). One that is long for its company is worked alone. All of that depends
on the lengths and the number of states, so no result depends on the number of threads.
"""

from typing import NamedTuple

import numpy as np

from . import threads

GROUP_STEPS = 1 << 13  # steps of the sequences that one thread takes at a time
LONG_SEQUENCE = 1 << 14  # steps of a sequence that is worked alone
STATE_MULTIPLE = 8  # the loops for many states take a multiple of this many
MAX_BATCHED_STATES = 16  # states up to which sequences go side by side
BATCH_WIDTH = 128  # sequences side by side, and
BATCH_STEPS = 1 << 19  # steps that they have together, or little more


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


def group_sequences(ends):
    """Runs of whole sequences of at least GROUP steps, as (begin, ends) pieces."""
    ends = np.asarray(ends, np.int64)
    out, first, begin = [], 0, 0
    while first < len(ends):
        last = min(int(np.searchsorted(ends, begin + GROUP_STEPS)), len(ends) - 1)
        out.append((begin, ends[first : last + 1] - begin))
        first, begin = last + 1, int(ends[last])
    return out


def pad_states(a, value=0.0):
    """A (k,) or (k, k) with states that cannot be, up to a multiple of LANES."""
    a = np.asarray(a, dtype=float)
    more = [(0, -size % STATE_MULTIPLE) for size in a.shape]
    return np.pad(a, more, constant_values=value)


def run_pieces(pieces, task, whole):
    """task(begin, ends) of each group, in order; whole(begin, n) of long ones."""
    long = [len(ends) == 1 and ends[0] >= LONG_SEQUENCE for _, ends in pieces]
    few = [g for g, one in zip(pieces, long, strict=True) if not one]
    short = threads.run((lambda g=g: task(*g)) for g in few)
    for (begin, ends), one in zip(pieces, long, strict=True):
        yield whole(int(np.sum(begin)), int(ends[0])) if one else next(short)


def batch_sequences(ends):
    """Sequences by length, SIDE at a time, as (begins, lengths), and their order.

    Fewer at a time if they are long. One with at least LONG steps stands alone if it
    has a sixteenth of all steps, or four times LONG.
    """
    ends = np.asarray(ends, np.int64)
    lengths = np.diff(ends, prepend=0)
    order = np.argsort(-lengths, kind="stable")
    begins, lengths = (ends - lengths)[order], lengths[order]
    least = max(LONG_SEQUENCE, min(4 * LONG_SEQUENCE, ends[-1] // 16))
    out, first = [], 0
    while first < len(ends):
        n = int(lengths[first])
        cut = slice(
            first, first + (1 if n >= least else min(BATCH_WIDTH, BATCH_STEPS // n + 8))
        )
        out.append((begins[cut], lengths[cut]))
        first = cut.stop
    return out, order


class ChainLayout:
    """A chain and its evidence as the loops take them, cut into pieces.

    Pieces are (begins, lengths) of batches if the states are few, and otherwise
    (begin, ends) of groups; `order` is that of the sequences in them.
    """

    def __init__(self, chain: Chain, evidence: Evidence):
        from . import _filtering as loops

        self.loops, self.k = loops, len(chain.start)
        self.chain = Chain(*(np.ascontiguousarray(a, dtype=float) for a in chain))
        self.start, self.trans = pad_states(chain.start), pad_states(chain.trans)
        self.log_table = np.ascontiguousarray(evidence.log_table, dtype=float)
        self.dense, self.few = evidence.index is None, self.k <= MAX_BATCHED_STATES
        self.n = int(evidence.ends[-1])
        if self.few:
            self.pieces, self.order = batch_sequences(evidence.ends)
        else:
            self.pieces, self.order = group_sequences(evidence.ends), slice(None)
        self.local = self.dense and not self.few  # exponentials piece by piece
        if self.dense:
            self.index = np.arange(self.n, dtype=np.int32)
        else:
            self.index = np.ascontiguousarray(evidence.index, np.int32)
        if not self.local:
            self.table = self.all_likelihoods()

    def likelihoods(self, cut):
        """Rows of the table, divided by their largest, and the logarithm of that."""
        rows = self.log_table[cut]
        out, top = np.empty((len(rows), len(self.start))), np.empty(len(rows))
        self.loops.exp_rows(rows, out, top)
        return out, top

    def all_likelihoods(self):
        v = len(self.log_table)
        out, top = np.empty((v, len(self.start))), np.empty(v)
        cuts = [slice(a, a + GROUP_STEPS) for a in range(0, v, GROUP_STEPS)]
        rows = self.log_table
        task = lambda c: self.loops.exp_rows(rows[c], out[c], top[c])
        for _ in threads.run((lambda c=c: task(c)) for c in cuts):
            pass
        return out, top

    def seen(self, begin, n, log=False):
        """Table, its scale, and index of n steps from `begin`."""
        cut = slice(begin, begin + n)
        if log:
            return self.log_table, self.index[cut]
        if self.local:
            return (*self.likelihoods(cut), self.index[:n])
        return (*self.table, self.index[cut])

    def room(self, begin, n, counts):
        """Where the posteriors of a piece go: its rows, or sums by table row."""
        if counts is not None:
            return True, counts[begin : begin + n]
        return False, np.zeros((len(self.log_table), self.k))

    def run(self, task, whole):
        """task(begin, ends) or (begins, lengths) of each piece, in order; whole(begin,
        n) of long sequences."""
        return run_pieces(self.pieces, task, whole)
