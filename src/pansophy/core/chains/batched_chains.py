"""Forward-backward for chains of few states: batches of sequences, blocks of long ones.

A batch is one forward and one backward call of the loops in `_batched_chains`; each
sequence of it is a lane. A long sequence is cut into blocks, which become the lanes of
a batch. A block must know the belief before it and the backward message after it. Both
come from a burn-in, since chains forget their past: with

    P(i, j) = p(m steps, last state j | state i before them)                      (1)

a filter started in each state i, the rows of P soon agree to the last digits but for
their scales s_i. Then, whatever the rest of the sequence is,

    belief after the steps = a row of P,     message before them = s             (2)

So a few steps on either side of each cut are enough. Where the rows of P do not agree,
the sequence is not cut, and `filtering` works on it from both ends instead.

Shapes    P (cuts, k, k)   first, last (k, w)   begins, lengths (w,)
"""

from typing import NamedTuple

import numpy as np

from ..loops import threads
from .hidden_chain import ChainLayout, Expected

SMALLEST_SUM = 1e-280  # messages of a smaller sum have lost their digits
MAX_BLOCK_STATES = 6  # up to this many states a long sequence is cut into blocks
BURN_IN_TOLERANCE = 1e-13  # relative difference at which rows of P agree
BURN_IN_STEPS = 64, 256  # m of eq. (1), tried one after the other
BLOCKS_PER_BATCH = 32


class BatchedForward(NamedTuple):
    """A forward pass of w lanes."""

    stored: np.ndarray  # messages (longest, k, w), or the last two of them
    table_rows: np.ndarray  # (longest, w)
    logliks: np.ndarray  # (w,)
    smallest: np.ndarray  # (w,), smallest sum of a message


def _batched_forward(
    layout: ChainLayout, first, begins, lengths, *, keep=True
) -> BatchedForward:
    """Forward from `first`; only the last two messages are kept if not `keep`."""
    from . import _batched_chains as loops

    (k, w) = first.shape
    n = int(lengths[0])
    run = BatchedForward(
        stored=np.empty((n if keep else 2, k, w)),
        table_rows=np.empty((n, w), np.int64),
        logliks=np.empty(w),
        smallest=np.empty(w),
    )
    loops.table_rows_by_step(layout.index, begins, lengths, run.table_rows)
    loops.forward_messages_batch(
        first,
        layout.chain.trans,
        *layout.table,
        run.table_rows,
        lengths,
        run.stored,
        run.logliks,
        run.smallest,
    )
    return run


def _batched_forward_backward(
    layout: ChainLayout, first, last, begins, lengths, counts, *, paired
):
    """Both passes: `Expected` with starts (k, w), and u = L_0 b_0 (k, w) of each lane.

    None where a lane is impossible, or its messages lose their digits.
    """
    from . import _batched_chains as loops

    k, w = first.shape
    run = _batched_forward(layout, first, begins, lengths)
    if not run.smallest.min() > SMALLEST_SUM:
        return None
    count_table = np.zeros((len(layout.log_table), k)) if counts is None else counts
    pairs = np.zeros((k, k, w) if paired else (0, 0, 0))
    u = np.empty((k, w))
    loops.backward_messages_batch(
        last,
        layout.chain.trans,
        layout.table[0],
        run.table_rows,
        begins,
        lengths,
        run.stored,
        counts is not None,
        count_table,
        pairs,
        u,
        run.smallest,
    )
    if not (run.smallest.min() > SMALLEST_SUM and np.isfinite(u).all()):
        return None
    starts = first * u
    pairs = pairs.sum(axis=2)
    return Expected(starts / starts.sum(axis=0), pairs, count_table, run.logliks), u


def expected_of_batch(layout: ChainLayout, begins, lengths, counts, *, paired):
    """`Expected` of a batch of sequences, or None."""
    first = np.repeat(layout.chain.start[:, None], len(begins), axis=1)
    last = np.ones(first.shape)
    result = _batched_forward_backward(
        layout, first, last, begins, lengths, counts, paired=paired
    )
    if result is None:
        return None
    expected = result[0]
    A = layout.chain.trans if paired else 0.0
    return expected._replace(start=expected.start.sum(axis=1), trans=expected.trans * A)


def split_into_blocks(begin, n):
    """Begins and lengths of the blocks of a long sequence, longest first.

    Lengths differ by one step at most.
    """
    count = BLOCKS_PER_BATCH * min(max(n >> 15, 1), 4)
    lengths = np.full(count, n // count)
    lengths[: n % count] += 1
    return begin + np.cumsum(lengths) - lengths, lengths


def run_block_batches(task, count):
    """task(slice) for BLOCKS_PER_BATCH of `count` blocks at a time, in order."""
    batches = [
        slice(a, a + BLOCKS_PER_BATCH) for a in range(0, count, BLOCKS_PER_BATCH)
    ]
    return list(
        threads.run_tasks((lambda batch=batch: task(batch)) for batch in batches)
    )


def _burn_in_messages(layout: ChainLayout, begins, n):
    """Eq. (2) for the n steps from each of `begins`: beliefs and scales (cuts, k).

    None where some rows of P do not agree.
    """
    k = layout.k

    def task(batch):
        b = np.repeat(begins[batch], k)
        first = np.tile(layout.chain.trans.T, (1, len(b) // k))
        run = _batched_forward(layout, first, b, np.full(len(b), n), keep=False)
        return run.stored[(n - 1) % 2].T, run.logliks

    P, scales = zip(*run_block_batches(task, len(begins)), strict=True)
    P, scales = np.concatenate(P).reshape(-1, k, k), np.concatenate(scales)
    scales = scales.reshape(-1, k)
    total = P.sum(axis=2, keepdims=True)
    is_positive = total > 0
    P = P / np.where(is_positive, total, 1.0)
    high = P.max(axis=1)
    low = np.where(is_positive, P, np.inf).min(axis=1)
    if not np.all(high - low <= BURN_IN_TOLERANCE * high):
        return None
    return high, np.exp(scales - scales.max(axis=1, keepdims=True))


class BlockBoundaries(NamedTuple):
    """Blocks of a long sequence, and what each must know of the others."""

    begins: np.ndarray  # (blocks,)
    lengths: np.ndarray  # (blocks,)
    before: np.ndarray  # (blocks - 1, k), beliefs before all blocks but the first
    first: np.ndarray  # (blocks, k), forward message before the first step
    last: np.ndarray  # (blocks, k), backward message after the last step


def _block_boundaries(layout: ChainLayout, begin, n, *, after=True):
    """`BlockBoundaries` of a long sequence; None where the chain does not forget.

    Backward messages are computed only if `after`.
    """
    begins, lengths = split_into_blocks(begin, n)
    for m in BURN_IN_STEPS:
        if m > lengths[-1] // 2:
            break
        head = _burn_in_messages(layout, begins[1:] - m, m)
        tail = _burn_in_messages(layout, begins[1:], m) if head and after else head
        if head and tail:
            beliefs_before = head[0]
            last = np.vstack([tail[1], np.ones((1, layout.k))])
            first = np.vstack([layout.chain.start, beliefs_before @ layout.chain.trans])
            return BlockBoundaries(begins, lengths, beliefs_before, first, last)
    return None


def blockwise_forward_backward(layout: ChainLayout, begin, n, counts, *, paired):
    """`Expected` of one long sequence cut into blocks, or None."""
    blocks = _block_boundaries(layout, begin, n)
    if blocks is None:
        return None

    def task(batch):
        return _batched_forward_backward(
            layout,
            np.ascontiguousarray(blocks.first[batch].T),
            np.ascontiguousarray(blocks.last[batch].T),
            blocks.begins[batch],
            blocks.lengths[batch],
            counts,
            paired=paired,
        )

    parts = run_block_batches(task, len(blocks.begins))
    if None in parts:
        return None
    expectations = [part for part, _ in parts]
    trans = np.zeros((0, 0))
    A = layout.chain.trans
    if paired:  # within the blocks, and from each block to the next
        u = np.hstack([u for _, u in parts]).T[1:]
        share = np.einsum("bi,ij,bj->b", blocks.before, A, u)
        cross_counts = (blocks.before / share[:, None]).T @ u
        trans = A * (sum(e.trans for e in expectations) + cross_counts)
    total_counts = (
        expectations[0].counts
        if counts is not None
        else sum(e.counts for e in expectations)
    )
    loglik = np.sum([e.loglik.sum() for e in expectations])
    return Expected(
        expectations[0].start[:, 0], trans, total_counts, np.array([loglik])
    )


def _batched_beliefs(layout: ChainLayout, first, begins, lengths, out):
    """Filtered beliefs into out (n, k) unless it is empty; log p of each, or None."""
    from . import _batched_chains as loops

    run = _batched_forward(layout, first, begins, lengths, keep=len(out) > 0)
    if not run.smallest.min() > SMALLEST_SUM:
        return None
    if len(out):
        loops.normalize_messages(run.stored, begins, lengths, out)
    return run.logliks


def beliefs_of_batch(layout: ChainLayout, begins, lengths, out):
    """Beliefs of a batch of sequences, and log p of each, or None."""
    first = np.repeat(layout.chain.start[:, None], len(begins), axis=1)
    return _batched_beliefs(layout, first, begins, lengths, out)


def blockwise_beliefs(layout: ChainLayout, begin, n, out):
    """Beliefs of one long sequence cut into blocks, and its log p (1,), or None."""
    blocks = _block_boundaries(layout, begin, n, after=False)
    if blocks is None:
        return None

    def task(batch):
        first = np.ascontiguousarray(blocks.first[batch].T)
        return _batched_beliefs(
            layout, first, blocks.begins[batch], blocks.lengths[batch], out
        )

    parts = run_block_batches(task, len(blocks.begins))
    if any(part is None for part in parts):
        return None
    return np.array([np.sum([part.sum() for part in parts])])
