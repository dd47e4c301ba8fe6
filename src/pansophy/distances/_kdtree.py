"""Compiled loops of `search`: growing a k-d tree and walking it with groups of rows.

The tree is complete and balanced: node j of level l holds the places

    (n j) >> l   up to   (n (j + 1)) >> l                                       (1)

of the rows in tree order, so a node needs no pointers, only its box (lo, hi), at
(1 << l) - 1 + j. Rows are kept by columns, XT (d, n), so that the distances from one
query to all rows of a leaf are a few vector instructions per column. Distances are
reduced: without the last root, which changes no order.

`kind` is 2 for sums of squares, 1 for sums of absolute values, 0 for their maximum
and 3 for sums of p-th powers.
"""

import numpy as np
from numba import njit

from ._lists import SMALL, collect, cut_back, grown, place_pairs, take_near

FAST = {"contract", "nsz", "arcp"}


@njit(cache=True, nogil=True)
def split_level(X, order, level, first, last):
    """Put the nodes first to last of a level around their medians, in place."""
    n, d = X.shape
    for j in range(first, last):
        start, stop = (n * j) >> level, (n * (j + 1)) >> level
        middle = (n * (2 * j + 1)) >> (level + 1)
        axis, widest = 0, -1.0
        for c in range(d):
            low = high = X[start, c]
            for i in range(start + 1, stop):
                low, high = min(low, X[i, c]), max(high, X[i, c])
            if high - low > widest:
                axis, widest = c, high - low
        if widest > 0:
            select(X, order, start, stop - 1, middle, axis)


@njit(cache=True, nogil=True)
def select(X, order, low, high, k, axis):
    """Move rows so that row k is where sorting by one column would put it."""
    d = X.shape[1]
    while low < high:
        a, b, c = X[low, axis], X[(low + high) >> 1, axis], X[high, axis]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while X[i, axis] < pivot:
                i += 1
            while X[j, axis] > pivot:
                j -= 1
            if i <= j:
                for t in range(d):
                    X[i, t], X[j, t] = X[j, t], X[i, t]
                order[i], order[j] = order[j], order[i]
                i, j = i + 1, j - 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            return


@njit(cache=True, nogil=True)
def boxes(XT, levels):
    """(lo, hi) of every node, leaves first."""
    d, n = XT.shape
    leaves = 1 << levels
    lo, hi = (
        np.empty((2 * leaves - 1, d), XT.dtype),
        np.empty((2 * leaves - 1, d), XT.dtype),
    )
    for j in range(leaves):
        node = leaves - 1 + j
        for c in range(d):
            start, stop = (n * j) >> levels, (n * (j + 1)) >> levels
            low = high = XT[c, start]
            for i in range(start + 1, stop):
                low, high = min(low, XT[c, i]), max(high, XT[c, i])
            lo[node, c], hi[node, c] = low, high
    for node in range(leaves - 2, -1, -1):
        for c in range(d):
            lo[node, c] = min(lo[2 * node + 1, c], lo[2 * node + 2, c])
            hi[node, c] = max(hi[2 * node + 1, c], hi[2 * node + 2, c])
    return lo, hi


@njit(cache=True, nogil=True, inline="always")
def joined(total, gap, kind, p):
    """A distance with one more column taken in."""
    if kind == 2:
        return total + gap * gap
    if kind == 1:
        return total + gap
    if kind == 0:
        return max(total, gap)
    return total + gap**p


@njit(cache=True, nogil=True)
def between(alo, ahi, blo, bhi, kind, p):
    """The least distance between two boxes, and the squared one of their middles."""
    total, apart, zero = alo[0] * 0, alo[0] * 0, alo[0] * 0
    for c in range(len(alo)):
        gap = max(max(blo[c] - ahi[c], alo[c] - bhi[c]), zero)
        total = joined(total, gap, kind, p)
        move = blo[c] + bhi[c] - alo[c] - ahi[c]
        apart += move * move
    return total, apart


@njit(cache=True, nogil=True)
def to_box(QT, i, lo, hi, kind, p):
    """The least distance from query i to a box."""
    total, zero = lo[0] * 0, lo[0] * 0
    for c in range(len(lo)):
        gap = max(max(lo[c] - QT[c, i], QT[c, i] - hi[c]), zero)
        total = joined(total, gap, kind, p)
    return total


@njit(cache=True, nogil=True)
def beyond(QT, i, lo, hi, kind, p):
    """The largest distance from query i to a box."""
    total = lo[0] * 0
    for c in range(len(lo)):
        gap = max(hi[c] - QT[c, i], QT[c, i] - lo[c])
        total = joined(total, gap, kind, p)
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def to_rows(XT, start, stop, QT, q, kind, p, out):
    """out = reduced distances from query q to the rows start to stop."""
    m = stop - start
    for c in range(len(XT)):
        x, value = XT[c, start:stop], QT[c, q]
        if c == 0:
            for i in range(m):
                out[i] = 0
        if kind == 2:
            for i in range(m):
                out[i] += (x[i] - value) * (x[i] - value)
        elif kind == 1:
            for i in range(m):
                out[i] += abs(x[i] - value)
        elif kind == 0:
            for i in range(m):
                out[i] = max(out[i], abs(x[i] - value))
        else:
            for i in range(m):
                out[i] += abs(x[i] - value) ** p


@njit(cache=True, nogil=True)
def children(glo, ghi, node, lo, hi, kind, p):
    """The nearer and the farther child of a node, with their distances."""
    a, b = 2 * node + 1, 2 * node + 2
    near, middle_a = between(glo, ghi, lo[a], hi[a], kind, p)
    far, middle_b = between(glo, ghi, lo[b], hi[b], kind, p)
    if far < near or (far == near and middle_b < middle_a):
        return b, a, far, near
    return a, b, near, far


@njit(cache=True, nogil=True)
def k_nearest(tree, XT, order, lo, hi, levels, queries, first, last, k, same, room):
    """The k nearest rows of the queries in leaves first to last of the query tree.

    tree is (kind, p); queries is (QT, qorder, qlo, qhi, qlevels). Returns lists in
    the tree order of the queries. A node is left out if no query of the group can
    have a row of it in its list; `room` covers the rounding of that comparison.
    """
    kind, p = tree
    QT, qorder, qlo, qhi, qlevels = queries
    n, m = XT.shape[1], QT.shape[1]
    leaves, qleaves = 1 << levels, 1 << qlevels
    base, leaf = (m * first) >> qlevels, n // leaves + 1
    total = ((m * last) >> qlevels) - base
    D = np.full((total, k), np.inf, XT.dtype)
    J = np.full((total, k), n, np.int64)
    buffer = np.empty(leaf, XT.dtype)
    nodes = np.empty(2 * levels + 2, np.int64)
    bounds = np.empty(2 * levels + 2, XT.dtype)
    long = k > SMALL
    group, size = (m // qleaves + 1, 3 * k + leaf) if long else (1, 1)
    V, R = np.empty((group, size), XT.dtype), np.empty((group, size), np.int64)
    used, limits = np.empty(group, np.int64), np.empty(group, XT.dtype)
    spare = np.empty(size, XT.dtype)
    for g in range(first, last):
        start, stop = (m * g) >> qlevels, (m * (g + 1)) >> qlevels
        glo, ghi = qlo[qleaves - 1 + g], qhi[qleaves - 1 + g]
        used[:], limits[:] = 0, np.inf
        worst = limits[0]
        top = 1
        nodes[0], bounds[0] = 0, 0
        while top:
            top -= 1
            node = nodes[top]
            if bounds[top] > worst * room:
                continue
            if node < leaves - 1:
                a, b, near, far = children(glo, ghi, node, lo, hi, kind, p)
                nodes[top], bounds[top] = b, far
                nodes[top + 1], bounds[top + 1] = a, near
                top += 2
                continue
            j = node - (leaves - 1)
            low, high = (n * j) >> levels, (n * (j + 1)) >> levels
            worst = D.dtype.type(0)
            for q in range(start, stop):
                i, t = q - base, q - start
                limit = limits[t] if long else D[i, k - 1]
                if to_box(QT, q, lo[node], hi[node], kind, p) <= limit * room:
                    to_rows(XT, low, high, QT, q, kind, p, buffer)
                    own = qorder[q] if same else -1
                    if long:
                        used[t], limit = collect(
                            buffer, high - low, order, low, own,
                            V[t], R[t], used[t], limit, k, spare,
                        )  # fmt: skip
                        limits[t] = limit
                    else:
                        take_near(buffer, high - low, order, low, own, D[i], J[i])
                        limit = D[i, k - 1]
                worst = max(worst, limit)
        if long:
            for t in range(stop - start):
                count, _ = cut_back(V[t], R[t], used[t], k, spare)
                i = start - base + t
                place_pairs(V[t], R[t], count, D[i], J[i])
    return D, J


@njit(cache=True, nogil=True)
def within(tree, XT, order, lo, hi, levels, QT, first, last, r):
    """Rows within reduced distance r of the queries first to last, as CSR parts."""
    kind, p = tree
    n, leaves = XT.shape[1], 1 << levels
    buffer = np.empty(n // leaves + 1, XT.dtype)
    nodes = np.empty(2 * levels + 2, np.int64)
    ends = np.zeros(last - first + 1, np.int64)
    room, used = 64 + 16 * (last - first), 0
    rows, found = np.empty(room, np.int64), np.empty(room, XT.dtype)
    for q in range(first, last):
        top = 1
        nodes[0] = 0
        while top:
            top -= 1
            node = nodes[top]
            if to_box(QT, q, lo[node], hi[node], kind, p) > r[q]:
                continue
            if node < leaves - 1:
                nodes[top], nodes[top + 1] = 2 * node + 2, 2 * node + 1
                top += 2
                continue
            j = node - (leaves - 1)
            low, high = (n * j) >> levels, (n * (j + 1)) >> levels
            to_rows(XT, low, high, QT, q, kind, p, buffer)
            if used + high - low > room:
                room = 2 * room + high - low
                rows, found = grown(rows, room), grown(found, room)
            for i in range(high - low):
                rows[used], found[used] = order[low + i], buffer[i]
                used += buffer[i] <= r[q]
        ends[q - first + 1] = used
    return ends, rows[:used].copy(), found[:used].copy()


@njit(cache=True, nogil=True)
def count_within(tree, XT, w, W, lo, hi, levels, QT, first, last, r):
    """Weight within reduced distance r of the queries first to last.

    w (n,) are weights in tree order and W (n + 1,) their sums up to each place, so a
    node that lies inside counts at once.
    """
    kind, p = tree
    n, leaves = XT.shape[1], 1 << levels
    buffer = np.empty(n // leaves + 1, XT.dtype)
    nodes = np.empty(2 * levels + 2, np.int64)
    out = np.zeros(last - first, W.dtype)
    for q in range(first, last):
        top = 1
        nodes[0] = 0
        while top:
            top -= 1
            node = nodes[top]
            if to_box(QT, q, lo[node], hi[node], kind, p) > r[q]:
                continue
            level = 0
            while (2 << level) - 1 <= node:
                level += 1
            j = node - ((1 << level) - 1)
            low, high = (n * j) >> level, (n * (j + 1)) >> level
            if beyond(QT, q, lo[node], hi[node], kind, p) < r[q]:
                out[q - first] += W[high] - W[low]
            elif node < leaves - 1:
                nodes[top], nodes[top + 1] = 2 * node + 2, 2 * node + 1
                top += 2
            else:
                to_rows(XT, low, high, QT, q, kind, p, buffer)
                for i in range(high - low):
                    if buffer[i] <= r[q]:
                        out[q - first] += w[low + i]
    return out
