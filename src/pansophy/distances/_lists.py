"""Compiled lists of the k nearest rows, by distance and then by row number.

Short lists are kept sorted and take one row at a time (`push`). Long ones gather rows
up to a limit and are cut back to the k smallest when full (`collect`).
"""

import numpy as np
from numba import njit

RANKED = 128  # pairs up to this many are sorted by counting
SMALL = 32  # lists up to this length are kept sorted, longer ones as a heap


@njit(cache=True, nogil=True)
def push(D, J, value, row):
    """Put a row into a list of the k nearest, of which it is nearer than the last.

    Short lists are ascending; long ones are heaps with the farthest at the root,
    stored backwards so that the farthest is the last entry in both.
    """
    k = len(D)
    at = k - 1
    if k <= SMALL:
        while at > 0 and (
            D[at - 1] > value or (D[at - 1] == value and J[at - 1] > row)
        ):
            D[at], J[at] = D[at - 1], J[at - 1]
            at -= 1
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
            D[at], J[at] = D[a], J[a]
            node, at = child, a
    D[at], J[at] = value, row


@njit(cache=True, nogil=True)
def sort_lists(D, J):
    """Sort each list by distance, equal ones by row number."""
    for r in range(len(D)):
        if len(D[r]) <= SMALL:
            continue
        order = np.argsort(D[r])
        d, i = D[r][order], J[r][order]
        start = 0
        for t in range(1, len(d) + 1):
            if t == len(d) or d[t] != d[start]:
                if t - start > 1:
                    i[start:t].sort()
                start = t
        D[r], J[r] = d, i


@njit(cache=True, nogil=True)
def kth(values, count, k):
    """The k-th smallest (from 0) of the first entries, which are overwritten.

    Entries are moved by adding up comparisons, which costs no wrong guesses of the
    processor: half of all branches on a pivot would be.
    """
    while True:
        a, b, c = values[0], values[count >> 1], values[count - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        less, same = 0, 0
        for i in range(count):
            less += values[i] < pivot
            same += values[i] == pivot
        if less <= k < less + same:
            return pivot
        kept = 0
        if k < less:
            for i in range(count):
                value = values[i]
                values[kept] = value
                kept += value < pivot
        else:
            k -= less + same
            for i in range(count):
                value = values[i]
                values[kept] = value
                kept += value > pivot
        count = kept


@njit(cache=True, nogil=True)
def take_near(buffer, m, order, start, own, D, J):
    """Push those of m rows that are nearer than the last of a list."""
    last = len(D) - 1
    for i in range(m):
        if buffer[i] <= D[last]:
            row = order[start + i]
            if row != own and (buffer[i] < D[last] or row < J[last]):
                push(D, J, buffer[i], row)


@njit(cache=True, nogil=True)
def sort_pairs(V, R, count):
    """Sort the first entries by value, equal ones by row number (Shell's way)."""
    for gap in (132, 57, 23, 10, 4, 1):
        for i in range(gap, count):
            value, row, j = V[i], R[i], i
            while j >= gap and (
                V[j - gap] > value or (V[j - gap] == value and R[j - gap] > row)
            ):
                V[j], R[j] = V[j - gap], R[j - gap]
                j -= gap
            V[j], R[j] = value, row


@njit(cache=True, nogil=True)
def place_pairs(V, R, count, D, J):
    """Write the len(D) smallest pairs in order, each at the number of smaller ones."""
    if count > RANKED:
        sort_pairs(V, R, count)
        D[:], J[:] = V[: len(D)], R[: len(D)]
        return
    for i in range(count):
        value, row, rank, same = V[i], R[i], 0, 0
        for j in range(count):
            rank += V[j] < value
            same += V[j] == value
        if same > 1:
            for j in range(count):
                rank += (V[j] == value) & (R[j] < row)
        if rank < len(D):
            D[rank], J[rank] = value, row


@njit(cache=True, nogil=True)
def cut_back(V, R, count, k, spare):
    """Keep of a list what may be among its k smallest; (how many, the k-th value)."""
    spare[:count] = V[:count]
    limit = kth(spare, count, k - 1)
    kept = 0
    for i in range(count):
        V[kept], R[kept] = V[i], R[i]
        kept += V[kept] <= limit
    if kept > k + k // 4:  # many rows at the k-th distance: the lower ones stay
        sort_pairs(V, R, kept)
        kept = k
    return kept, limit


@njit(cache=True, nogil=True)
def collect(buffer, m, order, start, own, V, R, count, limit, k, spare):
    """Put those of m rows that are near enough into a long list, cut back when full."""
    if count + m > len(V):
        count, limit = cut_back(V, R, count, k, spare)
    for i in range(m):
        V[count], R[count] = buffer[i], order[start + i]
        count += (buffer[i] <= limit) & (R[count] != own)
    if limit == np.inf and count >= k + k // 2:
        count, limit = cut_back(V, R, count, k, spare)
    return count, limit


@njit(cache=True, nogil=True)
def grown(a, room):
    out = np.empty(room, a.dtype)
    out[: len(a)] = a
    return out
