"""Compiled search of small nodes, and of nodes that look at few of the features.

A tree that is grown fully has most of its nodes near the leaves, where clearing and
scanning 256 bins for a handful of rows would be nearly all the work. Here the bins that
rows fall into are marked in four words of 64 bits; only these are visited, in order,
and only these are cleared again. Sums are the whole numbers of `_hist.py`, so a split
is the same one as there. A random threshold needs no bins at all: two looks at the
codes of the node tell where it falls.
"""

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from ..core._memory import add_pair
from ._hist import COUNT, gather, try_codes, try_counts
from ._layout import (
    B_CODE,
    B_FOUND,
    B_GAIN,
    B_MISSING_LEFT,
    B_N_LEFT,
    B_SUM,
    B_THRESHOLD,
    B_WEIGHT,
    BASE,
    COUNT_BITS,
    FEATURE,
    FIRST,
    FORM,
    HIST,
    IMPURITY,
    KEY,
    NEWTON,
    NO_BYTE,
    OPEN,
    PARENT,
    SIGN,
    START,
    STOP,
    SUMS,
    TOL,
    UNASKED,
    WEIGHT,
)
from ._scan import between
from ._score import SLIVER, TINY, ordered

MANY = 160  # rows from which all bins are looked at


class Units(NamedTuple):
    """What the whole numbers stand for."""

    weighted: bool
    unit_z: float
    unit_h: float


@intrinsic
def lowest(typing, word):
    """The place of the lowest bit that is one (64 if none is)."""

    def emit(context, builder, signature, args):
        whole, flag = ir.IntType(64), ir.IntType(1)
        kind = ir.FunctionType(whole, [whole, flag])
        count = cgutils.get_or_insert_function(builder.module, kind, "llvm.cttz.i64")
        return builder.call(count, [args[0], flag(0)])

    return types.int64(types.uint64), emit


@njit(cache=True, nogil=True, error_model="numpy")
def count_few(cells, seen, codes, t, j, rows, start, stop, line):
    """Sums by byte, and which bytes there are."""
    for i in range(start, stop):
        b = np.intp(codes[t, rows[i], j])
        add_pair(cells, 2 * b, line[0, i], line[1, i])
        seen[b >> 6] |= np.uint64(1) << np.uint64(b & 63)


@njit(cache=True, nogil=True, error_model="numpy")
def clear_few(cells, seen):
    """Cells that were used, and their marks, to zero."""
    for k in range(4):
        word = seen[k]
        while word:
            c = 64 * k + lowest(word)
            cells[c, 0] = cells[c, 1] = 0
            word &= word - np.uint64(1)
        seen[k] = 0


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def gain_of(P, U, sign, u, h, n, R):
    """Gain of a place with whole sums u, h on the left; -1 if it is forbidden."""
    left = h & COUNT
    if left < P.min_leaf or n - left < P.min_leaf:
        return -1.0
    W, s, ul = R[WEIGHT], R[SUMS], u * U.unit_z
    wl = (h >> COUNT_BITS) * U.unit_h if U.weighted else np.float64(left)
    wr = W - wl
    if wl < P.min_weight or wr < P.min_weight:
        return -1.0
    if sign and not ordered(sign, R, ul / (wl + P.l2), (s - ul) / (wr + P.l2)):
        return -1.0
    if P.kind == NEWTON:
        hl, hr, v = max(wl + P.l2, TINY), max(wr + P.l2, TINY), s - ul
        return (ul * ul * hr + v * v * hl) / (hl * hr) - R[BASE]
    v, floor = ul - s / W * wl, SLIVER * W
    return W * P.scale * (v * v) / (max(wl, floor) * max(wr, floor))


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def record(U, edges, f, u, h, n, gain, at, after, side, m, best, c):
    """Write a split between two bins into `best`; after < 0: missing values alone."""
    left = h & COUNT
    best[c, f, B_GAIN], best[c, f, B_FOUND], best[c, f, B_CODE] = gain, 1.0, at
    best[c, f, B_N_LEFT] = left
    best[c, f, B_SUM] = u * U.unit_z
    wl = (h >> COUNT_BITS) * U.unit_h if U.weighted else np.float64(left)
    best[c, f, B_WEIGHT] = wl
    best[c, f, B_MISSING_LEFT] = side if m else UNASKED
    best[c, f, B_THRESHOLD] = np.inf
    if after >= 0:
        v = edges[f, 1, at] / 2.0 + edges[f, 0, after] / 2.0
        best[c, f, B_THRESHOLD] = v


@njit(cache=True, nogil=True, error_model="numpy")
def walk_few(P, U, sign, edges, f, cells, seen, n, R, best, c):
    """The best place between two bins that hold rows, missing values on either side."""
    m, tol = cells[NO_BYTE, 1] & COUNT, R[TOL]
    if m:
        seen[3] &= ~(np.uint64(1) << np.uint64(63))
    for side in range(2 if m else 1):
        u, h = (cells[NO_BYTE, 0], cells[NO_BYTE, 1]) if side else (0, 0)
        bar, top, top_u, top_h = best[c, f, B_GAIN] + tol, 0.0, 0, 0
        at = after = last = -1
        for k in range(4):
            word = seen[k]
            while word:
                b = 64 * k + lowest(word)
                word &= word - np.uint64(1)
                if last >= 0:
                    gain = gain_of(P, U, sign, u, h, n, R)
                    if gain > bar:
                        at, after, top_u, top_h, top = last, b, u, h, gain
                        bar = gain + tol
                u += cells[b, 0]
                h += cells[b, 1]
                last = b
        if m and not side and last >= 0:
            gain = gain_of(P, U, sign, u, h, n, R)
            if gain > bar:
                at, after, top_u, top_h, top = last, -1, u, h, gain
        if at >= 0:
            record(U, edges, f, top_u, top_h, n, top, at, after, side, m, best, c)
    if m:
        seen[3] |= np.uint64(1) << np.uint64(63)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_few(P, U, sign, edges, f, codes, rows, start, stop, line, R, key, best, c,
             near):  # fmt: skip
    """A threshold drawn evenly between the extremes of the node, and its gain."""
    n, low, high, m = stop - start, 256, -1, 0
    t, j = f // codes.shape[2], f % codes.shape[2]
    for i in range(n):
        b = np.intp(codes[t, rows[start + i], j])
        near[i] = b
        if b == NO_BYTE:
            m += 1
        else:
            low, high = min(low, b), max(high, b)
    if high < 0 or (low == high and m == 0):
        return
    v, key = between(key, np.float64(edges[f, 0, low]), np.float64(edges[f, 1, high]))
    side = int(key & np.uint64(1)) if m else 0
    if low == high:
        if side:
            return  # everything would go left
        at, after = high, -1
    else:
        most, above = low, high  # the last bin below `high` that begins at most at v
        while above - most > 1:
            mid = (most + above) // 2
            if edges[f, 0, mid] <= v:
                most = mid
            else:
                above = mid
        at, after = low, high
        for i in range(n):
            b = np.intp(near[i])
            if b == NO_BYTE:
                continue
            if b <= most:
                at = max(at, b)
            else:
                after = min(after, b)
    u, h = 0, 0
    for i in range(n):
        b = np.intp(near[i])
        if b <= at or (b == NO_BYTE and side):
            u += line[0, start + i]
            h += line[1, start + i]
    gain = gain_of(P, U, sign, u, h, n, R)
    if gain > best[c, f, B_GAIN] + R[TOL]:
        record(U, edges, f, u, h, n, gain, at, after, side, m, best, c)
        if edges[f, 1, at] <= v and (after < 0 or v < edges[f, 0, after]):
            best[c, f, B_THRESHOLD] = v


@njit(cache=True, nogil=True, error_model="numpy")
def search_few(P, F, T, N, R, C, draw, best, sets, room, cells):
    """Features of the pending nodes that were drawn (or all), one after the other.

    `cells` and the last line of `room` are zero before and after.
    """
    # no views of arrays in the inner loop: each would count references
    codes, edges, meta, line, rows = T.codes, T.edges, T.meta, F.line, T.lists[0]
    U, width, seen = Units(F.weighted, F.unit_z, F.unit_h), codes.shape[2], room[6]
    seen, short = seen.view(np.uint64), room[5].view(np.uint8)
    for c in range(2):
        node = C[FIRST + c]
        if node < 0 or not N[node, OPEN] or N[node, FEATURE] >= 0:
            continue
        start, stop, r = N[node, START], N[node, STOP], R[node]
        n, full = stop - start, False
        gather(rows, start, stop, F.z, F.h, line)
        near = short if n <= short.size or not P.random else np.empty(n, np.uint8)
        top = 0.0 if P.kind == NEWTON else -2.0 * r[TOL]
        for f in range(P.d):
            if not draw[c, 1, f]:
                continue
            best[c, f, B_GAIN], best[c, f, B_FOUND] = top, 0.0
            if full:
                continue
            sign, form = meta[f, SIGN], meta[f, FORM]
            if P.random and not form:
                draw_few(P, U, sign, edges, f, codes, rows, start, stop, line, r,
                         N[node, KEY] ^ f, best, c, near)  # fmt: skip
            else:
                count_few(cells, seen, codes, f // width, f % width, rows, start, stop,
                          line)  # fmt: skip
                if form == 0 and n < MANY:
                    walk_few(P, U, sign, edges, f, cells, seen, n, r, best, c)
                elif form == 0:
                    try_counts(P, F, meta[f], edges[f], cells, n, r, best[c, f], top,
                               room)  # fmt: skip
                elif sets is not None:
                    try_codes(P, F, meta[f], cells, n, r, N[node, KEY] ^ f, best[c, f],
                              top, sets[c, f], room)  # fmt: skip
                clear_few(cells, seen)
            if best[c, f, B_FOUND] > 0.0 and P.kind != NEWTON:
                full = best[c, f, B_GAIN] + r[TOL] >= r[WEIGHT] * r[IMPURITY]


@njit(cache=True, nogil=True, error_model="numpy")
def is_few(P, N, C):
    """Whether the pending nodes are better searched here than tile by tile."""
    if P.max_features < P.d or P.random:
        return True
    p, most = C[PARENT], 0
    for c in range(2):
        node = C[FIRST + c]
        if node >= 0:
            if N[node, HIST] >= 0:
                return False
            if N[node, OPEN]:
                most = max(most, N[node, STOP] - N[node, START])
    return most < MANY and (p < 0 or N[p, HIST] < 0)
