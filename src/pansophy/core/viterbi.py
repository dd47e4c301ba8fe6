"""The likeliest path of a discrete chain, for many sequences at once.

    d_t(j) = L_t(j) + max_i d_t-1(i) + log A_ij                                   (1)

Sequences of few states go side by side. A long one is worked from both ends at once,
or, if the states are few, cut into blocks that go side by side. Chains forget: after
some steps d - max d hardly depends on what it was before. So a block begins with what
the m steps before it say, as m / 2 of them do. That is proved afterwards: the first
block is right, hence its last scores are; if the second began with those it is right
too, and so on. A chain that does not forget is done from both ends.

Cost      n k (2 k + 4) operations and n k bytes; of 5 states about half of the time
          is in maxima and the rest in looking up evidence and following pointers

Shapes    first, d (k, w)   begins, lengths (w,)   pointers (n, k, w)
"""

from functools import partial

import numpy as np

from . import threads
from .batched_chains import (
    BLOCKS_PER_BATCH,
    BURN_IN_STEPS,
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
from .numerics import safe_log

MAX_BLOCK_STATES = 6  # states up to which a long sequence is cut up
SCORE_TOLERANCE = 1e-10  # difference of scores that are taken to be the same


class ViterbiLayout:
    """A chain and its evidence in logarithms, as the loops take them."""

    def __init__(self, chain: Chain, evidence: Evidence):
        start, A = (safe_log(np.asarray(a, float)) for a in chain)
        self.k, self.start, self.A = len(start), start, np.ascontiguousarray(A)
        self.table = np.ascontiguousarray(evidence.log_table, dtype=float)
        dense = evidence.index is None
        index = np.arange(len(self.table)) if dense else evidence.index
        self.index = np.ascontiguousarray(index, np.int32)
        self.path = np.empty(int(evidence.ends[-1]), np.int64)


def batched_scores(work: ViterbiLayout, first, begins, lengths, *, keep=True):
    """Eq. (1) side by side: pointers, and the last scores (k, w)."""
    from ._viterbi import batched_viterbi_scores

    n = int(lengths[0]) if keep else 1
    pointers, d = np.empty((n, *first.shape), "i1"), np.empty(first.shape)
    seen = work.table, work.index
    batched_viterbi_scores(first, work.A, *seen, begins, lengths, pointers, d)
    return pointers, d


def batched_paths(work: ViterbiLayout, first, begins, lengths):
    """`batched_scores`, and the path of each lane from its best state."""
    from ._viterbi import batched_backtrack

    pointers, d = batched_scores(work, first, begins, lengths)
    batched_backtrack(pointers, d.argmax(axis=0), begins, lengths, work.path)
    return pointers, d


def batched_viterbi(work: ViterbiLayout, begins, lengths):
    """The paths of a batch of sequences, and their scores."""
    first = np.repeat(work.start[:, None], len(begins), axis=1)
    return batched_paths(work, first, begins, lengths)[1].max(axis=0)


def burn_in_scores(work: ViterbiLayout, begins, n):
    """Scores (cuts, k) after n steps from each of `begins`, where all states begin
    alike, less their largest."""

    def task(cut):
        b = begins[cut]
        first = np.zeros((work.k, len(b)))
        return batched_scores(work, first, b, np.full(len(b), n), keep=False)[1].T

    return relative_scores(np.concatenate(run_block_batches(task, len(begins))))


def relative_scores(d):
    """Scores (cuts, k) less their largest."""
    top = d.max(axis=1, keepdims=True)
    return d - np.where(top > -np.inf, top, 0.0)


def scores_agree(d, e) -> bool:
    return bool(np.isclose(d, e, rtol=0.0, atol=SCORE_TOLERANCE).all())


def scores_after_burn_in(work: ViterbiLayout, begins, shortest):
    """Scores (cuts, k) before each of `begins`, or None where more steps say other."""
    for few in BURN_IN_STEPS:
        if few > shortest // 2:
            break
        before = burn_in_scores(work, begins - few, few)
        if scores_agree(before, burn_in_scores(work, begins - few // 2, few // 2)):
            return before
    return None


def blockwise_viterbi(work: ViterbiLayout, begin, n):
    """The path of one long sequence and its score (1,), or None.

    Each block is traced from its own best state, all at the same time; what the block
    after it says is right, and their paths soon meet.
    """
    from ._viterbi import join_block_paths

    begins, lengths = split_into_blocks(begin, n)
    before = scores_after_burn_in(work, begins[1:], int(lengths[-1]))
    if before is None:
        return None
    joint = before[:, :, None] + work.A
    first = np.vstack([work.start, joint.max(axis=1)])
    links = np.vstack([np.zeros(work.k, np.int64), joint.argmax(axis=1)])
    lane = lambda c: np.ascontiguousarray(first[c].T)
    parts = run_block_batches(
        lambda c: batched_paths(work, lane(c), begins[c], lengths[c]), len(begins)
    )
    last = np.concatenate([d.T for _, d in parts])
    if not scores_agree(before, relative_scores(last[:-1])):
        return None
    z = int(last[-1].argmax())
    for i in range(len(parts) - 1, -1, -1):
        c, pointers = (
            slice(i * BLOCKS_PER_BATCH, (i + 1) * BLOCKS_PER_BATCH),
            parts[i][0],
        )
        z = join_block_paths(pointers, z, links[c], begins[c], lengths[c], work.path)
    return last.max(axis=1).sum()[None]  # `before` is 0 at its largest


def sequential_viterbi(work: ViterbiLayout, begin, ends):
    """The paths of sequences one after the other, and their scores."""
    from ._viterbi import viterbi_paths

    start, A = pad_states(work.start, -np.inf), pad_states(work.A, -np.inf)
    longest, scores = int(np.diff(ends, prepend=0).max()), np.empty(len(ends))
    pointers, cut = (
        empty_backpointers(longest, len(start)),
        slice(begin, begin + ends[-1]),
    )
    seen, path = (work.table, work.index[cut]), work.path[cut]
    viterbi_paths(start, A, *seen, ends, pointers, path, scores)
    return scores


def empty_backpointers(n, k):
    return np.empty((n, k), "i1" if k <= 128 else "i2" if k <= 32768 else "i4")


def two_ended_viterbi(work: ViterbiLayout, begin, n):
    """The path of one long sequence and its score (1,)."""
    from . import _viterbi as loops

    start, A = pad_states(work.start, -np.inf), pad_states(work.A, -np.inf)
    back, m, cut = np.ascontiguousarray(A.T), n // 2, slice(begin, begin + n)
    pointers, path = empty_backpointers(n, len(start)), work.path[cut]
    none = pad_states(np.zeros(work.k), -np.inf)
    seen = work.table, work.index[cut]
    up = lambda: loops.viterbi_scores(start, A, *seen, 0, 1, m, pointers)
    down = lambda: loops.viterbi_scores(none, back, *seen, n - 1, -1, n - m, pointers)
    d, e = threads.run([up, down])
    joint = d[:, None] + A + e
    i, j = np.unravel_index(joint.argmax(), joint.shape)
    loops.backtrack(pointers, int(i), m - 1, 1, m, path)
    loops.backtrack(pointers, int(j), m, -1, n - m, path)
    return joint[i, j][None]


def viterbi(chain: Chain, evidence: Evidence):
    """The likeliest path of each sequence (n,), and their joint log p (s,)."""
    work = ViterbiLayout(chain, evidence)

    def whole(begin, n):
        score = (
            blockwise_viterbi(work, begin, n) if work.k <= MAX_BLOCK_STATES else None
        )
        return two_ended_viterbi(work, begin, n) if score is None else score

    if work.k <= MAX_BATCHED_STATES:
        (pieces, order), task = (
            batch_sequences(evidence.ends),
            partial(batched_viterbi, work),
        )
    else:
        pieces, order, task = (
            group_sequences(evidence.ends),
            slice(None),
            partial(sequential_viterbi, work),
        )
    scores = np.empty(len(evidence.ends))
    scores[order] = np.concatenate(list(run_pieces(pieces, task, whole)))
    return work.path, scores
