"""Compiled histograms of a node's rows by byte code: M sums, or one in fixed point.

Where one sum is all a criterion needs (real targets, two classes, boosting), targets
and weights are rounded once per tree to multiples of a power of two, small enough for
every sum to be exact in float64. A bin holds two words: the sum, and the weight with
the count of rows in its low bits. So sums depend neither on the order of rows nor on
threads, a child's histogram is exactly its parent's less its sibling's, and the sums
of a child are known from the search that split its parent.

Columns lie in tiles of 8 neighbours, row by row, and a tile's histograms fit the cache
next to the processor; a tile is the piece of work that threads share.
"""

import numpy as np

from ...core.loops._intrinsics import add_pair, prefetch
from ...core.loops.compiled import compiled
from ._criteria import add_row
from ._structures import COUNT_BITS, LANES

AHEAD = 24  # rows looked ahead


@compiled(inner=True)
def fill_histogram(plan, H, codes, column, rows, start, stop, y, w):
    """Histogram of the rows of a node: count, weight and sums by byte code."""
    t, j = column // codes.shape[2], column % codes.shape[2]
    for b in range(H.shape[0]):
        for k in range(H.shape[1]):
            H[b, k] = 0.0
    if plan.binary_gini and not w.size:
        for i in range(start, stop):
            b = codes[t, rows[i], j]
            H[b, 0] += 1.0
            H[b, 2] += y[rows[i], 0]
    else:
        for i in range(start, stop):
            h = H[codes[t, rows[i], j]]
            h[0] += 1.0
            h[1] += add_row(plan, y, w, rows[i], h, np.intp(2))


@compiled(inner=True, forceinline=True)
def fill_gathered_histogram(plan, H, codes, f, rows, start, n, line, classes):
    """Fill a histogram from gathered targets, `line` ending in the weights."""
    m = line.shape[0] - 1
    by_class = plan.is_class and not plan.binary_gini
    for b in range(H.shape[0]):
        for k in range(H.shape[1]):
            H[b, k] = 0.0
    for i in range(n):
        h, v = H[np.intp(codes[f, rows[start + i]])], line[m, i]
        h[0] += 1.0
        h[1] += v
        for o in range(m):
            if by_class:
                h[2 + classes[o, i]] += v
            else:
                h[2 + o] += line[o, i]


@compiled(refcount=False)
def to_fixed_point(rows, y, w, weighted, binary, a, b, z, h):
    """Targets times a and weights times b as whole numbers, and the sums of both.

    `weighted`: the targets are weighted already. A weighted row also counts 1. Targets
    are rounded before they are weighted, so that weight k is k rows. Of two classes the
    second has the weight itself, so that a pure node is seen to be one.
    """
    sum_z, sum_h = 0, 0
    for i in range(rows.size):
        r = np.uint64(rows[i])
        v = np.rint(y[r, 0] * a)
        count = 1
        if w.size:
            whole = max(np.int64(np.rint(w[r] * b)), 1 if w[r] > 0.0 else 0)
            count = (whole << COUNT_BITS) | 1
            h[r] = count
            if binary:
                v = y[r, 0] * whole
            elif not weighted:
                v = np.rint(v * w[r])
        z[r] = np.int64(v)
        sum_z += z[r]
        sum_h += count
    return sum_z, sum_h


@compiled(inner=True)
def gather_targets(rows, start, stop, z, h, line):
    """Bring the numbers of a node's rows next to each other."""
    a, b = np.uint64(start), np.uint64(stop)
    to_z, to_h = line[0], line[1]
    for i in range(a, b):
        to_z[i] = z[np.uint64(rows[i])]
    if h.size:
        for i in range(a, b):
            to_h[i] = h[np.uint64(rows[i])]


@compiled(inner=True, forceinline=True)
def count_lanes(G, words, rows, z, h, a, b, ahead, first, lanes):
    """Rows a .. b of a tile of 8 columns: `lanes` of them, from the `first` one on.

    The 8 bytes of a row are read as one word. Where `lanes` is a number in the program
    text the steps are laid out one after the other. Unsigned places save the test
    whether they count from the end.
    """
    for i in range(a, b):
        prefetch(words, np.intp(rows[i + ahead]))
        word = words[np.uint64(rows[i])] >> np.uint64(8 * first)
        for j in range(lanes):
            at = np.intp(word & np.uint64(255)) + 256 * (first + j)
            add_pair(G, 2 * at, z[i], h[i])
            word >>= np.uint64(8)


@compiled(inner=True)
def count_tile(H, codes, lanes, rows, start, stop, root, all_z, all_h, line):
    """Histograms of the columns of a tile over the rows of a node.

    `line` holds the numbers of rows[start], rows[start + 1] ... side by side. At the
    root, if all rows are in use, they are so from the start.
    """
    G = H.reshape(-1)
    a = np.uint64(start)
    b = np.uint64(stop)
    z, h = line[0], line[1]
    if root and all_z.size == z.size:
        z, h = all_z, all_h if all_h.size else h
    for k in range(G.size):
        G[k] = 0
    if codes.shape[1] != LANES:
        for i in range(a, b):
            r = np.uint64(rows[i])
            for j in range(lanes):
                at = np.intp(codes[r, np.uint64(j)]) + 256 * j
                add_pair(G, 2 * at, z[i], h[i])
        return
    words = codes.reshape(-1).view(np.uint64)
    ahead = np.uint64(AHEAD)
    middle = b - min(ahead, b - a)
    for half in range(2):  # the last rows have none to look ahead to
        if half == 1:
            a, middle, ahead = middle, b, np.uint64(0)
        if lanes == LANES:
            count_lanes(G, words, rows, z, h, a, middle, ahead, 0, LANES)
            continue
        if lanes & 4:
            count_lanes(G, words, rows, z, h, a, middle, ahead, 0, 4)
        if lanes & 3:
            count_lanes(G, words, rows, z, h, a, middle, ahead, lanes & 4, lanes & 3)


@compiled(inner=True)
def sum_histograms(H, parts, k):
    """H = the sum of the first k parts."""
    H = H.reshape(-1)
    for i in range(k):
        G = parts[i].reshape(-1)
        for c in range(H.size):
            H[c] = G[c] if i == 0 else H[c] + G[c]


@compiled(inner=True)
def subtract_histogram(H, G):
    """H -= G."""
    H, G = H.reshape(-1), G.reshape(-1)
    for k in range(H.size):
        H[k] -= G[k]


@compiled(refcount=False)
def sum_leaves(newton, rows, y, w, nodes, sums, a, b):
    """Sums of the leaves among nodes a .. b from the targets, which are not rounded."""
    for v in range(a, b):
        node = nodes[v]
        if node.left >= 0:
            continue
        u, W = 0.0, 0.0
        for i in range(np.uint64(node.start), np.uint64(node.stop)):
            r = np.uint64(rows[i])
            wr = w[r] if w.size else 1.0
            u += y[r, 0] if newton else wr * y[r, 0]
            W += wr
        sums[v, 0] = u
        node.weight = W


@compiled(refcount=False)
def sum_upwards(nodes, sums):
    """Sums of the other nodes from those of their children."""
    for v in range(nodes.size - 1, -1, -1):
        left, right = nodes[v].left, nodes[v].right
        if left >= 0:
            sums[v, 0] = sums[left, 0] + sums[right, 0]
            nodes[v].weight = nodes[left].weight + nodes[right].weight
