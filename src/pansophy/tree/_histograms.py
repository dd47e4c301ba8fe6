"""Compiled histograms of one sum in whole numbers, and the search over them.

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
from numba import njit

from ..core._memory import add_pair, touch
from ._category_split import try_set
from ._criteria import SLIVER, TINY, ordered
from ._structures import (
    B_CODE,
    B_FOUND,
    B_GAIN,
    B_MISSING_LEFT,
    B_N_LEFT,
    B_SUM,
    B_THRESHOLD,
    B_WEIGHT,
    BASE,
    BINS,
    COUNT_BITS,
    FIRST,
    FORM,
    HIST,
    INNER,
    KEY,
    LANES,
    LEFT,
    LOOP,
    NEWTON,
    NO_BYTE,
    OPEN,
    PARENT,
    RIGHT,
    SECOND,
    SIGN,
    START,
    STOP,
    SUMS,
    TOL,
    UNASKED,
    WEIGHT,
)

AHEAD = 24  # rows looked ahead
COUNT = (1 << COUNT_BITS) - 1
LIFT, LIFT_BITS = 1.5 * 2.0**52, 0x4338000000000000  # a float64 and its bits


@njit(**LOOP)
def to_whole(rows, y, w, newton, one, a, b, z, h):
    """Targets times a and weights times b as whole numbers, and the sums of both.

    A weighted row also counts 1. Targets are rounded before they are weighted, so that
    weight k is k rows. Of two classes the second has the weight itself, so that a pure
    node is seen to be one.
    """
    sum_z, sum_h = 0, 0
    for i in range(rows.size):
        r = np.uint64(rows[i])
        v, count = np.rint(y[r, 0] * a), 1
        if w.size:
            whole = max(np.int64(np.rint(w[r] * b)), 1 if w[r] > 0.0 else 0)
            count = (whole << COUNT_BITS) | 1
            h[r] = count
            if one:
                v = y[r, 0] * whole
            elif not newton:
                v = np.rint(v * w[r])
        z[r] = np.int64(v)
        sum_z += z[r]
        sum_h += count
    return sum_z, sum_h


@njit(**LOOP)
def sum_leaves(newton, rows, y, w, N, R, a, b):
    """Sums of the leaves among nodes a .. b from the targets, which are not rounded."""
    for node in range(a, b):
        if N[node, LEFT] >= 0:
            continue
        u, W = 0.0, 0.0
        for i in range(np.uint64(N[node, START]), np.uint64(N[node, STOP])):
            r = np.uint64(rows[i])
            v = w[r] if w.size else 1.0
            u += y[r, 0] if newton else v * y[r, 0]
            W += v
        R[node, SUMS], R[node, WEIGHT] = u, W


@njit(**LOOP)
def sum_upwards(N, R):
    """Sums of the other nodes from those of their children."""
    for node in range(N.shape[0] - 1, -1, -1):
        left, right = N[node, LEFT], N[node, RIGHT]
        if left >= 0:
            R[node, SUMS] = R[left, SUMS] + R[right, SUMS]
            R[node, WEIGHT] = R[left, WEIGHT] + R[right, WEIGHT]


@njit(**INNER)
def gather(rows, start, stop, z, h, line):
    """Bring the numbers of a node's rows next to each other."""
    a, b = np.uint64(start), np.uint64(stop)
    to_z, to_h = line[0], line[1]
    for i in range(a, b):
        to_z[i] = z[np.uint64(rows[i])]
    if h.size:
        for i in range(a, b):
            to_h[i] = h[np.uint64(rows[i])]


@njit(**INNER, forceinline=True)
def count_lanes(G, words, rows, z, h, a, b, ahead, first, lanes):
    """Rows a .. b of a tile of 8 columns: `lanes` of them, from the `first` one on.

    The 8 bytes of a row are read as one word. Where `lanes` is a number in the program
    text the steps are laid out one after the other. Unsigned places save the test
    whether they count from the end.
    """
    for i in range(a, b):
        touch(words, np.intp(rows[i + ahead]))
        word = words[np.uint64(rows[i])] >> np.uint64(8 * first)
        for j in range(lanes):
            at = np.intp(word & np.uint64(255)) + 256 * (first + j)
            add_pair(G, 2 * at, z[i], h[i])
            word >>= np.uint64(8)


@njit(**INNER)
def count_tile(H, codes, lanes, rows, start, stop, root, all_z, all_h, line):
    """Histograms of the columns of a tile over the rows of a node.

    `line` holds the numbers of rows[start], rows[start + 1] ... side by side. At the
    root, if all rows are in use, they are so from the start.
    """
    G, a, b = H.reshape(-1), np.uint64(start), np.uint64(stop)
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
    words, ahead = codes.reshape(-1).view(np.uint64), np.uint64(AHEAD)
    middle = b - min(ahead, b - a)
    for turn in range(2):  # the last rows have none to look ahead to
        if turn == 1:
            a, middle, ahead = middle, b, np.uint64(0)
        if lanes == LANES:
            count_lanes(G, words, rows, z, h, a, middle, ahead, 0, LANES)
            continue
        if lanes & 4:
            count_lanes(G, words, rows, z, h, a, middle, ahead, 0, 4)
        if lanes & 3:
            count_lanes(G, words, rows, z, h, a, middle, ahead, lanes & 4, lanes & 3)


@njit(**INNER)
def add_up(H, parts, k):
    """H = the sum of the first k parts."""
    H = H.reshape(-1)
    for i in range(k):
        G = parts[i].reshape(-1)
        for c in range(H.size):
            H[c] = G[c] if i == 0 else H[c] + G[c]


@njit(**INNER)
def less(H, G):
    """H -= G."""
    H, G = H.reshape(-1), G.reshape(-1)
    for k in range(H.size):
        H[k] -= G[k]


@njit(**INNER)
def run_up(H, nb, u, h, shift, T):
    """Sums, counts and weights left of the places after nb bins, into T[1:].

    u and h are what is on the left already. A whole number v below 2^51 becomes the
    float64 v + LIFT by an addition to its bits, which is quick on any processor.
    """
    line = T.view(np.int64)
    for c in range(nb):
        u += H[c, 0]
        h += H[c, 1]
        line[1, c] = u + LIFT_BITS
        line[2, c] = (h & COUNT) + LIFT_BITS
        line[3, c] = (h >> shift) + LIFT_BITS


@njit(**INNER)
def greatest(S, n):
    """The greatest of the first n numbers, four at a time; -1 if all are less."""
    a = b = c = d = -1.0
    for i in range(n, 4 * ((n + 3) // 4)):
        S[i] = -1.0
    for i in range(0, n, 4):
        a = S[i] if S[i] > a else a
        b = S[i + 1] if S[i + 1] > b else b
        c = S[i + 2] if S[i + 2] > c else c
        d = S[i + 3] if S[i + 3] > d else d
    return max(max(a, b), max(c, d))


@njit(**INNER, fastmath={"contract", "arcp", "nsz", "nnan"})
def scores(P, F, nb, n, R, T):
    """Scores of the places that `run_up` prepared, into T[0]; the greatest one.

    A place that leaves too little on a side scores -1.
    """
    S, A, B, D, W, s = T[0], T[1], T[2], T[3], R[WEIGHT], R[SUMS]
    unit = F.unit_h if F.weighted else 1.0
    least, rest, mass = np.float64(P.min_leaf), np.float64(n - P.min_leaf), P.min_weight
    if P.kind == NEWTON:
        l2, base = P.l2, R[BASE]
        for c in range(nb):
            u, k, wl = (A[c] - LIFT) * F.unit_z, B[c] - LIFT, (D[c] - LIFT) * unit
            wr = W - wl
            ok = (k >= least) & (k <= rest) & (wl >= mass) & (wr >= mass)
            hl, hr, v = max(wl + l2, TINY), max(wr + l2, TINY), s - u
            v = (u * u * hr + v * v * hl) / (hl * hr) - base
            S[c] = v if ok else -1.0
    else:
        mean, floor, scale = s / W, SLIVER * W, W * P.scale
        for c in range(nb):
            u, k, wl = (A[c] - LIFT) * F.unit_z, B[c] - LIFT, (D[c] - LIFT) * unit
            wr = W - wl
            ok = (k >= least) & (k <= rest) & (wl >= mass) & (wr >= mass)
            v = u - mean * wl
            v = scale * (v * v) / (max(wl, floor) * max(wr, floor))
            S[c] = v if ok else -1.0
    return greatest(S, nb)


@njit(**INNER)
def try_counts(P, F, meta, edges, H, n, R, best, top, T):
    """The best split by threshold of one column of whole-number bins, into `best`."""
    nb, sign, tol = meta[BINS], meta[SIGN], R[TOL]
    m = np.int64(H[NO_BYTE, 1] & COUNT)
    shift, unit = (COUNT_BITS, F.unit_h) if F.weighted else (0, 1.0)
    best[B_GAIN], best[B_FOUND] = top, 0.0
    for side in range(2 if m else 1):
        u = H[NO_BYTE, 0] if side else 0
        h = H[NO_BYTE, 1] if side else 0
        bar, at = best[B_GAIN] + tol, -1
        run_up(H, nb, u, h, shift, T)
        most = scores(P, F, nb, n, R, T)
        if not most > bar:
            continue
        if not sign:  # the first of those that equal the best
            at, bar = 0, max(bar, most - tol)
            while not T[0, at] > bar and T[0, at] < most:
                at += 1
        for c in range(nb if sign else 0):
            if T[0, c] > bar:
                ul, wl = (T[1, c] - LIFT) * F.unit_z, (T[3, c] - LIFT) * unit
                right = (R[SUMS] - ul) / (R[WEIGHT] - wl + P.l2)
                if ordered(sign, R, ul / (wl + P.l2), right):
                    at, bar = c, T[0, c] + tol
        if at < 0:
            continue
        left, nxt = np.int64(T[2, at] - LIFT), at + 1
        while nxt < nb and H[nxt, 1] & COUNT == 0:
            nxt += 1
        best[B_GAIN], best[B_FOUND], best[B_CODE] = T[0, at], 1.0, at
        best[B_N_LEFT], best[B_SUM] = left, (T[1, at] - LIFT) * F.unit_z
        best[B_WEIGHT] = (T[3, at] - LIFT) * unit
        best[B_MISSING_LEFT] = side if m else UNASKED
        best[B_THRESHOLD] = np.inf
        if nxt < nb:
            best[B_THRESHOLD] = edges[1, at] / 2.0 + edges[0, nxt] / 2.0


@njit(**INNER)
def try_codes(P, F, meta, H, n, R, key, best, top, left, T):
    """The best split by set of one column of whole-number bins."""
    G = np.empty((256, 3))
    for c in range(256):
        G[c, 0] = H[c, 1] & COUNT
        G[c, 1] = (H[c, 1] >> COUNT_BITS) * F.unit_h if F.weighted else G[c, 0]
        G[c, 2] = H[c, 0] * F.unit_z
    try_set(P, meta[FORM], meta[BINS], G, n, F.weighted, R, key, T[0], best, top, left,
            None)  # fmt: skip
    if best[B_FOUND] > 0.0:
        u, wl = 0.0, 0.0
        for c in range(256):
            inside = (left[c >> 6] >> np.uint64(c & 63)) & np.uint64(1)
            if c == NO_BYTE:
                inside = np.uint64(best[B_MISSING_LEFT])
            if inside:
                u += G[c, 2]
                wl += G[c, 1]
        best[B_SUM], best[B_WEIGHT] = u, wl


@njit(**INNER)
def search_tile(P, F, T, N, R, C, pool, draw, best, sets, t, room, H0):
    """Tile t: histograms of the pending nodes and their best splits.

    The smaller child is counted; the larger one's histograms are its parent's less
    the smaller one's where the parent's were kept. head[3]: the smaller one has been
    counted, in that many parts.
    """
    p, a, b, small, counted = C[PARENT], C[FIRST], C[SECOND], 0, F.head[3]
    if b >= 0 and N[a, STOP] - N[a, START] > N[b, STOP] - N[b, START]:
        small = 1
    f0, width = t * T.codes.shape[2], T.codes.shape[2]
    lanes = min(width, P.d - f0)
    handed = p >= 0 and N[p, HIST] >= 0 and N[a + 1 - small, OPEN]
    tried = False
    for j in range(lanes):
        tried |= draw[0, 1, f0 + j] > 0 or draw[1, 1, f0 + j] > 0
    if not tried:
        return
    G = H0[0]
    for turn in range(2):
        c = small if turn == 0 else 1 - small
        if c == 1 and b < 0:
            continue
        node = a + c
        start, stop = N[node, START], N[node, STOP]
        for j in range(lanes):
            best[c, f0 + j, B_FOUND] = 0.0
        if not N[node, OPEN] and not handed:
            continue
        H = pool[N[node, HIST], t] if N[node, HIST] >= 0 else H0[turn]
        if turn == 1 and handed:
            less(H, G)
        elif counted:
            add_up(H, F.parts[t], counted)
            G = H
        else:
            count_tile(H, T.codes[t], lanes, T.lists[0], start, stop, p < 0, F.z, F.h,
                       F.line)  # fmt: skip
            G = H
        if not N[node, OPEN]:
            continue
        top = 0.0 if P.kind == NEWTON else -2.0 * R[node, TOL]
        for j in range(lanes):
            f = f0 + j
            if not draw[c, 1, f]:
                continue
            if T.meta[f, FORM] == 0:
                try_counts(P, F, T.meta[f], T.edges[f], H[j], stop - start,
                           R[node], best[c, f], top, room)  # fmt: skip
            elif sets is not None:
                try_codes(P, F, T.meta[f], H[j], stop - start, R[node],
                          N[node, KEY] ^ f, best[c, f], top, sets[c, f],
                          room)  # fmt: skip
