"""Discrete hidden Markov chains: their data types, and how sequences are scheduled.

A `Chain` moves between k states; `Evidence` holds the log-likelihoods of its states at
every step of several sequences that stand one after the other. `ChainLayout` prepares
both for the compiled loops and splits the sequences into pieces for threads:

    few states     batches: sequences of similar length are processed together, one
                   for each lane of the vector instructions (`_batched_chains`)
    many states    groups: sequences one after the other, a fixed number of steps for
                   each task (`_filtering`)

A long sequence is a piece of its own. The pieces depend on the lengths and the number
of states only, so no result depends on the number of threads.
"""

from typing import NamedTuple

import numpy as np

from ..loops import threads

GROUP_STEPS = 1 << 13  # least number of steps of a group
LONG_SEQUENCE = 1 << 14  # steps from which a sequence may be a piece of its own
STATE_MULTIPLE = 8  # the loops for many states need a multiple of this many states
MAX_BATCHED_STATES = 16  # up to this many states sequences are batched
BATCH_WIDTH = 128  # most sequences of a batch
BATCH_STEPS = 1 << 19  # most steps of a batch, roughly


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
    """Expected counts under the posterior, and the log-likelihood; both are additive.

    Equation numbers are those of `filtering`.
    """

    start: np.ndarray  # (k,)
    trans: np.ndarray  # (k, k), eq. (5)
    counts: np.ndarray  # (v, k), eq. (4) summed over the steps of each table row
    loglik: float


def group_sequences(ends):
    """Groups of whole sequences with at least GROUP_STEPS steps, as (begin, ends)."""
    ends = np.asarray(ends, np.int64)
    groups = []
    first = 0
    begin = 0
    while first < len(ends):
        last = min(int(np.searchsorted(ends, begin + GROUP_STEPS)), len(ends) - 1)
        groups.append((begin, ends[first : last + 1] - begin))
        first = last + 1
        begin = int(ends[last])
    return groups


def batch_sequences(ends):
    """Batches of sequences of similar length, as (begins, lengths), and their order.

    Longest sequences come first. A sequence of at least LONG_SEQUENCE steps is alone
    if it has a sixteenth of all steps, or four times LONG_SEQUENCE.
    """
    ends = np.asarray(ends, np.int64)
    lengths = np.diff(ends, prepend=0)
    order = np.argsort(-lengths, kind="stable")
    begins, lengths = (ends - lengths)[order], lengths[order]
    min_long = max(LONG_SEQUENCE, min(4 * LONG_SEQUENCE, ends[-1] // 16))
    batches = []
    first = 0
    while first < len(ends):
        n = int(lengths[first])
        width = 1 if n >= min_long else min(BATCH_WIDTH, BATCH_STEPS // n + 8)
        batch = slice(first, first + width)
        batches.append((begins[batch], lengths[batch]))
        first = batch.stop
    return batches, order


def pad_states(a, value=0.0):
    """A (k,) or (k, k) with impossible states up to a multiple of STATE_MULTIPLE."""
    a = np.asarray(a, dtype=float)
    padding = [(0, -size % STATE_MULTIPLE) for size in a.shape]
    return np.pad(a, padding, constant_values=value)


def run_pieces(pieces, short, long):
    """short(*piece) of each piece on threads, in order; long(begin, n) of those that
    are one long sequence, which use the threads themselves."""
    is_long = [len(ends) == 1 and ends[0] >= LONG_SEQUENCE for _, ends in pieces]
    short_pieces = [
        piece for piece, is_single in zip(pieces, is_long, strict=True) if not is_single
    ]
    results = threads.run_tasks(
        (lambda piece=piece: short(*piece)) for piece in short_pieces
    )
    for (begin, ends), is_single in zip(pieces, is_long, strict=True):
        yield long(int(np.sum(begin)), int(ends[0])) if is_single else next(results)


class ChainLayout:
    """A chain and its evidence as the compiled loops need them.

    Attributes
    ----------
    pieces : list
        (begins, lengths) of batches if `batched`, else (begin, ends) of groups.
    order : array or slice
        Numbers of the sequences in the order of the pieces.
    per_piece : bool
        Whether likelihoods are exponentiated piece by piece, which saves memory where
        every step has a row of its own.
    """

    def __init__(self, chain: Chain, evidence: Evidence):
        from . import _filtering as loops

        self.loops = loops
        self.k = len(chain.start)
        self.chain = Chain(*(np.ascontiguousarray(a, dtype=float) for a in chain))
        self.start, self.trans = pad_states(chain.start), pad_states(chain.trans)
        self.log_table = np.ascontiguousarray(evidence.log_table, dtype=float)
        self.dense = evidence.index is None
        self.batched = self.k <= MAX_BATCHED_STATES
        self.n = int(evidence.ends[-1])
        if self.batched:
            self.pieces, self.order = batch_sequences(evidence.ends)
        else:
            self.pieces = group_sequences(evidence.ends)
            self.order = slice(None)
        self.per_piece = self.dense and not self.batched
        if self.dense:
            self.index = np.arange(self.n, dtype=np.int32)
        else:
            self.index = np.ascontiguousarray(evidence.index, np.int32)
        if not self.per_piece:
            self.table = self.all_likelihoods()

    def likelihoods(self, rows):
        """Rows of the table, divided by their largest, and the logarithm of that."""
        log_rows = self.log_table[rows]
        scaled, top = (
            np.empty((len(log_rows), len(self.start))),
            np.empty(len(log_rows)),
        )
        self.loops.scaled_exponentials(log_rows, scaled, top)
        return scaled, top

    def all_likelihoods(self):
        """`likelihoods` of the whole table, blocks of rows on threads."""
        v = len(self.log_table)
        scaled, top = np.empty((v, len(self.start))), np.empty(v)

        def block(rows):
            self.loops.scaled_exponentials(
                self.log_table[rows], scaled[rows], top[rows]
            )

        blocks = [slice(a, a + GROUP_STEPS) for a in range(0, v, GROUP_STEPS)]
        for _ in threads.run_tasks((lambda rows=rows: block(rows)) for rows in blocks):
            pass
        return scaled, top

    def scaled_evidence(self, begin, n):
        """Table, its scale, and index of n steps from `begin`, for the scaled loops."""
        steps = slice(begin, begin + n)
        if self.per_piece:
            table, top = self.likelihoods(steps)
            return self.loops.ScaledEvidence(table, top, self.index[:n])
        table, top = self.table
        return self.loops.ScaledEvidence(table, top, self.index[steps])

    def log_evidence(self, begin, n):
        """Log table and index of n steps from `begin`, for the loops in logarithms."""
        return self.log_table, self.index[begin : begin + n]

    def count_rows(self, begin, n, counts):
        """Whether each step has a row for its posterior, and these rows.

        They are rows of `counts`, or sums by table row if that is None.
        """
        if counts is not None:
            return True, counts[begin : begin + n]
        return False, np.zeros((len(self.log_table), self.k))

    def run(self, short, long):
        """`run_pieces` over the pieces of this chain."""
        return run_pieces(self.pieces, short, long)
