"""Compiled growth of one tree: open nodes, split them, search their children.

The rows of a node are one slice of every list in `T.lists`: the rows in their own
order, the rows sorted by each listed feature and, for absolute error, by each target.
Splitting a node parts its slice of each list in two, keeping the order, so nothing is
sorted again but very small nodes, which are cheaper to sort than to part. Features
held as bytes need no list: they are summed into histograms, and the larger child's is
its parent's less its sibling's.

`grow` works through a frontier of nodes whose best split is known. It returns early
with FULL (the node arrays are used up) or WIDE (the search of the pending children is
large enough for several threads); the caller sees to it and calls again. The arrays
are described in `_layout.py`: N and R are nodes, C counters, queue is the frontier,
the nodes left for later and the free histograms, draw the features to try. `medians`
is scratch for absolute error and None otherwise, so that other criteria need not wait
for its code to be compiled.
"""

import numpy as np
from numba import njit

from ._absolute import weighted_median
from ._frontier import pop, push
from ._layout import (
    B_CODE,
    B_FOUND,
    B_GAIN,
    B_MISSING_LEFT,
    B_N_LEFT,
    B_THRESHOLD,
    BASE,
    BINS,
    CODE,
    DEPTH,
    FEATURE,
    FIRST,
    FREE,
    FRONT,
    GAIN,
    HIGH,
    HIST,
    IMPURITY,
    KEY,
    LATER,
    LEAVES,
    LEFT,
    LOW,
    MISSING_LEFT,
    N_LEFT,
    NO_BYTE,
    NODES,
    OPEN,
    PARENT,
    RIGHT,
    SECOND,
    SIGN,
    SLOT,
    START,
    STOP,
    SUMS,
    THRESHOLD,
    TOL,
    TRIED,
    WEIGHT,
)
from ._scan import fill, mix, sort_few, try_bins, try_list
from ._score import add, base, class_impurity, real_impurity

DONE, FULL, WIDE = 0, 1, 2
SAME = 1e-10  # gains closer than this share of the most that can be gained are equal


@njit(cache=True, nogil=True, error_model="numpy")
def open_node(P, lists, t0, y, w, node, N, R, medians):
    """Sums and impurity of a node, and whether it may be split."""
    start, stop, W, r = N[node, START], N[node, STOP], 0.0, R[node]
    for k in range(SUMS, r.size):
        r[k] = 0.0
    if medians is not None:
        acc = 0.0
        for o in range(P.m):
            ranked, rank = lists[t0 + o], lists[t0 + P.m + o]
            for i in range(start, stop):
                rank[ranked[i]] = i - start
            r[SUMS + o], error, W = weighted_median(ranked, start, stop, y, o, w)
            acc += error
        r[IMPURITY], r[BASE], r[WEIGHT] = acc / (W * P.m), acc, W
    else:
        rows = lists[0]
        for i in range(start, stop):
            W += add(P.is_class, P.one, y, w, rows[i], r, SUMS)
        r[WEIGHT] = W
        if P.is_class:
            r[IMPURITY] = class_impurity(P.kind, P.one, P.m, r)
        else:
            r[IMPURITY] = real_impurity(P.kind, y, w, rows, start, stop, r)
        r[BASE] = base(P.kind, P.m, r)
    r[TOL] = SAME * W * r[IMPURITY]
    N[node, LEFT] = N[node, RIGHT] = N[node, FEATURE] = N[node, HIST] = -1
    n = stop - start
    ready = n >= P.min_split and n >= 2 * P.min_leaf and 2 * P.min_weight <= W
    ready = ready and N[node, DEPTH] < P.max_depth and r[IMPURITY] > 0.0
    N[node, OPEN] = 1 if ready else 0


@njit(cache=True, nogil=True, error_model="numpy")
def part(rows, start, stop, side, spare):
    """Part a slice by side (1: left), keeping the order on both sides."""
    i, j = start, 0
    for k in range(start, stop):
        r = rows[k]
        left = np.intp(side[r])
        rows[i] = r
        spare[j] = r
        i += left
        j += 1 - left
    for k in range(j):
        rows[i + k] = spare[k]


@njit(cache=True, nogil=True, error_model="numpy")
def mark(x, codes, rows, side, slot, node, N, R):
    """Write into `side` which rows of a node go left."""
    missing, v, c = np.uint8(N[node, MISSING_LEFT]), R[node, THRESHOLD], N[node, CODE]
    for i in range(N[node, START], N[node, STOP]):
        r = rows[i]
        if slot >= 0:
            u = x[slot, r]
            side[r] = missing if np.isnan(u) else np.uint8(u <= v)
        else:
            b = codes[-slot - 1, r]
            side[r] = missing if b == NO_BYTE else np.uint8(b <= c)


@njit(cache=True, nogil=True, error_model="numpy")
def split(P, T, N, R, C, spare, p, medians):
    """Part the rows of node p and open its two children."""
    lists, start, stop, f = T.lists, N[p, START], N[p, STOP], N[p, FEATURE]
    mark(T.x, T.codes, lists[0], T.side, T.meta[f, SLOT], p, N, R)
    a, cut = C[NODES], start + N[p, N_LEFT]
    for t in range(1 if medians is None else P.m + 1):
        part(lists[0 if t == 0 else T.t0 + t - 1], start, stop, T.side, spare)
    N[p, LEFT], N[p, RIGHT] = a, a + 1
    C[PARENT], C[FIRST], C[SECOND] = p, a, a + 1
    C[NODES] += 2
    C[LEAVES] += 1
    for c in range(2):
        node = a + c
        N[node, START], N[node, STOP] = (start, cut) if c == 0 else (cut, stop)
        N[node, DEPTH] = N[p, DEPTH] + 1
        N[node, KEY] = np.int64(mix(N[p, KEY] + c))
        R[node, LOW], R[node, HIGH] = R[p, LOW], R[p, HIGH]
        open_node(P, lists, T.t0, T.y, T.w, node, N, R, medians)
    sign = T.meta[f, SIGN]
    if sign != 0:
        k = SUMS + 1 if P.is_class and not P.one else SUMS
        u, v = R[a, k], R[a + 1, k]
        if medians is None:
            u, v = u / R[a, WEIGHT], v / R[a + 1, WEIGHT]
        lower = a if sign > 0 else a + 1
        R[lower, HIGH] = R[2 * a + 1 - lower, LOW] = 0.5 * (u + v)


@njit(cache=True, nogil=True, error_model="numpy")
def prepare(P, N, C, free, draw):
    """Histograms to keep and features to try for the pending nodes; their rows.

    The larger child takes over its parent's histograms; the smaller one gets some of
    its own if it is large enough to be split much further.
    """
    p, a, rows, small = C[PARENT], C[FIRST], 0, C[FIRST]
    if p >= 0 and N[a, STOP] - N[a, START] > N[a + 1, STOP] - N[a + 1, START]:
        small = a + 1
    if p < 0 or N[p, HIST] >= 0:
        if N[small, OPEN] and N[small, STOP] - N[small, START] >= P.keep:
            C[FREE] -= 1
            N[small, HIST] = free[C[FREE]]
        if p >= 0:
            N[2 * a + 1 - small, HIST] = N[p, HIST]
    C[TRIED] = P.max_features
    for c in range(2):
        node = C[FIRST + c]
        if node < 0 or not N[node, OPEN]:
            continue
        rows += N[node, STOP] - N[node, START]
        if P.max_features < P.d:
            key, perm, use = np.uint64(N[node, KEY]), draw[c, 0], draw[c, 1]
            for f in range(P.d):
                perm[f] = f
            for f in range(P.d):
                key = mix(key)
                j = f + np.int64(key % np.uint64(P.d - f))
                perm[f], perm[j] = perm[j], perm[f]
                use[perm[f]] = 1 if f < P.max_features else 0
    return rows


@njit(cache=True, nogil=True, error_model="numpy")
def less(H, G):
    """H -= G."""
    for b in range(H.shape[0]):
        for k in range(H.shape[1]):
            H[b, k] -= G[b, k]


@njit(cache=True, nogil=True, error_model="numpy")
def search(P, T, N, R, C, pool, draw, best, f0, f1, carry, spare, room, H0,
           medians):  # fmt: skip
    """Features f0 .. f1: part their lists, then try them on the pending nodes.

    `carry`: a feature need only be looked at for what beats the features before it.
    """
    p, a, b, fresh = C[PARENT], C[FIRST], C[SECOND], C[TRIED] == P.max_features
    small = 0
    if b >= 0 and N[a, STOP] - N[a, START] > N[b, STOP] - N[b, START]:
        small = 1
    full0, full1 = not N[a, OPEN], b < 0 or not N[b, OPEN]  # nothing left to gain
    handed = p >= 0 and fresh and N[p, HIST] >= 0 and N[a + 1 - small, OPEN]
    few, listed = np.empty(P.few, np.int32), False  # whether lists must be parted
    top0, top1 = -2.0 * R[a, TOL], -2.0 * R[max(b, 0), TOL]
    for c in range(2):
        if p >= 0 and fresh and N[a + c, OPEN]:
            listed |= N[a + c, STOP] - N[a + c, START] > P.few
    for f in range(f0, f1):
        slot = T.meta[f, SLOT]
        if full0 and full1:
            best[0, f, B_FOUND] = best[1, f, B_FOUND] = 0.0
            continue
        if slot >= 0 and listed:
            part(T.lists[slot + 1], N[p, START], N[p, STOP], T.side, spare)
        for turn in range(2):
            c = small if turn == 0 else 1 - small
            node = a + c
            if c == 1 and b < 0:
                continue
            start, stop, wanted = N[node, START], N[node, STOP], N[node, OPEN]
            best[c, f, B_FOUND] = 0.0
            wanted = wanted and draw[c, 1, f] and not (full1 if c else full0)
            if slot >= 0:
                if wanted:
                    x, rows, u, v = T.x[slot], T.lists[slot + 1], start, stop
                    if stop - start <= P.few:
                        sort_few(x, T.lists[0], start, stop, few)
                        rows, u, v = few, 0, stop - start
                    try_list(P, T.meta[f], x, T.lists, T.t0, start, rows, u, v, T.y,
                             T.z, T.bits, T.w, R[node], N[node, KEY] ^ f, spare, room,
                             best[c, f], top1 if c else top0, medians)  # fmt: skip
            elif wanted or handed:
                j, own = -slot - 1, N[node, HIST] >= 0 and fresh
                H = pool[N[node, HIST], j] if own else H0
                if handed and turn == 1:
                    kept = N[a + small, HIST]
                    less(H, pool[kept, j] if kept >= 0 else H0)
                else:
                    fill(H, T.codes[j], T.lists[0], start, stop, P.is_class, P.one, T.y,
                         T.w)  # fmt: skip
                if wanted:
                    try_bins(P, T.meta[f], T.meta[f, BINS], T.edges[j], H, stop - start,
                             T.w.size > 0, R[node], N[node, KEY] ^ f, room[2],
                             best[c, f], top1 if c else top0)  # fmt: skip
            if wanted and best[c, f, B_FOUND] > 0:
                gain, tol = best[c, f, B_GAIN], R[node, TOL]
                if gain + tol >= R[node, WEIGHT] * R[node, IMPURITY]:
                    # pure children: no later feature does better, and the lists of
                    # this node are not needed again
                    full0, full1 = full0 or c == 0, full1 or c == 1
                if carry and c == 0:
                    top0 = gain
                elif carry:
                    top1 = gain


@njit(cache=True, nogil=True, error_model="numpy")
def choose(P, N, R, C, draw, best):
    """Best feature of each pending node, the lowest one among equals, into FEATURE.

    Returns whether a node has none while features are left: these are drawn next.
    """
    again = False
    for c in range(2):
        node = C[FIRST + c]
        if node < 0 or not N[node, OPEN] or N[node, FEATURE] >= 0:
            continue
        tol, use, f = R[node, TOL], draw[c, 1], -1
        top = -2.0 * tol
        for g in range(P.d):
            if use[g] and best[c, g, B_FOUND] > 0 and best[c, g, B_GAIN] > top + tol:
                f, top = g, best[c, g, B_GAIN]
        if f >= 0:
            N[node, FEATURE] = f
        for g in range(P.d):
            if P.max_features < P.d:
                use[g] = 0
        if f < 0 and C[TRIED] < P.d:
            use[draw[c, 0, C[TRIED]]] = 1
            again = True
    C[TRIED] += 1
    return again


@njit(cache=True, nogil=True, error_model="numpy")
def settle(P, N, R, C, queue, best):
    """Write the splits found into the pending nodes and put these on the frontier."""
    for c in range(1, -1, -1):  # the left child is taken from the stack first
        node = C[FIRST + c]
        if node < 0:
            continue
        f = N[node, FEATURE]
        if f < 0 or best[c, f, B_GAIN] < P.min_gain:
            N[node, OPEN], N[node, FEATURE] = 0, -1
        else:
            record = best[c, f]
            R[node, THRESHOLD], R[node, GAIN] = record[B_THRESHOLD], record[B_GAIN]
            N[node, N_LEFT], N[node, CODE] = int(record[B_N_LEFT]), int(record[B_CODE])
            N[node, MISSING_LEFT] = int(record[B_MISSING_LEFT])
            push(P.best_first, R, C, queue[0], node)
        kept = N[node, OPEN] and N[node, STOP] - N[node, START] >= P.keep
        if N[node, HIST] >= 0 and not kept:
            queue[2, C[FREE]] = N[node, HIST]
            C[FREE] += 1
            N[node, HIST] = -1


@njit(cache=True, nogil=True, error_model="numpy")
def grow(P, T, N, R, C, pool, queue, draw, best, spare, room, H0, medians, back):
    """Split nodes until none is left. `back` says that a WIDE search is done."""
    while True:
        rows = 0
        if not back:
            if C[NODES] == 0:  # the root, whose slice the caller has set
                C[NODES] = C[LEAVES] = 1
                C[PARENT], C[FIRST], C[SECOND] = -1, 0, -1
                open_node(P, T.lists, T.t0, T.y, T.w, C[FIRST], N, R, medians)
            else:
                if C[FRONT] == 0 or C[LEAVES] >= P.max_leaves:
                    return DONE
                if C[NODES] + 2 > N.shape[0]:
                    return FULL
                p = pop(P.best_first, R, C, queue[0])
                if P.defer and (N[p, STOP] - N[p, START]) * P.d < P.wide:
                    queue[1, C[LATER]] = p
                    C[LATER] += 1
                    continue
                split(P, T, N, R, C, spare, p, medians)
            rows = prepare(P, N, C, queue[2], draw)
            if rows and rows * P.d >= P.wide:
                return WIDE
        again = back or rows > 0
        while again:
            if not back:
                search(P, T, N, R, C, pool, draw, best, 0, P.d, True, spare, room, H0,
                       medians)  # fmt: skip
            back = False
            again = choose(P, N, R, C, draw, best)
        settle(P, N, R, C, queue, best)
