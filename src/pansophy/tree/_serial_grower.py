"""Compiled growth of a tree in one thread: the trees of forests, and random ones.

They are grown fully, so most nodes hold a handful of rows, and often only a few
features of a node are looked at. Nothing is kept between nodes but a stack, and nodes
are numbered as they are taken from it (root, left branch, right branch). Where one sum
is enough it is kept in the whole numbers of `_histograms.py`, and a node is searched along a
feature by `_split_search.py`; several sums are made anew at each node, from rows lined up,
and searched by `_several.py`. The tree is the one that `_parallel_grower.py` grows.
"""

import numpy as np
from numba import njit

from ..core._memory import lowest
from . import _several as lined
from ._criteria import SAME, SLIVER
from ._scan import draw_one, mix
from ._split_search import (
    C_CODE,
    C_FEATURE,
    C_H,
    C_MISSING,
    C_Z,
    FEW,
    MANY,
    Node,
    mark_some,
    rank_few,
    try_many,
    try_places,
    try_random,
    try_two,
    try_value,
    weigh,
)
from ._structures import IMPURITY, INNER, LOOP, MISSING, NO_BYTE, SUMS, TOL, WEIGHT

# finished nodes: whole numbers A[..., node] and reals Q[..., node]
A_LEFT, A_RIGHT, A_FEATURE, A_START, A_STOP, A_MISSING, WHOLES = range(7)
Q_THRESHOLD, Q_IMPURITY, Q_WEIGHT, Q_SUM, REALS = range(5)

# waiting nodes: stack[..., :]; PARENT is 2 parent + (1 if it is the right child)
S_START, S_STOP, S_DEPTH, S_KEY, S_Z, S_H, S_PARENT, ENTRY = range(8)


@njit(**INNER, forceinline=True)
def gather(P, y, w, F, rows, start, stop, line, mean):
    """Whole numbers of a node's rows side by side; the summed squares about the mean.

    These are exactly zero if all targets are equal; not needed for two classes.
    """
    acc, differ, head, z, h = 0.0, False, y[rows[start], 0], F.z, F.h
    for i in range(start, stop):
        r = rows[i]
        line[0, i] = z[r]
        if h.size:
            line[1, i] = h[r]
        if not P.one:
            v = y[r, 0]
            differ |= v != head
            acc += (w[r] if w.size else 1.0) * (v - mean) * (v - mean)
    return acc if differ else 0.0


@njit(**INNER, forceinline=True)
def part_rows(codes, x, f, code, v, missing_left, rows, start, stop, spare):
    """Rows of up to a byte, or a value v, to the left, in order on both sides."""
    i, j, left = start, 0, 0
    for k in range(start, stop):
        r = rows[k]
        if x is not None:
            left = np.int64(x[f, r] <= v) if x[f, r] == x[f, r] else missing_left
        if codes is not None:
            b = np.int64(codes[f, r])
            left = np.int64(b <= code) if b != NO_BYTE else missing_left
        rows[i] = r
        spare[j] = r
        i += left
        j += 1 - left
    for k in range(j):
        rows[i + k] = spare[k]
    return i


@njit(**INNER, forceinline=True)
def search(P, F, u, v, W, tol, key, codes, x, edges, meta, rows, start, n, line, fs, m,
           top, full, tools, near, best, choice, cut):  # fmt: skip
    """Try the m features fs on a node with whole sums u, v; the best gain so far."""
    cells, flat, seen, keys, ranks, bins, room, lines, r = tools
    s = u * F.unit_z
    G = Node(n, W, s, s / W, tol, W * P.scale, SLIVER * W, P.min_leaf, P.min_weight,
             F.weighted, F.unit_z, F.unit_h)  # fmt: skip
    for i in range(m):
        f = fs[i]
        if top >= full:  # nothing left to gain
            break
        if x is not None:
            top = try_value(G, x, f, meta[f, MISSING], rows, start, line, key ^ f,
                            near, top, choice, cut)  # fmt: skip
        if codes is None:
            continue
        if near is not None:
            top = try_random(G, edges, codes, f, rows, start, line, key ^ f, near, top,
                             choice, cut)  # fmt: skip
            continue
        if G.n == 2 and not meta[f, MISSING]:
            top = try_two(G, edges, codes, f, rows, start, line, top, choice, cut)
            continue
        if G.n >= MANY:
            top = try_many(P, F, G, meta, edges, codes, f, rows, start, start + G.n,
                           line, cells, flat, top, choice, cut, r, best,
                           room)  # fmt: skip
            continue
        if G.n <= FEW:
            K = rank_few(G, codes, f, rows, start, line, keys, ranks, bins, lines)
        else:
            K = mark_some(G, codes, f, rows, start, line, flat, seen, bins, lines)
        top = try_places(G, edges, f, K, u, v, bins, room, lines, top, choice, cut)
    return top


@njit(**INNER, forceinline=True)
def draw_some(key, perm, moved, marks, fs, tried, count, d):
    """Draw `count` more features; these in ascending order into fs."""
    for i in range(tried, tried + count):
        moved[i] = draw_one(key, perm, i, d)
        f = perm[i]
        marks[f >> 6] |= np.uint64(1) << np.uint64(f & 63)
    m = 0
    for k in range(marks.size):
        word = marks[k]
        marks[k] = 0
        while word:
            fs[m] = 64 * k + lowest(word)
            word &= word - np.uint64(1)
            m += 1


@njit(**INNER, forceinline=True)
def put_back(perm, moved, tried):
    """Undo the draws, so that the next node draws from features in their order."""
    for i in range(tried - 1, -1, -1):
        perm[i], perm[moved[i]] = perm[moved[i]], perm[i]


@njit(**INNER, forceinline=True)
def push(stack, at, start, stop, depth, key, u, v, parent):
    """Put a node on the stack."""
    stack[at, S_START], stack[at, S_STOP], stack[at, S_DEPTH] = start, stop, depth
    stack[at, S_KEY], stack[at, S_Z], stack[at, S_H] = key, u, v
    stack[at, S_PARENT] = parent


@njit(**LOOP)
def grow_lean(P, F, rows, codes, x, edges, meta, y, w, first, stack, marks, spare, near,
              goes, place, line, code, draws, choice, cut, best, R, tools, more, rare,
              A, Q, V):  # fmt: skip
    """The nodes of a tree into A and Q; returns how many there are.

    `first` are the key and, where one sum is enough, the whole sums of the root. Of
    bytes and values one is None; F, whole numbers, is None where there are M sums,
    which go into V; near, goes and place, scratch of random and of best thresholds, are
    None where they are not needed: so each way of searching is compiled alone. All
    scratch is made by `lean.py`, as every kind of array made here costs compile time.
    """
    d, m, waiting, perm, moved, fs = P.d, 0, 1, draws[0], draws[1], draws[2]
    zero = np.intp(0)  # a number written in a call would be a type of its own
    push(stack, zero, zero, rows.size, zero, first[0], first[1], first[2], zero - 1)
    while waiting:
        waiting -= 1
        start, stop = stack[waiting, S_START], stack[waiting, S_STOP]
        depth, key = stack[waiting, S_DEPTH], stack[waiting, S_KEY]
        u, v, up = stack[waiting, S_Z], stack[waiting, S_H], stack[waiting, S_PARENT]
        n, node, W, impurity, tol = stop - start, m, 0.0, 0.0, 0.0
        m += 1
        if up >= 0:
            A[A_LEFT + (up & 1), up >> 1] = node
        A[A_LEFT, node] = A[A_RIGHT, node] = -1
        A[A_FEATURE, node], A[A_MISSING, node], Q[Q_THRESHOLD, node] = -2, 0, -2.0
        A[A_START, node], A[A_STOP, node] = start, stop
        if F is not None:
            W = weigh(v, F.weighted, F.unit_h)
            p = u * F.unit_z / W
            if P.one:
                impurity = 2.0 * p * (1.0 - p)
            elif n > 1:
                impurity = gather(P, y, w, F, rows, start, stop, line, p) / W
            tol = SAME * (W * impurity)
        if V is not None:
            lined.line_up(P, y, w, rows, start, n, line, code)
            lined.open_lined(P, y, w, rows, start, n, line, code, R, rare)
            W, impurity, tol = R[WEIGHT], R[IMPURITY], R[TOL]
            Q[Q_WEIGHT, node] = W
            for k in range(V.shape[1]):
                V[node, k] = R[SUMS + k]
        Q[Q_IMPURITY, node] = impurity
        ready = n >= P.min_split and n >= 2 * P.min_leaf and 2 * P.min_weight <= W
        if not ready or depth >= P.max_depth or not impurity > 0.0:
            continue
        choice[C_FEATURE], top, tried, full = -1, -2.0 * tol, zero, W * impurity - tol
        if F is not None and P.one:
            gather(P, y, w, F, rows, start, stop, line, 0.0)
        while choice[C_FEATURE] < 0 and tried < d:
            count = 1 if tried else P.max_features
            draw_some(np.uint64(key), perm, moved, marks, fs, tried, count, d)
            tried += count
            if F is not None:
                top = search(P, F, u, v, W, tol, key, codes, x, edges, meta, rows,
                             start, n, line, fs, count, top, full, tools, near, best,
                             choice, cut)  # fmt: skip
            if V is not None:
                top = lined.search(P, codes, x, edges, meta, w, rows, start, n, key, fs,
                                   count, line, code, near, goes, place, more, R, best,
                                   top, choice, cut, rare)  # fmt: skip
        put_back(perm, moved, tried)
        f = choice[C_FEATURE]
        if f < 0 or top < P.min_gain:
            continue
        at = part_rows(codes, x, f, choice[C_CODE], cut[0], choice[C_MISSING], rows,
                       start, stop, spare)  # fmt: skip
        A[A_FEATURE, node], A[A_MISSING, node] = f, choice[C_MISSING]
        Q[Q_THRESHOLD, node] = cut[0]
        a, b, k0, k1 = choice[C_Z], choice[C_H], mix(key), mix(key + 1)
        push(stack, waiting, at, stop, depth + 1, np.int64(k1), u - a, v - b,
             2 * node + 1)  # fmt: skip
        push(stack, waiting + 1, start, at, depth + 1, np.int64(k0), a, b, 2 * node)
        waiting += 2  # the left child is taken first
    return m


@njit(**LOOP)
def sum_leaves(rows, y, w, A, Q):
    """Sums of all nodes from the targets themselves, which are not rounded."""
    for node in range(A.shape[1] - 1, -1, -1):
        left, u, W = A[A_LEFT, node], 0.0, 0.0
        if left >= 0:
            right = A[A_RIGHT, node]
            Q[Q_SUM, node] = Q[Q_SUM, left] + Q[Q_SUM, right]
            Q[Q_WEIGHT, node] = Q[Q_WEIGHT, left] + Q[Q_WEIGHT, right]
            continue
        for i in range(A[A_START, node], A[A_STOP, node]):
            v = w[rows[i]] if w.size else 1.0
            u += v * y[rows[i], 0]
            W += v
        Q[Q_SUM, node], Q[Q_WEIGHT, node] = u, W
