"""The best n of many scores, for blocks of rows at a time."""

import numpy as np

from ..core import threads
from ._ranking import select

BLOCK = 1 << 21  # scores of a block of rows
FEW = 256  # up to so many are picked in one pass


def best(score, rows, n_columns, n, seen=None, allowed=None):
    """(m, n) columns of the largest scores of each row, best first, and the scores.

    `score(rows)` gives the (b, n_columns) scores of some rows; `seen` is a CSR matrix
    whose stored cells are left out (rows of -1 have none), `allowed` a mask of
    columns. Ties go to the lower column. Places left over are -1. Memory is one block
    of scores for each thread.
    """
    codes = np.full((len(rows), n), -1, np.int64)
    scores = np.full((len(rows), n), -np.inf)
    step = max(1, BLOCK // max(1, n_columns))
    if n < 1:
        return codes, scores

    def fill(cut):
        own = rows[cut]
        S = score(own)
        if allowed is not None:
            S[:, ~allowed] = -np.inf
        if seen is not None:
            hide(S, own, seen)
        if n <= FEW:
            select(S, n, codes[cut], scores[cut])
            return
        order = np.argsort(-S, axis=1, kind="stable")[:, :n]
        top = np.take_along_axis(S, order, axis=1)
        codes[cut] = np.where(top > -np.inf, order, -1)
        scores[cut] = top

    cuts = [slice(a, min(a + step, len(rows))) for a in range(0, len(rows), step)]
    for _ in threads.run_tasks([lambda c=c: fill(c) for c in cuts], blas=True):
        pass
    return codes, scores


def hide(S, rows, seen):
    """-inf where the rows have stored cells."""
    known = np.flatnonzero(rows >= 0)
    begin, end = seen.indptr[rows[known]], seen.indptr[rows[known] + 1]
    sizes = end - begin
    total = int(sizes.sum())
    if not total:
        return
    shift = np.repeat(begin - np.r_[0, np.cumsum(sizes)[:-1]], sizes)
    S[np.repeat(known, sizes), seen.indices[np.arange(total) + shift]] = -np.inf
