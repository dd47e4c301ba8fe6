"""The Viterbi algorithm: the most probable path of a discrete chain.

    d_t(j) = L_t(j) + max_i d_t-1(i) + log A_ij                                   (1)

for many sequences at once. Sequences of few states are batched. A long sequence is
worked on from both ends at once, or, if the states are few, cut into blocks that are
batched. Chains forget their past: after some steps d - max d hardly depends on what it
was before. So a block begins with the scores after a burn-in of m steps, if m / 2 steps
give the same. That is verified afterwards: the first block is right, hence its last
scores are; if the second began with those it is right too, and so on. A chain that
does not forget is done from both ends.

Cost      n k (2 k + 4) operations and n k bytes
Shapes    first, d (k, w)   begins, lengths (w,)   back-pointers (n, k, w)
Refs      [Rabiner1989]
"""

from functools import partial

import numpy as np

from ..loops import threads
from ..numerics import safe_log
from .batched_chains import (
    BLOCKS_PER_BATCH,
    BURN_IN_STEPS,
    MAX_BLOCK_STATES,
    run_block_batches,
    split_into_blocks,
)
from .hidden_chain import (
    MAX_BATCHED_STATES,
    Chain,
    Evidence,
    batch_sequences,
    group_sequences,
    pad_states,
    run_pieces,
)

SCORE_TOLERANCE = 1e-10  # difference of scores that are taken to be the same


class ViterbiLayout:
    """A chain and its evidence in logarithms, as the loops need them."""

    def __init__(self, chain: Chain, evidence: Evidence):
        start, A = (safe_log(np.asarray(a, float)) for a in chain)
        self.k = len(start)
        self.start = start
        self.A = np.ascontiguousarray(A)
        self.table = np.ascontiguousarray(evidence.log_table, dtype=float)
        dense = evidence.index is None
        index = np.arange(len(self.table)) if dense else evidence.index
        self.index = np.ascontiguousarray(index, np.int32)
        self.path = np.empty(int(evidence.ends[-1]), np.int64)


def _batched_scores(layout: ViterbiLayout, first, begins, lengths, *, keep=True):
    """Eq. (1) of a batch: back-pointers, and the last scores (k, w)."""
    from ._viterbi import batched_viterbi_scores

    n = int(lengths[0]) if keep else 1
    pointers, d = np.empty((n, *first.shape), "i1"), np.empty(first.shape)
    batched_viterbi_scores(
        first, layout.A, layout.table, layout.index, begins, lengths, pointers, d
    )
    return pointers, d


def _batched_paths(layout: ViterbiLayout, first, begins, lengths):
    """`_batched_scores`, and the path of each lane from its best state."""
    from ._viterbi import batched_backtrack

    pointers, d = _batched_scores(layout, first, begins, lengths)
    batched_backtrack(pointers, d.argmax(axis=0), begins, lengths, layout.path)
    return pointers, d


def _batched_viterbi(layout: ViterbiLayout, begins, lengths):
    """The paths of a batch of sequences, and their scores."""
    first = np.repeat(layout.start[:, None], len(begins), axis=1)
    return _batched_paths(layout, first, begins, lengths)[1].max(axis=0)


def _burn_in_scores(layout: ViterbiLayout, begins, n):
    """Scores (cuts, k) after n steps from each of `begins`, less their largest.

    All states begin with the same score.
    """

    def task(batch):
        b = begins[batch]
        first = np.zeros((layout.k, len(b)))
        return _batched_scores(layout, first, b, np.full(len(b), n), keep=False)[1].T

    return relative_scores(np.concatenate(run_block_batches(task, len(begins))))


def relative_scores(d):
    """Scores (cuts, k) less their largest."""
    top = d.max(axis=1, keepdims=True)
    return d - np.where(top > -np.inf, top, 0.0)


def scores_agree(d, e) -> bool:
    """Whether relative scores differ by rounding alone."""
    return bool(np.isclose(d, e, rtol=0.0, atol=SCORE_TOLERANCE).all())


def scores_after_burn_in(layout: ViterbiLayout, begins, shortest):
    """Scores (cuts, k) before each of `begins`; None where more steps change them."""
    for m in BURN_IN_STEPS:
        if m > shortest // 2:
            break
        scores_before = _burn_in_scores(layout, begins - m, m)
        if scores_agree(
            scores_before, _burn_in_scores(layout, begins - m // 2, m // 2)
        ):
            return scores_before
    return None


def blockwise_viterbi(layout: ViterbiLayout, begin, n):
    """The path of one long sequence cut into blocks and its score (1,), or None.

    Each block is traced from its own best state, all at the same time. Then the blocks
    are joined from the last to the first: the last state of a block follows from the
    first of the next, and the traced path is corrected until both agree.
    """
    from ._viterbi import join_block_paths

    begins, lengths = split_into_blocks(begin, n)
    scores_before = scores_after_burn_in(layout, begins[1:], int(lengths[-1]))
    if scores_before is None:
        return None
    joint = scores_before[:, :, None] + layout.A
    first = np.vstack([layout.start, joint.max(axis=1)])
    links = np.vstack([np.zeros(layout.k, np.int64), joint.argmax(axis=1)])

    def task(batch):
        lanes = np.ascontiguousarray(first[batch].T)
        return _batched_paths(layout, lanes, begins[batch], lengths[batch])

    parts = run_block_batches(task, len(begins))
    last = np.concatenate([d.T for _, d in parts])
    if not scores_agree(scores_before, relative_scores(last[:-1])):
        return None
    z = int(last[-1].argmax())
    for i in range(len(parts) - 1, -1, -1):
        batch = slice(i * BLOCKS_PER_BATCH, (i + 1) * BLOCKS_PER_BATCH)
        pointers = parts[i][0]
        z = join_block_paths(
            pointers, z, links[batch], begins[batch], lengths[batch], layout.path
        )
    return last.max(axis=1).sum()[None]  # `scores_before` is 0 at its largest


def _sequential_viterbi(layout: ViterbiLayout, begin, ends):
    """The paths of sequences one after the other, and their scores."""
    from ._viterbi import viterbi_paths

    start, A = pad_states(layout.start, -np.inf), pad_states(layout.A, -np.inf)
    longest = int(np.diff(ends, prepend=0).max())
    scores = np.empty(len(ends))
    pointers = empty_backpointers(longest, len(start))
    steps = slice(begin, begin + ends[-1])
    viterbi_paths(
        start,
        A,
        layout.table,
        layout.index[steps],
        ends,
        pointers,
        layout.path[steps],
        scores,
    )
    return scores


def empty_backpointers(n, k):
    """Array (n, k) of the smallest integer type that holds k states."""
    return np.empty((n, k), "i1" if k <= 128 else "i2" if k <= 32768 else "i4")


def _two_ended_viterbi(layout: ViterbiLayout, begin, n):
    """The path of one long sequence, from both ends on two threads; its score (1,)."""
    from . import _viterbi as loops

    start, A = pad_states(layout.start, -np.inf), pad_states(layout.A, -np.inf)
    back = np.ascontiguousarray(A.T)
    m = n // 2
    steps = slice(begin, begin + n)
    pointers = empty_backpointers(n, len(start))
    path = layout.path[steps]
    last = pad_states(np.zeros(layout.k), -np.inf)
    table = layout.table
    index = layout.index[steps]
    forward = lambda: loops.viterbi_scores(start, A, table, index, 0, 1, m, pointers)
    backward = lambda: loops.viterbi_scores(
        last, back, table, index, n - 1, -1, n - m, pointers
    )
    d, e = threads.run_tasks([forward, backward])
    joint = d[:, None] + A + e
    i, j = np.unravel_index(joint.argmax(), joint.shape)
    loops.backtrack(pointers, int(i), m - 1, 1, m, path)
    loops.backtrack(pointers, int(j), m, -1, n - m, path)
    return joint[i, j][None]


def viterbi(chain: Chain, evidence: Evidence):
    """The most probable path of each sequence (n,), and their joint log p (s,)."""
    layout = ViterbiLayout(chain, evidence)

    def long(begin, n):
        score = None
        if layout.k <= MAX_BLOCK_STATES:
            score = blockwise_viterbi(layout, begin, n)
        return _two_ended_viterbi(layout, begin, n) if score is None else score

    if layout.k <= MAX_BATCHED_STATES:
        pieces, order = batch_sequences(evidence.ends)
        short = partial(_batched_viterbi, layout)
    else:
        pieces = group_sequences(evidence.ends)
        order = slice(None)
        short = partial(_sequential_viterbi, layout)
    scores = np.empty(len(evidence.ends))
    scores[order] = np.concatenate(list(run_pieces(pieces, short, long)))
    return layout.path, scores
