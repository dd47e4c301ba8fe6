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
from .chain_work import FEW, Chain, Evidence, batches, groups, padded, run_groups
from .lanes import STEPS, WIDE, blocks, wide_tasks
from .numerics import safe_log

CUT_UP = 6  # states up to which a long sequence is cut up
SAME = 1e-10  # difference of scores that are taken to be the same


class Climb:
    """A chain and its evidence in logarithms, as the loops take them."""

    def __init__(self, chain: Chain, evidence: Evidence):
        start, A = (safe_log(np.asarray(a, float)) for a in chain)
        self.k, self.start, self.A = len(start), start, np.ascontiguousarray(A)
        self.table = np.ascontiguousarray(evidence.log_table, dtype=float)
        dense = evidence.index is None
        index = np.arange(len(self.table)) if dense else evidence.index
        self.index = np.ascontiguousarray(index, np.int32)
        self.path = np.empty(int(evidence.ends[-1]), np.int64)


def climb(work: Climb, first, begins, lengths, *, keep=True):
    """Eq. (1) side by side: pointers, and the last scores (k, w)."""
    from ._viterbi import climb_side

    n = int(lengths[0]) if keep else 1
    pointers, d = np.empty((n, *first.shape), "i1"), np.empty(first.shape)
    seen = work.table, work.index
    climb_side(first, work.A, *seen, begins, lengths, pointers, d)
    return pointers, d


def traced(work: Climb, first, begins, lengths):
    """`climb`, and the path of each lane from its best state."""
    from ._viterbi import trace_side

    pointers, d = climb(work, first, begins, lengths)
    trace_side(pointers, d.argmax(axis=0), begins, lengths, work.path)
    return pointers, d


def batch(work: Climb, begins, lengths):
    """The paths of a batch of sequences, and their scores."""
    first = np.repeat(work.start[:, None], len(begins), axis=1)
    return traced(work, first, begins, lengths)[1].max(axis=0)


def warmed(work: Climb, begins, n):
    """Scores (cuts, k) after n steps from each of `begins`, where all states begin
    alike, less their largest."""

    def task(cut):
        b = begins[cut]
        first = np.zeros((work.k, len(b)))
        return climb(work, first, b, np.full(len(b), n), keep=False)[1].T

    return level(np.concatenate(wide_tasks(task, len(begins))))


def level(d):
    """Scores (cuts, k) less their largest."""
    top = d.max(axis=1, keepdims=True)
    return d - np.where(top > -np.inf, top, 0.0)


def agree(d, e) -> bool:
    return bool(np.isclose(d, e, rtol=0.0, atol=SAME).all())


def forgotten(work: Climb, begins, shortest):
    """Scores (cuts, k) before each of `begins`, or None where more steps say other."""
    for few in STEPS:
        if few > shortest // 2:
            break
        before = warmed(work, begins - few, few)
        if agree(before, warmed(work, begins - few // 2, few // 2)):
            return before
    return None


def cut_up(work: Climb, begin, n):
    """The path of one long sequence and its score (1,), or None.

    Each block is traced from its own best state, all at the same time; what the block
    after it says is right, and their paths soon meet.
    """
    from ._viterbi import mend_side

    begins, lengths = blocks(begin, n)
    before = forgotten(work, begins[1:], int(lengths[-1]))
    if before is None:
        return None
    joint = before[:, :, None] + work.A
    first = np.vstack([work.start, joint.max(axis=1)])
    links = np.vstack([np.zeros(work.k, np.int64), joint.argmax(axis=1)])
    lane = lambda c: np.ascontiguousarray(first[c].T)
    parts = wide_tasks(
        lambda c: traced(work, lane(c), begins[c], lengths[c]), len(begins)
    )
    last = np.concatenate([d.T for _, d in parts])
    if not agree(before, level(last[:-1])):
        return None
    z = int(last[-1].argmax())
    for i in range(len(parts) - 1, -1, -1):
        c, pointers = slice(i * WIDE, (i + 1) * WIDE), parts[i][0]
        z = mend_side(pointers, z, links[c], begins[c], lengths[c], work.path)
    return last.max(axis=1).sum()[None]  # `before` is 0 at its largest


def group(work: Climb, begin, ends):
    """The paths of sequences one after the other, and their scores."""
    from ._viterbi import best_paths

    start, A = padded(work.start, -np.inf), padded(work.A, -np.inf)
    longest, scores = int(np.diff(ends, prepend=0).max()), np.empty(len(ends))
    pointers, cut = pointers_of(longest, len(start)), slice(begin, begin + ends[-1])
    seen, path = (work.table, work.index[cut]), work.path[cut]
    best_paths(start, A, *seen, ends, pointers, path, scores)
    return scores


def pointers_of(n, k):
    return np.empty((n, k), "i1" if k <= 128 else "i2" if k <= 32768 else "i4")


def from_both_ends(work: Climb, begin, n):
    """The path of one long sequence and its score (1,)."""
    from . import _viterbi as loops

    start, A = padded(work.start, -np.inf), padded(work.A, -np.inf)
    back, m, cut = np.ascontiguousarray(A.T), n // 2, slice(begin, begin + n)
    pointers, path = pointers_of(n, len(start)), work.path[cut]
    none = padded(np.zeros(work.k), -np.inf)
    seen = work.table, work.index[cut]
    up = lambda: loops.climb(start, A, *seen, 0, 1, m, pointers)
    down = lambda: loops.climb(none, back, *seen, n - 1, -1, n - m, pointers)
    d, e = threads.run_tasks([up, down])
    joint = d[:, None] + A + e
    i, j = np.unravel_index(joint.argmax(), joint.shape)
    loops.trace(pointers, int(i), m - 1, 1, m, path)
    loops.trace(pointers, int(j), m, -1, n - m, path)
    return joint[i, j][None]


def viterbi(chain: Chain, evidence: Evidence):
    """The likeliest path of each sequence (n,), and their joint log p (s,)."""
    work = Climb(chain, evidence)

    def whole(begin, n):
        score = cut_up(work, begin, n) if work.k <= CUT_UP else None
        return from_both_ends(work, begin, n) if score is None else score

    if work.k <= FEW:
        (pieces, order), task = batches(evidence.ends), partial(batch, work)
    else:
        pieces, order, task = groups(evidence.ends), slice(None), partial(group, work)
    scores = np.empty(len(evidence.ends))
    scores[order] = np.concatenate(list(run_groups(pieces, task, whole)))
    return work.path, scores
