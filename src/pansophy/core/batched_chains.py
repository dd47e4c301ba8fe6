"""Both passes of chains of few states: batches of sequences, and long ones cut up.

A batch is one call of the loops in `_side_by_side`, forward and then backward. A long
sequence is cut into blocks that become the lanes of a batch. What a block must know
is the belief before it and the backward message after it. Chains forget: with

    P(i, j) = p(m steps, last state j | state i before them)                      (1)

a filter started in each state i, the rows of P are soon the same but for their scales
s_i, to the last digits. Then, whatever the rest of the sequence is,

    belief after the steps = a row of P,     message before them = s             (2)

So a few steps on either side of each cut say all there is to know. Where the rows
are not the same the sequence is not cut, but worked from both ends in `filtering`.

Shapes    P (cuts, k, k)   first, last (k, w)   begins, lengths (w,)
"""

from typing import NamedTuple

import numpy as np

from . import threads
from .hidden_chain import ChainLayout, Expected

SMALLEST_SUM = 1e-280  # messages that meet in less than this have lost their digits
MAX_BLOCK_STATES = 8  # states up to which a long sequence is cut up
BURN_IN_TOLERANCE = 1e-13  # relative difference of what is taken to be the same
BURN_IN_STEPS = 64, 256  # on either side of a cut, tried in turn
BLOCKS_PER_BATCH = 32  # blocks of a long sequence that go together


class BatchedForward(NamedTuple):
    """A forward pass of w lanes."""

    stored: np.ndarray  # (longest, k, w), or its last two rows
    at: np.ndarray  # (longest, w)
    logliks: np.ndarray  # (w,)
    low: np.ndarray  # (w,)


def batched_forward(
    work: ChainLayout, first, begins, lengths, *, keep=True
) -> BatchedForward:
    """Forward from `first`; only the last two messages are kept if not `keep`."""
    from . import _batched_chains as loops

    (k, w), n = first.shape, int(lengths[0])
    at, stored = np.empty((n, w), np.int64), np.empty((n if keep else 2, k, w))
    run = BatchedForward(stored, at, np.empty(w), np.empty(w))
    loops.table_rows_by_step(work.index, begins, lengths, at)
    loops.forward_messages_batch(
        first, work.chain.trans, *work.table, at, lengths, stored, *run[2:]
    )
    return run


def batched_forward_backward(
    work: ChainLayout, first, last, begins, lengths, counts, *, paired
):
    """Both passes: Expected with starts (k, w), and u = L_0 b_0 (k, w) of each lane.

    None where a lane is impossible, or its messages lose their digits.
    """
    from . import _batched_chains as loops

    k, w = first.shape
    run = batched_forward(work, first, begins, lengths)
    if not run.low.min() > SMALLEST_SUM:
        return None
    out = np.zeros((len(work.log_table), k)) if counts is None else counts
    pairs = np.zeros((k, k, w) if paired else (0, 0, 0))
    u, table = np.empty((k, w)), work.table[0]
    loops.backward_messages_batch(
        last, work.chain.trans, table, run.at, begins, lengths, run.stored,
        counts is not None, out, pairs, u, run.low)  # fmt: skip
    if not (run.low.min() > SMALLEST_SUM and np.isfinite(u).all()):
        return None
    starts = first * u
    pairs = pairs.sum(axis=2)
    return Expected(starts / starts.sum(axis=0), pairs, out, run.logliks), u


def expected_of_batch(work: ChainLayout, begins, lengths, counts, *, paired):
    """Expected of a batch of sequences, or None."""
    first = np.repeat(work.chain.start[:, None], len(begins), axis=1)
    last = np.ones(first.shape)
    got = batched_forward_backward(
        work, first, last, begins, lengths, counts, paired=paired
    )
    if got is None:
        return None
    out, A = got[0], work.chain.trans if paired else 0.0
    return out._replace(start=out.start.sum(axis=1), trans=out.trans * A)


def split_into_blocks(begin, n):
    """A long sequence in blocks of almost the same length, longest first."""
    count = BLOCKS_PER_BATCH * min(max(n >> 15, 1), 4)
    lengths = np.full(count, n // count)
    lengths[: n % count] += 1
    return begin + np.cumsum(lengths) - lengths, lengths


def run_block_batches(task, count):
    """task(slice) for WIDE blocks at a time, in order."""
    cuts = [slice(a, a + BLOCKS_PER_BATCH) for a in range(0, count, BLOCKS_PER_BATCH)]
    return list(threads.run((lambda c=c: task(c)) for c in cuts))


def burn_in_messages(work: ChainLayout, begins, n):
    """Eq. (2) for the n steps from each of `begins`: rows and scales (cuts, k).

    None where some rows of P are not the same.
    """
    k = work.k

    def task(cut):
        b = np.repeat(begins[cut], k)
        first = np.tile(work.chain.trans.T, (1, len(b) // k))
        run = batched_forward(work, first, b, np.full(len(b), n), keep=False)
        return run.stored[(n - 1) % 2].T, run.logliks

    P, scales = zip(*run_block_batches(task, len(begins)), strict=True)
    P, scales = np.concatenate(P).reshape(-1, k, k), np.concatenate(scales)
    scales = scales.reshape(-1, k)
    total = P.sum(axis=2, keepdims=True)
    some = total > 0
    P = P / np.where(some, total, 1.0)
    high, low = P.max(axis=1), np.where(some, P, np.inf).min(axis=1)
    if not np.all(high - low <= BURN_IN_TOLERANCE * high):
        return None
    return high, np.exp(scales - scales.max(axis=1, keepdims=True))


def block_boundaries(work: ChainLayout, begin, n, *, after=True):
    """Blocks of a long sequence: begins, lengths, beliefs before all but the first,
    and the first and last messages of each; None where the chain does not forget."""
    begins, lengths = split_into_blocks(begin, n)
    for few in BURN_IN_STEPS:
        if few > lengths[-1] // 2:
            break
        head = burn_in_messages(work, begins[1:] - few, few)
        tail = burn_in_messages(work, begins[1:], few) if head and after else head
        if head and tail:
            before, last = head[0], np.vstack([tail[1], np.ones((1, work.k))])
            first = np.vstack([work.chain.start, before @ work.chain.trans])
            return begins, lengths, before, first, last
    return None


def blockwise_forward_backward(work: ChainLayout, begin, n, counts, *, paired):
    """Expected of one long sequence, or None."""
    cut = block_boundaries(work, begin, n)
    if cut is None:
        return None
    begins, lengths, before, first, after = cut
    lane = lambda a, c: np.ascontiguousarray(a[c].T)
    parts = run_block_batches(
        lambda c: batched_forward_backward(work, lane(first, c), lane(after, c), begins[c], lengths[c],
                       counts, paired=paired), len(begins))  # fmt: skip
    if None in parts:
        return None
    each = [part for part, _ in parts]
    trans, A = np.zeros((0, 0)), work.chain.trans
    if paired:  # within the blocks, and from each block to the next
        u = np.hstack([u for _, u in parts]).T[1:]
        share = np.einsum("bi,ij,bj->b", before, A, u)
        trans = A * (sum(e.trans for e in each) + (before / share[:, None]).T @ u)
    out = each[0].counts if counts is not None else sum(e.counts for e in each)
    loglik = np.sum([e.loglik.sum() for e in each])
    return Expected(each[0].start[:, 0], trans, out, np.array([loglik]))


def batched_beliefs(work: ChainLayout, first, begins, lengths, out):
    """Filtered beliefs into out (n, k) unless it is empty; log p of each, or None."""
    from . import _batched_chains as loops

    run = batched_forward(work, first, begins, lengths, keep=len(out) > 0)
    if not run.low.min() > SMALLEST_SUM:
        return None
    if len(out):
        loops.normalize_messages(run.stored, begins, lengths, out)
    return run.logliks


def beliefs_of_batch(work: ChainLayout, begins, lengths, out):
    """Beliefs of a batch of sequences, and log p of each, or None."""
    first = np.repeat(work.chain.start[:, None], len(begins), axis=1)
    return batched_beliefs(work, first, begins, lengths, out)


def blockwise_beliefs(work: ChainLayout, begin, n, out):
    """Beliefs of one long sequence, and its log p (1,), or None."""
    cut = block_boundaries(work, begin, n, after=False)
    if cut is None:
        return None
    begins, lengths, _, first, _ = cut
    lane = lambda c: np.ascontiguousarray(first[c].T)
    parts = run_block_batches(
        lambda c: batched_beliefs(work, lane(c), begins[c], lengths[c], out),
        len(begins),
    )
    if any(part is None for part in parts):
        return None
    return np.array([np.sum([part.sum() for part in parts])])
