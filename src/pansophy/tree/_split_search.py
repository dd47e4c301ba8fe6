"""Compiled search of one node along one feature, where one sum is enough.

Whole numbers as in `_histograms.py`. A node of many rows is searched bin by bin
(`try_counts`). In a smaller one only the bins that rows fall into are visited, in
order: they are ranked, or marked in four words of 64 bits and cleared again. A random
threshold needs no bins at all. Each function returns the best gain so far, and what is
known of that split is a handful of numbers in `choice` and `cut`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ..core._memory import add_pair, lowest
from ._histograms import COUNT, try_counts
from ._scan import between
from ._structures import (
    B_CODE,
    B_FOUND,
    B_GAIN,
    B_MISSING_LEFT,
    B_N_LEFT,
    B_SUM,
    B_THRESHOLD,
    B_WEIGHT,
    COUNT_BITS,
    INNER,
    NO_BYTE,
    SUMS,
    TOL,
    UNASKED,
    WEIGHT,
)

MANY = 128  # rows from which all bins are looked at
FEW, FEW_BITS = 16, 4  # rows up to which bytes are ranked

# the best split so far
C_FEATURE, C_CODE, C_MISSING, C_Z, C_H, CHOICE = range(6)


class Node(NamedTuple):
    """Numbers by which the places of a node are judged."""

    n: int
    W: float
    s: float
    mean: float
    tol: float
    factor: float  # of the score
    floor: float
    min_leaf: int
    min_weight: float
    weighted: bool
    unit_z: float
    unit_h: float


@njit(**INNER, forceinline=True)
def weigh(h, weighted, unit_h):
    """The weight that a whole number stands for."""
    return (h >> COUNT_BITS) * unit_h if weighted else np.float64(h & COUNT)


@njit(**INNER, forceinline=True)
def gain_at(G, u, h):
    """Gain of a place with whole sums u, h on the left; -1 if it is forbidden."""
    left = h & COUNT
    if left < G.min_leaf or G.n - left < G.min_leaf:
        return -1.0
    wl = weigh(h, G.weighted, G.unit_h)
    wr = G.W - wl
    if wl < G.min_weight or wr < G.min_weight:
        return -1.0
    v = u * G.unit_z - G.mean * wl
    return G.factor * (v * v) / (max(wl, G.floor) * max(wr, G.floor))


@njit(**INNER, forceinline=True)
def take(choice, f, code, missing_left, u, h):
    """Remember a split."""
    choice[C_FEATURE], choice[C_CODE], choice[C_MISSING] = f, code, missing_left
    choice[C_Z], choice[C_H] = u, h


@njit(**INNER, forceinline=True)
def threshold(edges, f, at, after):
    """Half way between two bins; after < 0: missing values alone."""
    if after < 0:
        return np.inf
    return edges[f, 1, at] / 2.0 + edges[f, 0, after] / 2.0


@njit(**INNER, forceinline=True)
def try_two(G, edges, codes, f, rows, start, line, top, choice, cut):
    """A node of two rows, neither missing; returns the best gain so far."""
    a, b = np.int64(codes[f, rows[start]]), np.int64(codes[f, rows[start + 1]])
    if a == b:
        return top
    i = start if a < b else start + 1
    u, h = line[0, i], line[1, i]
    gain = gain_at(G, u, h)
    if gain > top + G.tol:
        take(choice, f, min(a, b), np.intp(UNASKED), u, h)
        cut[0] = threshold(edges, f, min(a, b), max(a, b))
        return gain
    return top


@njit(**INNER, forceinline=True)
def rank_few(G, codes, f, rows, start, line, keys, ranks, bins, lines):
    """Bins of up to FEW rows in order, and the whole sums up to each.

    The place of a row is the number of smaller keys, byte and number of the row; all
    are compared at once. Returns how many bins there are without missing values.
    """
    m = 0
    for i in range(FEW):
        keys[i] = 0xFFFF
        ranks[i] = 0
    for i in range(G.n):
        b = np.int64(codes[f, rows[start + i]])
        m += b == NO_BYTE
        keys[i] = (b << FEW_BITS) | i
    for j in range(G.n):
        key = keys[j]
        for i in range(FEW):
            ranks[i] += np.uint16(keys[i] > key)
    for i in range(G.n):
        ranks[FEW + np.int64(ranks[i])] = i
    K, last, u, h = -1, -1, 0, 0
    for k in range(G.n - m):
        i = np.int64(ranks[FEW + k])
        b = np.int64(keys[i]) >> FEW_BITS
        K += b != last
        last = b
        u += line[0, start + i]
        h += line[1, start + i]
        bins[K], lines[1, K], lines[2, K] = b, u, h
    return K + 1


@njit(**INNER, forceinline=True)
def mark_some(G, codes, f, rows, start, line, flat, seen, bins, lines):
    """The same for more rows: sums by byte, then the bytes that there are, in order."""
    for i in range(start, start + G.n):
        b = np.intp(codes[f, rows[i]])
        add_pair(flat, 2 * b, line[0, i], line[1, i])
        seen[b >> 6] |= np.uint64(1) << np.uint64(b & 63)
    flat[2 * NO_BYTE] = flat[2 * NO_BYTE + 1] = 0
    seen[3] &= ~(np.uint64(1) << np.uint64(63))
    K, u, h = 0, 0, 0
    for k in range(4):
        word = seen[k]
        seen[k] = 0
        while word:
            b = 64 * k + lowest(word)
            word &= word - np.uint64(1)
            u += flat[2 * b]
            h += flat[2 * b + 1]
            flat[2 * b] = flat[2 * b + 1] = 0
            bins[K], lines[1, K], lines[2, K] = b, u, h
            K += 1
    return K


@njit(**INNER, forceinline=True)
def judge(G, K, u0, h0, room, lines):
    """Gains of K places into room[0], -1 where one is forbidden; the greatest one."""
    most, least, rest = -1.0, G.min_leaf, G.n - G.min_leaf
    for k in range(K):
        h = lines[2, k] + h0
        left, wl = h & COUNT, weigh(h, G.weighted, G.unit_h)
        v, wr = (lines[1, k] + u0) * G.unit_z - G.mean * wl, G.W - wl
        ok = (left >= least) & (left <= rest)
        ok &= (wl >= G.min_weight) & (wr >= G.min_weight)
        v = G.factor * (v * v) / (max(wl, G.floor) * max(wr, G.floor))
        room[0, k] = v if ok else -1.0
    for k in range(K):
        most = room[0, k] if room[0, k] > most else most
    return most


@njit(**INNER, forceinline=True)
def try_places(G, edges, f, K, u, h, bins, room, lines, top, choice, cut):
    """The best place between K bins, missing values on either side.

    u and h are the sums of the node. Returns the best gain so far.
    """
    if K == 0:
        return top
    lost, lost_h = u - lines[1, K - 1], h - lines[2, K - 1]
    m = lost_h & COUNT
    for side in range(2 if m else 1):
        u0, h0 = (lost, lost_h) if side else (0, 0)
        most = judge(G, K if m and not side else K - 1, u0, h0, room, lines)
        if not most > top + G.tol:
            continue
        k, bar = 0, max(top + G.tol, most - G.tol)
        while not room[0, k] > bar and room[0, k] < most:
            k += 1
        top = room[0, k]
        at, after = bins[k], (bins[k + 1] if k + 1 < K else -1)
        missing_left = side if m else UNASKED
        take(choice, f, at, missing_left, lines[1, k] + u0, lines[2, k] + h0)
        cut[0] = threshold(edges, f, at, after)
    return top


@njit(**INNER, forceinline=True)
def extremes(codes, f, rows, start, n, near):
    """Bytes of a column side by side, the least and the greatest, and those missing."""
    low, high, m = np.uint8(255), np.uint8(0), 0
    for i in range(n):
        near[i] = codes[f, rows[start + i]]
    for i in range(n):
        low = min(low, near[i])
        high = max(high, near[i])
    if high < NO_BYTE:
        return np.int64(low), np.int64(high), 0
    top = -1
    for i in range(n):
        gone = near[i] == NO_BYTE
        m += gone
        top = max(top, -1 if gone else np.int64(near[i]))
    return np.int64(low), top, m


@njit(**INNER, forceinline=True)
def bin_at_most(edges, f, low, high, v):
    """The last bin from `low` to below `high` that begins at most at v."""
    most, above = low, max(high, low + 1)
    while above - most > 1:
        mid = (most + above) // 2
        if edges[f, 0, mid] <= v:
            most = mid
        else:
            above = mid
    return most


@njit(**INNER, forceinline=True)
def cut_drawn(edges, f, near, n, low, high, most, v):
    """The last bin of the left side that has rows, and the threshold after it."""
    at, after = low, 256
    for i in range(n):
        b = np.int64(near[i])
        at, after = max(at, b if b <= most else low), min(after, b if b > most else 256)
    after = -1 if low == high else after
    if edges[f, 1, at] <= v and (after < 0 or v < edges[f, 0, after]):
        return at, v
    return at, threshold(edges, f, at, after)


@njit(**INNER, forceinline=True)
def try_random(G, edges, codes, f, rows, start, line, key, near, top, choice, cut):
    """A threshold drawn evenly between the extremes; the best gain so far."""
    low, high, m = extremes(codes, f, rows, start, G.n, near)
    if high < 0 or (low == high and m == 0):
        return top
    v, key = between(key, np.float64(edges[f, 0, low]), np.float64(edges[f, 1, high]))
    side = np.int64(key & np.uint64(1)) if m else 0
    if low == high and side:
        return top  # everything would go left
    most = bin_at_most(edges, f, low, high, v)
    u, h, limit, lost = 0, 0, np.uint8(most), np.uint8(NO_BYTE if side else most)
    for i in range(G.n):
        goes = (near[i] <= limit) | (near[i] == lost)
        u += line[0, start + i] if goes else 0
        h += line[1, start + i] if goes else 0
    gain = gain_at(G, u, h)
    if not gain > top + G.tol:
        return top
    at, cut[0] = cut_drawn(edges, f, near, G.n, low, high, most, v)
    take(choice, f, at, side if m else UNASKED, u, h)
    return gain


@njit(**INNER, forceinline=True)
def span(x, f, missing, rows, start, n, near):
    """Values of a column side by side, the least and the greatest, and those missing.

    Four at a time: one after the other each comparison would wait for the one before.
    """
    big, m = np.float32(np.inf), 0
    a = b = c = d = big
    s = t = u = v = -big
    for i in range(n):
        near[i] = x[f, rows[start + i]]
    if missing:
        for i in range(n):
            y = near[i]
            m += y != y
            a, s = (y if y < a else a), (y if y > s else s)
        return a, s, m
    for i in range(n, 4 * ((n + 3) // 4)):
        near[i] = near[0]
    for i in range(0, n, 4):
        a, s = min(a, near[i]), max(s, near[i])
        b, t = min(b, near[i + 1]), max(t, near[i + 1])
        c, u = min(c, near[i + 2]), max(u, near[i + 2])
        d, v = min(d, near[i + 3]), max(v, near[i + 3])
    return min(min(a, b), min(c, d)), max(max(s, t), max(u, v)), 0


@njit(**INNER, forceinline=True)
def try_value(G, x, f, missing, rows, start, line, key, near, top, choice, cut):
    """The same of values as they are; the best gain so far."""
    low, high, m = span(x, f, missing, rows, start, G.n, near)
    if m == G.n or (low == high and m == 0):
        return top
    v, key = between(key, np.float64(low), np.float64(high))
    side, u, h = np.int64(key & np.uint64(1)) if m else 0, 0, 0
    for i in range(G.n):
        goes = near[i] <= v
        u += line[0, start + i] if goes else 0
        h += line[1, start + i] if goes else 0
    if side:
        for i in range(G.n):
            goes = near[i] != near[i]
            u += line[0, start + i] if goes else 0
            h += line[1, start + i] if goes else 0
    gain = gain_at(G, u, h)
    if not gain > top + G.tol:
        return top
    take(choice, f, np.intp(0), side if m else UNASKED, u, h)
    cut[0] = v
    return gain


@njit(**INNER, forceinline=True)
def try_many(P, F, G, meta, edges, codes, f, rows, start, stop, line, cells, flat, top,
             choice, cut, r, best, room):  # fmt: skip
    """All bins of a column of a node of many rows; the best gain so far."""
    for i in range(start, stop):
        add_pair(flat, 2 * np.intp(codes[f, rows[i]]), line[0, i], line[1, i])
    r[SUMS], r[WEIGHT], r[TOL] = G.s, G.W, G.tol
    try_counts(P, F, meta[f], edges[f], cells, G.n, r, best, top, room)
    for k in range(flat.size):
        flat[k] = 0
    if best[B_FOUND] <= 0.0:
        return top
    h = np.int64(best[B_N_LEFT])
    if G.weighted:
        h |= np.int64(best[B_WEIGHT] / G.unit_h) << COUNT_BITS
    u = np.int64(best[B_SUM] / G.unit_z)
    take(choice, f, np.int64(best[B_CODE]), np.int64(best[B_MISSING_LEFT]), u, h)
    cut[0] = best[B_THRESHOLD]
    return best[B_GAIN]
