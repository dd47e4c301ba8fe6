"""Compiled lists of the k nearest rows, by distance and then by row number.

Short lists are kept sorted and take one row at a time (`push_neighbor`). Long ones
gather rows up to a limit and are cut back to the k smallest when full
(`keep_k_smallest`). The lists of a group of queries are the rows of V (values) and R
(row numbers).
"""

import numpy as np

from ..core.loops.compiled import compiled

RANKED = 128  # pairs up to this many are sorted by counting
SMALL = 32  # lists up to this length are kept sorted, longer ones as a heap


@compiled
def push_neighbor(D, J, value, row):
    """Put a row into a list of the k nearest, of which it is nearer than the last.

    Short lists are ascending; long ones are heaps with the farthest at the root,
    stored backwards so that the farthest is the last entry in both.
    """
    k = len(D)
    slot = k - 1
    if k <= SMALL:
        while slot > 0 and (
            D[slot - 1] > value or (D[slot - 1] == value and J[slot - 1] > row)
        ):
            D[slot], J[slot] = D[slot - 1], J[slot - 1]
            slot -= 1
    else:
        node = 0
        while True:
            child = 2 * node + 1
            if child >= k:
                break
            a = k - 1 - child
            if child + 1 < k and (
                D[a - 1] > D[a] or (D[a - 1] == D[a] and J[a - 1] > J[a])
            ):
                child, a = child + 1, a - 1
            if D[a] < value or (D[a] == value and J[a] < row):
                break
            D[slot], J[slot] = D[a], J[a]
            node, slot = child, a
    D[slot], J[slot] = value, row


@compiled
def sort_lists(D, J):
    """Sort each list by distance, equal ones by row number."""
    if D.shape[1] > SMALL:
        for r in range(len(D)):
            _sort_pairs(D, J, r, D.shape[1])


@compiled
def kth_smallest(values, count, k):
    """The k-th smallest (from 0) of the first entries, which are overwritten.

    Entries are moved by adding up comparisons, which costs no wrong guesses of the
    processor: half of all branches on a pivot would be.
    """
    while True:
        a, b, c = values[0], values[count >> 1], values[count - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        n_less, n_equal = 0, 0
        for i in range(count):
            n_less += values[i] < pivot
            n_equal += values[i] == pivot
        if n_less <= k < n_less + n_equal:
            return pivot
        kept = 0
        if k < n_less:
            for i in range(count):
                value = values[i]
                values[kept] = value
                kept += value < pivot
        else:
            k -= n_less + n_equal
            for i in range(count):
                value = values[i]
                values[kept] = value
                kept += value > pivot
        count = kept


@compiled
def insert_neighbor(V, R, t, k, value, row):
    """Put a row into the ascending list t if it is among its k nearest."""
    slot = k - 1
    if V[t, slot] < value or (V[t, slot] == value and R[t, slot] < row):
        return
    while slot > 0 and (
        V[t, slot - 1] > value or (V[t, slot - 1] == value and R[t, slot - 1] > row)
    ):
        V[t, slot], R[t, slot] = V[t, slot - 1], R[t, slot - 1]
        slot -= 1
    V[t, slot], R[t, slot] = value, row


@compiled
def _sort_pairs(V, R, t, count):
    """Sort list t by value, equal ones by row number (Shell's way)."""
    gap = 1
    while gap * 9 // 4 < count:
        gap = gap * 9 // 4 + 1
    while gap > 0:
        for i in range(gap, count):
            value = V[t, i]
            row = R[t, i]
            j = i
            while j >= gap and (
                V[t, j - gap] > value
                or (V[t, j - gap] == value and R[t, j - gap] > row)
            ):
                V[t, j], R[t, j] = V[t, j - gap], R[t, j - gap]
                j -= gap
            V[t, j], R[t, j] = value, row
        gap = max(gap * 4 // 9, 1) if gap > 1 else 0


@compiled
def write_sorted_pairs(V, R, t, count, D, J, q):
    """Write the nearest of list t in order, each at the number of smaller ones."""
    k = D.shape[1]
    if count > RANKED:
        _sort_pairs(V, R, t, count)
        for i in range(k):
            D[q, i], J[q, i] = V[t, i], R[t, i]
        return
    for i in range(count):
        value = V[t, i]
        row = R[t, i]
        rank = 0
        n_equal = 0
        for j in range(count):
            rank += V[t, j] < value
            n_equal += V[t, j] == value
        if n_equal > 1:
            for j in range(count):
                rank += (V[t, j] == value) & (R[t, j] < row)
        if rank < k:
            D[q, rank], J[q, rank] = value, row


@compiled
def keep_k_smallest(V, R, t, count, k, spare):
    """Keep of list t what may be among its k smallest; (how many, the k-th value)."""
    for i in range(count):
        spare[i] = V[t, i]
    limit = kth_smallest(spare, count, k - 1)
    kept = 0
    for i in range(count):
        value, row = V[t, i], R[t, i]
        V[t, kept], R[t, kept] = value, row
        kept += value <= limit
    if kept > k + k // 4:  # many rows at the k-th distance: the lower ones stay
        _sort_pairs(V, R, t, kept)
        kept = k
    return kept, limit


@compiled
def resized_copy(a, size):
    """A longer copy of a."""
    out = np.empty(size, a.dtype)
    for i in range(len(a)):
        out[i] = a[i]
    return out
