"""Compiled loops of `brute_force.py`: which entries of a tile are near enough.

A tile holds s = |x|^2 / 2 - x.q from a matrix product, perhaps in less precision than
X. That is half the squared distance but for |q|^2 and an error of at most e / 2, so a
row can be one of the k nearest only if its s is at most e above the k-th smallest.
`collect_candidates` keeps such rows and `finish_candidates` computes their distances
from x - q itself.
"""

import numpy as np

from ..core.loops.compiled import FASTMATH, compiled
from ._neighbor_lists import kth_smallest, push_neighbor, resized_copy

STEP = 64  # entries looked at together


@compiled(fastmath=FASTMATH)
def _squared_row_distance(a, b):
    """|a - b|^2."""
    total = a[0] * 0
    for c in range(len(a)):
        total += (a[c] - b[c]) * (a[c] - b[c])
    return total


@compiled
def _any_at_most(line, start, stop, limit):
    """Whether an entry from start to stop is at most limit; whole steps are quick."""
    result = np.int32(0)
    if stop - start == STEP:
        a = line[start:stop]
        for j in range(STEP):
            result |= np.int32(a[j] <= limit)
    else:
        for j in range(start, stop):
            result |= np.int32(line[j] <= limit)
    return result != 0


@compiled
def collect_candidates(S, first, excluded, slack, k, limit, used, values, rows):
    """Collect the rows of a tile that may be among the k nearest.

    S (b, m) is the tile, of rows from `first` on; excluded (b,) a row to leave out, or
    -1; slack (b,) is e. Query i has used[i] candidates in values[i], rows[i], whose s
    was at most limit[i] when they came. A full list is cut back to what may still
    count. Returns False if a list stays nearly full: too many rows are equally near.
    """
    b, m = S.shape
    size = values.shape[1]
    spare = np.empty(size, values.dtype)
    for i in range(b):
        top, count, mine, columns = limit[i], used[i], values[i], rows[i]
        line = S[i]
        for start in range(0, m, STEP):
            stop = min(start + STEP, m)
            if not _any_at_most(line, start, stop, top):
                continue
            if count + STEP > size:
                for t in range(count):
                    spare[t] = mine[t]
                top = kth_smallest(spare, count, k - 1) + slack[i]
                kept = 0
                for t in range(count):
                    mine[kept], columns[kept] = mine[t], columns[t]
                    kept += mine[t] <= top
                count = kept
                if count + STEP > size:
                    return False
            for j in range(start, stop):
                if line[j] <= top and first + j != excluded[i]:
                    mine[count] = line[j]
                    columns[count] = first + j
                    count += 1
        limit[i], used[i] = top, count
    return True


@compiled
def finish_candidates(X, Q, slack, used, values, rows, D, J):
    """The lists of the k nearest from the rows gathered, by distances from x - q."""
    k = D.shape[1]
    spare = np.empty(values.shape[1], values.dtype)
    for i in range(len(Q)):
        count = used[i]
        for t in range(count):
            spare[t] = values[i, t]
        top = kth_smallest(spare, count, k - 1) + slack[i]
        for t in range(count):
            if values[i, t] <= top:
                value = _squared_row_distance(X[rows[i, t]], Q[i])
                row = rows[i, t]
                if value < D[i, k - 1] or (value == D[i, k - 1] and row < J[i, k - 1]):
                    push_neighbor(D[i], J[i], value, row)


@compiled
def collect_exact(S, X, first, Q, excluded, norms, slack, D, J):
    """Take the rows of a tile straight into the lists of the k nearest.

    X (m, d) are the rows as given with numbers from `first` on, norms (b,) is |q|^2.
    """
    b, m = S.shape
    last = D.shape[1] - 1
    for i in range(b):
        line = S[i]
        limit = S.dtype.type((D[i, last] - norms[i] + slack[i]) / 2)
        for start in range(0, m, STEP):
            stop = min(start + STEP, m)
            if not _any_at_most(line, start, stop, limit):
                continue
            for j in range(start, stop):
                if line[j] <= limit and first + j != excluded[i]:
                    value = _squared_row_distance(X[j], Q[i])
                    if value < D[i, last] or (
                        value == D[i, last] and first + j < J[i, last]
                    ):
                        push_neighbor(D[i], J[i], value, first + j)
                        limit = S.dtype.type((D[i, last] - norms[i] + slack[i]) / 2)


@compiled
def pairs_within(S, X, Q, norms, slack, r):
    """Pairs of a tile with squared distance at most r: (query, row, distance)."""
    b, m = S.shape
    size, used = 1024, 0
    query, row = np.empty(size, np.int64), np.empty(size, np.int64)
    far = np.empty(size, X.dtype)
    for i in range(b):
        line = S[i]
        limit = S.dtype.type((r[i] - norms[i] + slack[i]) / 2)
        if used + m > size:
            size = 2 * size + m
            query, row, far = (
                resized_copy(query, size),
                resized_copy(row, size),
                resized_copy(far, size),
            )
        for start in range(0, m, STEP):
            stop = min(start + STEP, m)
            if not _any_at_most(line, start, stop, limit):
                continue
            for j in range(start, stop):
                if line[j] <= limit:
                    value = _squared_row_distance(X[j], Q[i])
                    query[used], row[used], far[used] = i, j, value
                    used += value <= r[i]
    return query[:used].copy(), row[:used].copy(), far[:used].copy()


@compiled
def collect_columns(T, first, excluded, D, J):
    """Take the columns of a tile of distances into the lists of the k nearest."""
    last = D.shape[1] - 1
    for i in range(T.shape[0]):
        for j in range(T.shape[1]):
            tie = T[i, j] == D[i, last] and first + j < J[i, last]
            if (tie or T[i, j] < D[i, last]) and first + j != excluded[i]:
                push_neighbor(D[i], J[i], T[i, j], first + j)
