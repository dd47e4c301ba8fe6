"""Compiled search of one node along one feature, where several sums are needed.

Three and more classes, several outputs, criteria that are not made of squares. What is
needed of the node's rows is brought side by side once (`line_up`). A random threshold
then needs the extremes of the column and one look at every row; for the best one the
rows are put in the order of their bytes, which in a node of few rows costs less than a
histogram. By eq. (2) of `criteria.py` the gain of classes is

    |u|^2 / W_l + |s - u|^2 / W_r - |s|^2 / W,    |s - u|^2 = |s|^2 - 2 s.u + |u|^2,

and |u|^2 and s.u follow a row that joins the left side in a few operations, however
many classes there are.
"""

import numpy as np
from numba import njit

from ..core._memory import lowest
from ._criteria import FAST, SAME, SLIVER, base, class_impurity, real_impurity, score
from ._scan import between, fits, try_bins
from ._split_search import (
    C_CODE,
    C_FEATURE,
    C_MISSING,
    FEW,
    FEW_BITS,
    bin_at_most,
    cut_drawn,
    extremes,
    span,
    threshold,
)
from ._structures import (
    B_CODE,
    B_FOUND,
    B_GAIN,
    B_MISSING_LEFT,
    B_THRESHOLD,
    BASE,
    BINS,
    IMPURITY,
    INNER,
    MISSING,
    NO_BYTE,
    SQUARE,
    SUMS,
    TOL,
    UNASKED,
    WEIGHT,
)

MANY = 160  # rows from which a histogram is cheaper than an order
SOME = 8  # classes up to which each is counted by itself


@njit(**INNER, forceinline=True)
def line_up(P, y, w, rows, start, n, line, code):
    """Targets of a node's rows side by side, weighted, or classes; then the weights."""
    m, by_class = y.shape[1], P.is_class and not P.one
    for i in range(n):
        r = rows[start + i]
        v = w[r] if w.size else 1.0
        line[m, i] = v
        for o in range(m):
            if by_class:
                code[o, i] = np.int64(y[r, o])
            else:
                line[o, i] = v * y[r, o]


@njit(**INNER, forceinline=True)
def open_lined(P, y, w, rows, start, n, line, code, R, rare):
    """Sums and impurity of a node whose rows are lined up, into R."""
    m, W = line.shape[0] - 1, 0.0
    for k in range(SUMS, R.size):
        R[k] = 0.0
    for i in range(n):
        W += line[m, i]
        for o in range(m):
            if P.is_class and not P.one:
                R[SUMS + code[o, i]] += line[m, i]
            else:
                R[SUMS + o] += line[o, i]
    R[WEIGHT] = W
    if P.is_class:
        R[IMPURITY] = class_impurity(P.kind, P.one, P.m, R, rare)
    else:
        R[IMPURITY] = real_impurity(P.kind, y, w, rows, start, start + n, R, rare)
    R[BASE], R[TOL] = base(P, R, rare), SAME * (W * R[IMPURITY])


@njit(**INNER, forceinline=True)
def join(P, m, line, code, i, u):
    """Add row i to the sums u; returns its weight."""
    v = line[m, i]
    for o in range(m):
        if P.is_class and not P.one:
            u[code[o, i]] += v
        else:
            u[o] += line[o, i]
    return v


@njit(**INNER, forceinline=True)
def fill_lined(P, H, codes, f, rows, start, n, m, line, code):
    """Histogram of the rows of a node, as `_scan.fill` makes it, from the lined up."""
    by_class = P.is_class and not P.one
    for b in range(H.shape[0]):
        for k in range(H.shape[1]):
            H[b, k] = 0.0
    for i in range(n):
        h, v = H[np.intp(codes[f, rows[start + i]])], line[m, i]
        h[0] += 1.0
        h[1] += v
        for o in range(m):
            if by_class:
                h[2 + code[o, i]] += v
            else:
                h[2 + o] += line[o, i]


@njit(**INNER, forceinline=True, fastmath=FAST)
def sum_left(P, m, line, code, goes, n, u, M):
    """Sums u of the rows that go left; returns how many they are and their weight.

    Of few classes one after the other: a row then waits for no other of its class.
    """
    left, wl, by_class = 0, 0.0, P.is_class and not P.one
    for i in range(n):
        left += np.int64(goes[i])
        wl += line[m, i] if goes[i] else 0.0
    if by_class and m == 1 and M <= SOME:
        for c in range(M):
            acc = 0.0
            for i in range(n):
                acc += line[1, i] if goes[i] & (code[0, i] == c) else 0.0
            u[c] = acc
        return left, wl
    for k in range(M):
        u[k] = 0.0
    for o in range(m):
        if by_class:
            for i in range(n):
                u[code[o, i]] += line[m, i] if goes[i] else 0.0
        else:
            acc = 0.0
            for i in range(n):
                acc += line[o, i] if goes[i] else 0.0
            u[o] = acc
    return left, wl


@njit(**INNER, forceinline=True)
def try_drawn(P, missing, edges, x, codes, f, rows, start, n, line, code, R, key, near,
              goes, u, best, top, rare):  # fmt: skip
    """A threshold drawn evenly between the extremes, rows in any order, into `best`."""
    m, least, a, b, most = line.shape[0] - 1, max(P.min_leaf, 1), 0, 0, 0
    low, high, gone, v, side = 0.0, 0.0, 0, 0.0, False
    if x is not None:
        p, q, gone = span(x, f, missing, rows, start, n, near)
        if gone == n or (gone == 0 and p == q):
            return
        low, high = np.float64(p), np.float64(q)
    if codes is not None:
        a, b, gone = extremes(codes, f, rows, start, n, near)
        if b < 0 or (gone == 0 and a == b):
            return
        low, high = np.float64(edges[f, 0, a]), np.float64(edges[f, 1, b])
    v, key = between(key, low, high)
    side = gone > 0 and (key & np.uint64(1)) == np.uint64(1)
    if x is not None:
        for i in range(n):
            goes[i] = near[i] <= v
        if side:
            for i in range(n):
                goes[i] |= near[i] != near[i]
    if codes is not None:
        most = bin_at_most(edges, f, a, b, v)
        limit, lost = np.uint8(most), np.uint8(NO_BYTE if side else most)
        for i in range(n):
            goes[i] = (near[i] <= limit) | (near[i] == lost)
    left, wl = sum_left(P, m, line, code, goes, n, u, R.size - SUMS)
    if left < least or n - left < least:
        return
    if P.bounded and not fits(P, np.intp(0), R, u, wl):
        return
    gain = P.scale * score(P, u, wl, R, rare)
    if gain > top + R[TOL]:
        best[B_GAIN], best[B_FOUND], best[B_THRESHOLD] = gain, 1.0, v
        best[B_MISSING_LEFT] = np.int64(side) if gone else UNASKED
        if codes is not None:
            best[B_CODE], best[B_THRESHOLD] = cut_drawn(
                edges, f, near, n, a, b, most, v
            )


@njit(**INNER, forceinline=True)
def order_few(codes, f, rows, start, n, keys, ranks, place, bins, ends):
    """Rows of a small node by byte into `place`; bins that there are and their ends.

    The place of a row is the number of smaller keys, byte and number of the row. All
    are compared at once. Returns the number of bins.
    """
    for i in range(FEW):
        keys[i] = 0xFFFF
        ranks[i] = 0
    for i in range(n):
        keys[i] = (np.int64(codes[f, rows[start + i]]) << FEW_BITS) | i
    for k in range(n):
        key = keys[k]
        for i in range(FEW):
            ranks[i] += np.uint16(keys[i] > key)
    for i in range(n):
        place[np.int64(ranks[i])] = i
    K, last = -1, -1
    for k in range(n):
        b = np.int64(keys[place[k]]) >> FEW_BITS
        K += b != last
        last = b
        bins[K], ends[K] = b, k + 1
    return K + 1


@njit(**INNER, forceinline=True)
def order_some(codes, f, rows, start, n, flat, counts, seen, place, bins, ends):
    """The same for more rows, by counting."""
    for i in range(n):
        b = np.intp(codes[f, rows[start + i]])
        flat[i] = b
        counts[b] += 1
        seen[b >> 6] |= np.uint64(1) << np.uint64(b & 63)
    K, total = 0, 0
    for k in range(4):
        word = seen[k]
        seen[k] = 0
        while word:
            b = 64 * k + lowest(word)
            word &= word - np.uint64(1)
            bins[K], counts[b], total = b, total, total + counts[b]
            ends[K] = total
            K += 1
    for i in range(n):
        b = np.intp(flat[i])
        place[counts[b]] = i
        counts[b] += 1
    for k in range(K):
        counts[bins[k]] = 0
    return K


@njit(**INNER, forceinline=True)
def walk_classes(m, line, code, place, begin, n, K, ends, R, u, tally):
    """Left weights, |u|^2 and s.u after each of K bins into `tally`.

    The rows from `begin` on, which miss the value, join before all others.
    """
    wl, Q, D, at, stop = 0.0, 0.0, 0.0, begin, n
    for k in range(-1, K):
        for i in range(at, stop):
            v = line[m, place[i]]
            wl += v
            for o in range(m):
                c = code[o, place[i]]
                Q += v * (2.0 * u[c] + v)
                D += v * R[SUMS + c]
                u[c] += v
        if k >= 0:
            tally[0, k], tally[1, k], tally[2, k] = wl, Q, D
        at = 0 if k < 0 else stop
        stop = ends[k + 1]


@njit(**INNER, forceinline=True, fastmath=FAST)
def judge_classes(P, n, n0, K, ends, W, S2, tally):
    """Gains of K places into tally[3], -1 where one is forbidden; the greatest one."""
    least, floor, most = P.min_leaf - n0, SLIVER * W, -1.0
    rest = n - P.min_leaf - n0
    for k in range(K):
        wl, Q = tally[0, k], tally[1, k]
        gain = Q / wl + (S2 - 2.0 * tally[2, k] + Q) / max(W - wl, floor) - S2 / W
        ok = (ends[k] >= least) & (ends[k] <= rest)
        tally[3, k] = P.scale * gain if ok else -1.0
    for k in range(K):
        most = tally[3, k] if tally[3, k] > most else most
    return most


@njit(**INNER, forceinline=True)
def walk_any(P, m, line, code, place, begin, n, K, ends, R, u, tally, rare):
    """The same as both, for any criterion made of sums and any constraint."""
    wl, at, stop, n0, most = 0.0, begin, n, n - begin, -1.0
    for k in range(-1, K):
        for i in range(at, stop):
            wl += join(P, m, line, code, place[i], u)
        at, left = (0, 0) if k < 0 else (stop, stop + n0)
        if k >= 0:
            ok = left >= P.min_leaf and n - left >= P.min_leaf
            ok = ok and (not P.bounded or fits(P, np.intp(0), R, u, wl))
            tally[3, k] = P.scale * score(P, u, wl, R, rare) if ok else -1.0
            most = max(most, tally[3, k])
        stop = ends[k + 1]
    return most


@njit(**INNER, forceinline=True)
def try_ordered(P, edges, codes, f, rows, start, n, line, code, place, flat, own, R, u,
                best, rare):  # fmt: skip
    """The best place between the bins of a node, missing values on either side."""
    keys, ranks, seen, counts, bins, ends, tally = own
    if n <= FEW:
        K = order_few(codes, f, rows, start, n, keys, ranks, place, bins, ends)
    else:
        K = order_some(codes, f, rows, start, n, flat, counts, seen, place, bins, ends)
    tol, M, m, S2 = R[TOL], R.size - SUMS, line.shape[0] - 1, 0.0
    quick = P.kind == SQUARE and P.is_class and not P.one and not P.bounded
    lost = n - (ends[K - 2] if K > 1 else 0) if bins[K - 1] == NO_BYTE else 0
    K -= 1 if lost else 0
    for k in range(M):
        S2 += R[SUMS + k] * R[SUMS + k]
    for side in range(2 if lost else 1):
        n0, places = lost if side else 0, K if lost and not side else K - 1
        for k in range(M):
            u[k] = 0.0
        if quick:
            walk_classes(m, line, code, place, n - n0, n, places, ends, R, u, tally)
            most = judge_classes(P, n, n0, places, ends, R[WEIGHT], S2, tally)
        else:
            most = walk_any(P, m, line, code, place, n - n0, n, places, ends,
                            R, u, tally, rare)  # fmt: skip
        bar, at = best[B_GAIN] + tol, -1
        if not most > bar:
            continue
        for k in range(places):
            if tally[3, k] > bar:
                at, bar = k, tally[3, k] + tol
        best[B_GAIN], best[B_FOUND], best[B_CODE] = tally[3, at], 1.0, bins[at]
        best[B_MISSING_LEFT] = side if lost else UNASKED
        after = bins[at + 1] if at + 1 < K else -1
        best[B_THRESHOLD] = threshold(edges, f, bins[at], after)


@njit(**INNER, forceinline=True)
def search(P, codes, x, edges, meta, w, rows, start, n, key, fs, count, line, code,
           near, goes, place, more, R, found, top, choice, cut, rare):  # fmt: skip
    """Try the features fs on a node with sums R; the best gain so far.

    `goes` is None unless thresholds are random, and else `place` is.
    """
    own, H, u = more
    full = R[WEIGHT] * R[IMPURITY] - R[TOL]
    for i in range(count):
        f = fs[i]
        if top >= full:  # nothing left to gain
            break
        found[B_GAIN], found[B_FOUND] = top, 0.0
        if goes is not None:
            try_drawn(P, meta[f, MISSING], edges, x, codes, f, rows, start, n, line,
                      code, R, key ^ f, near, goes, u, found, top, rare)  # fmt: skip
        if place is not None:
            if n >= MANY:
                m = line.shape[0] - 1
                fill_lined(P, H, codes, f, rows, start, n, m, line, code)
                try_bins(P, meta[f], meta[f, BINS], edges[f], H, n, w.size > 0, R,
                         key ^ f, u, found, top, rare)  # fmt: skip
            else:
                try_ordered(P, edges, codes, f, rows, start, n, line, code, place, near,
                            own, R, u, found, rare)  # fmt: skip
        if found[B_FOUND] > 0.0:
            top, cut[0], choice[C_FEATURE] = found[B_GAIN], found[B_THRESHOLD], f
            choice[C_CODE] = np.int64(found[B_CODE])
            choice[C_MISSING] = np.int64(found[B_MISSING_LEFT])
    return top
