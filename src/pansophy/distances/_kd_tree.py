"""Compiled loops of `kd_tree.py`: building the tree, and distances in it.

The tree is complete and balanced: node j of level l holds the places

    (n j) >> l   up to   (n (j + 1)) >> l                                       (1)

of the rows in tree order, so a node needs no pointers, only its box (lo, hi), at
(1 << l) - 1 + j. Rows are kept by columns, XT (d, n + WIDE), so that the distances
from one query to all rows of a leaf are a few vector instructions per column; the last
columns are filling, which lets every vector be whole. Distances are reduced: without
the last root, which changes no order.

`kind` is 2 for sums of squares, 1 for sums of absolute values, 0 for their maximum
and 3 for sums of p-th powers.
"""

import numpy as np

from ..core.loops.compiled import FASTMATH_ORDERED, compiled

WIDE = 8  # rows taken at once; XT has so many columns more than rows


@compiled
def split_nodes(X, order, level, j, levels):
    """Put node j of a level, and all below it, around their medians, in place."""
    n, d = X.shape
    for depth in range(level, levels):
        for node in range(j << (depth - level), (j + 1) << (depth - level)):
            start, stop = (n * node) >> depth, (n * (node + 1)) >> depth
            middle = (n * (2 * node + 1)) >> (depth + 1)
            axis, widest = 0, -1.0
            for c in range(d):
                low = high = X[start, c]
                for i in range(start + 1, stop):
                    low, high = min(low, X[i, c]), max(high, X[i, c])
                if high - low > widest:
                    axis = c
                    widest = high - low
            if widest > 0:
                _quickselect_rows(X, order, start, stop - 1, middle, axis)


@compiled
def _quickselect_rows(X, order, low, high, k, axis):
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


@compiled
def node_boxes(XT, n, levels):
    """(lo, hi) of every node, leaves first."""
    d = len(XT)
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


@compiled(inline="always")
def _accumulate_distance(total, gap, kind, p):
    """A distance with one more column taken in."""
    if kind == 2:
        return total + gap * gap
    if kind == 1:
        return total + gap
    if kind == 0:
        return max(total, gap)
    return total + gap**p


@compiled
def min_distance_to_box(QT, i, lo, hi, kind, p):
    """The least distance from query i to a box."""
    total, zero = lo[0] * 0, lo[0] * 0
    for c in range(len(lo)):
        gap = max(max(lo[c] - QT[c, i], QT[c, i] - hi[c]), zero)
        total = _accumulate_distance(total, gap, kind, p)
    return total


@compiled
def max_distance_to_box(QT, i, lo, hi, kind, p):
    """The largest distance from query i to a box."""
    total = lo[0] * 0
    for c in range(len(lo)):
        gap = max(hi[c] - QT[c, i], QT[c, i] - lo[c])
        total = _accumulate_distance(total, gap, kind, p)
    return total


@compiled(fastmath=FASTMATH_ORDERED)
def distances_to_rows(XT, low, m, QT, q, kind, p, out):
    """out = reduced distances from query q to the m rows from place low.

    Whole vectors of WIDE rows are taken, so out has up to WIDE - 1 entries more.
    """
    d = len(XT)
    first = 0
    if kind == 2 and d > 2:  # three columns at once spare loads and stores
        first = 3
        a, b, c = QT[0, q], QT[1, q], QT[2, q]
        for s in range(0, m, WIDE):
            for t in range(s, s + WIDE):
                x, y, z = XT[0, low + t] - a, XT[1, low + t] - b, XT[2, low + t] - c
                out[t] = x * x + y * y + z * z
    else:
        for s in range(0, m, WIDE):
            for t in range(s, s + WIDE):
                out[t] = 0
    for c in range(first, d):
        value = QT[c, q]
        for s in range(0, m, WIDE):
            for t in range(s, s + WIDE):
                out[t] = _accumulate_distance(
                    out[t], abs(XT[c, low + t] - value), kind, p
                )


@compiled(fastmath=FASTMATH_ORDERED)
def min_distances_from_box(QT, start, m, lo, hi, node, kind, p, out):
    """out = the least distances from m queries to the box of a node."""
    zero = QT[0, 0] * 0
    for c in range(len(QT)):
        low, high = lo[node, c], hi[node, c]
        for s in range(0, m, WIDE):
            for t in range(s, s + WIDE):
                value = QT[c, start + t]
                gap = max(max(low - value, value - high), zero)
                out[t] = _accumulate_distance(out[t] if c > 0 else zero, gap, kind, p)


@compiled
def box_distance(alo, ahi, a, blo, bhi, b, kind, p):
    """The least distance of two boxes, and the squared one of their middles."""
    zero = alo[0, 0] * 0
    total, apart = zero, zero
    for c in range(alo.shape[1]):
        gap = max(max(blo[b, c] - ahi[a, c], alo[a, c] - bhi[b, c]), zero)
        total = _accumulate_distance(total, gap, kind, p)
        move = blo[b, c] + bhi[b, c] - alo[a, c] - ahi[a, c]
        apart += move * move
    return total, apart


@compiled
def max_box_distance(alo, ahi, a, blo, bhi, b, kind, p):
    """The largest distance of two boxes."""
    total = alo[0, 0] * 0
    for c in range(alo.shape[1]):
        gap = max(bhi[b, c] - alo[a, c], ahi[a, c] - blo[b, c])
        total = _accumulate_distance(total, gap, kind, p)
    return total
