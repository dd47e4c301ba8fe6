"""Compiled search for the best split of one node along one feature.

Two ways to see the rows of a node in ascending order: a list of rows kept sorted
(`try_list`), or a histogram of sums over byte codes (`try_bins`). Both look at every
place between two different values, left to right; a place must beat the best so far
by the node's TOL to be taken, so that rounding never decides between equal splits.
"""

import numpy as np
from numba import njit

from ..core._random import mix
from ._criteria import FAST, SLIVER, add, ordered, score
from ._quantile_split import walk_absolute
from ._structures import (
    B_CODE,
    B_FOUND,
    B_GAIN,
    B_MISSING_LEFT,
    B_N_LEFT,
    B_THRESHOLD,
    CHUNK,
    INNER,
    MISSING,
    NO_BYTE,
    SIGN,
    SUMS,
    TIES,
    TOL,
    UNASKED,
    WEIGHT,
)

SALT = np.uint64(0xD1B54A32D192ED03)  # keeps draws of values and features apart
SHORT = 32  # places up to which a walk goes one by one


@njit(**INNER)
def between(key, a, b):
    """A random number from a to below b, and the key of further draws."""
    key = mix(np.uint64(key) ^ SALT)
    v = a + float(key >> np.uint64(11)) / 9007199254740992.0 * (b - a)
    return (v if v < b else a), mix(key)


@njit(**INNER, forceinline=True)
def draw_one(key, perm, f, m):
    """Put one of perm[f], ..., perm[m - 1] at place f, all alike; from which place."""
    z = mix(key + np.uint64(f)) >> np.uint64(32)
    j = f + np.int64((z * np.uint64(m - f)) >> np.uint64(32))
    perm[f], perm[j] = perm[j], perm[f]
    return j


@njit(**INNER, forceinline=True)
def fits(P, sign, R, u, wl):
    """Whether a split keeps the least leaf weight and the monotone constraint."""
    W = R[WEIGHT]
    if wl < P.min_weight or W - wl < P.min_weight:
        return False
    if sign == 0:
        return True
    k = 1 if P.is_class and not P.one else 0
    return ordered(sign, R, u[k] / (wl + P.l2), (R[SUMS + k] - u[k]) / (W - wl + P.l2))


@njit(**INNER, fastmath=FAST | {"nnan"})
def walk_sums(rows, start, stop, first, last, x, ties, z, w, R, u, wl, bar, tol, room):
    """The best place when one sum is all the criterion needs, eq. (2).

    In chunks: running sums first, then all scores of the chunk at once (which the
    compiler does several at a time), then a look only if the chunk has a better one;
    whether two values differ is asked last. z are whole numbers if weights are all 1
    and targets 0 or 1. A short walk goes place by place. Returns the place (-1 for
    none) and its score without W.
    """
    W = R[WEIGHT]
    mean, floor, at, top, i = R[SUMS] / W, SLIVER * W, -1, 0.0, start
    T, Q = room[0], room[1]
    if last - start < SHORT and not w.size:
        for i in range(start, last + 1):
            u += z[rows[i]]
            wl += 1.0
            t = u - mean * wl
            t = t * t / (wl * (W - wl))
            if t <= bar or i < first:
                continue
            if not ties or i + 1 >= stop or x[rows[i]] != x[rows[i + 1]]:
                at, top, bar = i, t, t + tol
        return at, top
    while i <= last:
        m = min(CHUNK, last + 1 - i)
        if w.size:
            for j in range(m):
                r = rows[i + j]
                u += z[r]
                wl += w[r]
                T[j] = u - mean * wl
                Q[j] = wl * max(W - wl, floor)
        else:
            for j in range(m):
                u += z[rows[i + j]]
                T[j] = u
            for j in range(m):
                v = wl + (j + 1)
                T[j] -= mean * v
                Q[j] = v * (W - v)
            wl += m
        most = -1.0
        lead = max(first - i, 0)
        for j in range(lead, m):
            T[j] = T[j] * T[j] / Q[j]
            most = max(most, T[j])
        if most > bar:
            for j in range(lead, m):
                if T[j] > bar:
                    k = i + j
                    if not ties or k + 1 >= stop or x[rows[k]] != x[rows[k + 1]]:
                        at, top, bar = k, T[j], T[j] + tol
        i += m
    return at, top


@njit(**INNER, fastmath=FAST)
def walk(P, rows, start, stop, first, last, x, ties, y, w, R, sign, u, wl, bar,
         rare):  # fmt: skip
    """The best place for any criterion made of sums. Returns place and gain."""
    at, top = -1, 0.0
    for i in range(start, last + 1):
        r = rows[i]
        wl += add(P, y, w, r, u, np.intp(0))
        if i < first or (ties and i + 1 < stop and x[r] == x[rows[i + 1]]):
            continue
        if P.bounded and not fits(P, sign, R, u, wl):
            continue
        gain = P.scale * score(P, u, wl, R, rare)
        if gain > bar:
            at, top, bar = i, gain, gain + R[TOL]
    return at, top


@njit(**INNER, forceinline=True)
def last_at_most(x, rows, start, stop, v):
    """The last place whose value is at most v; missing values come last."""
    low, high = start, stop
    while low < high:
        mid = (low + high) // 2
        if x[rows[mid]] <= v:
            low = mid + 1
        else:
            high = mid
    return low - 1


@njit(**INNER)
def sort_few(x, rows, start, stop, few):
    """The rows of a small node sorted by x into `few`, missing values last."""
    for i in range(stop - start):
        r = rows[start + i]
        v, j = x[r], i
        while j > 0 and not (x[few[j - 1]] <= v) and not np.isnan(v):
            few[j] = few[j - 1]
            j -= 1
        few[j] = r


@njit(**INNER, forceinline=True)
def try_list(P, meta, x, lists, t0, head, rows, start, stop, y, z, bits, sums, w, R,
             key, line, room, best, top, medians, rare):  # fmt: skip
    """The best split along a feature whose rows are listed in order, into `best`.

    Only one that gains more than `top` by the tolerance counts.
    The rows that miss the value are tried on the right (also alone), then on the left.
    One of z, bits, `sums` (the targets) and `medians` says how rows are walked along;
    the others are None.
    """
    n, end, tol = stop - start, stop, R[TOL]
    best[B_GAIN], best[B_FOUND] = top, 0.0
    if meta[MISSING]:
        end = last_at_most(x, rows, start, stop, np.inf) + 1
    m = stop - end  # missing values
    if m == n:
        return
    sign, ties, v, pick = meta[SIGN], meta[TIES] > 0, 0.0, -1
    side0, sides = 0, (2 if m else 1)
    if P.random:
        a, b = np.float64(x[rows[start]]), np.float64(x[rows[end - 1]])
        v, key = between(key, a, b)
        pick = last_at_most(x, rows, start, end, v)
        if m:
            side0 = int(key & np.uint64(1))
            sides = side0 + 1
    u, M = room[2], R.size - SUMS
    for side in range(side0, sides):
        n0 = m if side else 0  # missing rows that start on the left
        first = start + max(P.min_leaf - n0 - 1, 0)
        last = start + n - P.min_leaf - n0 - 1
        last = min(last, end - 1 if m and not side else end - 2)
        if P.random:
            first, last = max(first, pick), min(last, pick)
        if first > last:
            continue
        bar, wl, at, gain = best[B_GAIN] + tol, 0.0, -1, 0.0
        c = P.scale * R[WEIGHT]  # of scores along z and bits
        for k in range(M):
            u[k] = 0.0
        for i in range(end, stop if side else end):
            wl += add(P, y, w, rows[i], u, np.intp(0))
        if medians is not None:
            at, gain = walk_absolute(P, lists, t0, head, rows, start, end, stop, first,
                                     last, x, ties, y, w, R, sign, side, line,
                                     medians, bar)  # fmt: skip
        if bits is not None:
            at, gain = walk_sums(rows, start, end, first, last, x, ties, bits, w, R,
                                 np.int64(u[0]), wl, bar / c, tol / c,
                                 room)  # fmt: skip
            gain *= c
        if z is not None:
            at, gain = walk_sums(rows, start, end, first, last, x, ties, z, w, R, u[0],
                                 wl, bar / c, tol / c, room)  # fmt: skip
            gain *= c
        if sums is not None:
            at, gain = walk(P, rows, start, end, first, last, x, ties, sums, w, R,
                            sign, u, wl, bar, rare)  # fmt: skip
        if at < 0:
            continue
        left = at - start + 1 + n0
        best[B_GAIN], best[B_FOUND], best[B_N_LEFT] = gain, 1.0, left
        best[B_MISSING_LEFT] = side if m else UNASKED
        if P.random:
            best[B_THRESHOLD] = v
        elif at == end - 1:
            best[B_THRESHOLD] = np.inf
        else:
            best[B_THRESHOLD] = x[rows[at]] / 2.0 + x[rows[at + 1]] / 2.0


@njit(**INNER)
def fill(P, H, codes, column, rows, start, stop, y, w):
    """Histogram of the rows of a node: count, weight and sums by byte code."""
    t, j = column // codes.shape[2], column % codes.shape[2]
    for b in range(H.shape[0]):
        for k in range(H.shape[1]):
            H[b, k] = 0.0
    if P.one and not w.size:
        for i in range(start, stop):
            b = codes[t, rows[i], j]
            H[b, 0] += 1.0
            H[b, 2] += y[rows[i], 0]
    else:
        for i in range(start, stop):
            h = H[codes[t, rows[i], j]]
            h[0] += 1.0
            h[1] += add(P, y, w, rows[i], h, np.intp(2))


@njit(**INNER)
def try_bins(P, meta, nb, edges, H, n, weighted, R, key, u, best, top, rare):
    """The best split along a feature whose histogram is given, into `best`."""
    low, high, wk = edges[0], edges[1], (1 if weighted else 0)
    best[B_GAIN], best[B_FOUND] = top, 0.0
    a, b, m = 0, nb - 1, int(H[NO_BYTE, 0])
    while a < nb and H[a, 0] == 0.0:
        a += 1
    while b > a and H[b, 0] == 0.0:
        b -= 1
    if a == nb or (m == 0 and a == b):
        return
    side0, sides, v, M = 0, (2 if m else 1), 0.0, R.size - SUMS
    if P.random:
        v, key = between(key, np.float64(low[a]), np.float64(high[b]))
        if m:
            side0 = int(key & np.uint64(1))
            sides = side0 + 1
    for side in range(side0, sides):
        left, wl = 0, 0.0
        for k in range(M):
            u[k] = H[NO_BYTE, 2 + k] if side else 0.0
        if side:
            left, wl = m, H[NO_BYTE, wk]
        at, bar = a, best[B_GAIN] + R[TOL]
        for c in range(a + 1, b + 2):  # the place between bin `at` and bin c
            if c <= b and H[c, 0] == 0.0:
                continue
            left += int(H[at, 0])
            wl += H[at, wk]
            for k in range(M):
                u[k] += H[at, 2 + k]
            if c > b and (side or not m or (P.random and a < b)):
                break
            ok = left >= P.min_leaf and n - left >= P.min_leaf
            if P.random:
                ok = ok and low[at] <= v and (c >= b or low[c] > v)
            if ok and (not P.bounded or fits(P, meta[SIGN], R, u, wl)):
                gain = P.scale * score(P, u, wl, R, rare)
                if gain > bar:
                    bar = gain + R[TOL]
                    best[B_GAIN], best[B_FOUND], best[B_CODE] = gain, 1.0, at
                    best[B_N_LEFT] = left
                    best[B_MISSING_LEFT] = side if m else UNASKED
                    if P.random and high[at] <= v and (c > b or v < low[c]):
                        best[B_THRESHOLD] = v
                    elif c > b:
                        best[B_THRESHOLD] = np.inf
                    else:
                        best[B_THRESHOLD] = high[at] / 2.0 + low[c] / 2.0
            at = c
