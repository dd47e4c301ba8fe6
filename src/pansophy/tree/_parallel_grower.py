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
are described in `_structures.py`: N and R are nodes, C counters, queue is the frontier,
the nodes left for later and the free histograms, draw the features to try. `medians`
is scratch for absolute error and None otherwise, so that other criteria need not wait
for its code to be compiled. In the same way `rare` is None for criteria of squares; F,
the whole numbers of `_histograms.py`, and `spare`, scratch of the other view, are each None
where the other is used; `sets` is None if no column is split by set, and `pool` if none
is held as bytes.
"""

import numpy as np
from numba import njit

from ._category_split import try_set
from ._criteria import SAME, add, base, class_impurity, real_impurity
from ._frontier import pop, settle
from ._histograms import less, search_tile
from ._part import mark, part
from ._quantile_split import middle
from ._scan import draw_one, fill, mix, sort_few, try_bins, try_list
from ._shared_work import TILE, WHAT, move_rows, next_piece, plan_search, share_parting
from ._structures import (
    B_FOUND,
    B_GAIN,
    BASE,
    BINS,
    DEPTH,
    FEATURE,
    FIRST,
    FORM,
    FREE,
    FRONT,
    GROUPS,
    HIGH,
    HIST,
    IMPURITY,
    INNER,
    KEY,
    LATER,
    LEAVES,
    LEFT,
    LEFT_SUM,
    LEFT_WEIGHT,
    LOOP,
    LOW,
    N_LEFT,
    NEWTON,
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
    TOL,
    TRIED,
    WEIGHT,
)

DONE, FULL, WIDE = 0, 1, 2
LEAD, BACK, HAND = 0, 1, 2  # who calls: anew, or when a WIDE search is done; to help


@njit(**INNER)
def open_node(P, lists, t0, y, w, node, N, R, spare, medians, rare):
    """Sums (unless known) and impurity of a node, and whether it may be split."""
    start, stop, W, r = N[node, START], N[node, STOP], 0.0, R[node]
    if medians is not None:
        acc = 0.0
        for o in range(P.m):
            ranked, rank = lists[t0 + o], lists[t0 + P.m + o]
            for i in range(start, stop):
                rank[ranked[i]] = i - start
            r[SUMS + o], error, W = middle(P, ranked, start, stop, y, o, w)
            acc += error
        r[IMPURITY], r[BASE], r[WEIGHT] = acc / (W * P.m), acc, W
    else:
        rows, W = lists[0], r[WEIGHT]
        if spare is not None:  # the sums are not known
            W = 0.0
            for k in range(SUMS, r.size):
                r[k] = 0.0
            if P.one:  # sums in registers: a call per row would cost ten times that
                acc = 0.0
                for i in range(start, stop):
                    q = rows[i]
                    wq = w[q] if w.size else 1.0
                    W += wq
                    acc += wq * y[q, 0]
                r[SUMS] = acc
            else:
                for i in range(start, stop):
                    W += add(P, y, w, rows[i], r, np.intp(SUMS))
            r[WEIGHT] = W
        r[IMPURITY] = 0.0  # that of Newton's steps, where y may be None
        if y is not None and P.kind != NEWTON:
            if P.is_class:
                r[IMPURITY] = class_impurity(P.kind, P.one, P.m, r, rare)
            else:
                r[IMPURITY] = real_impurity(P.kind, y, w, rows, start, stop, r, rare)
        r[BASE] = base(P, r, rare)
    r[TOL] = SAME * (P.unit * (W + P.l2) if P.kind == NEWTON else W * r[IMPURITY])
    N[node, LEFT] = N[node, RIGHT] = N[node, FEATURE] = N[node, HIST] = -1
    n = stop - start
    ready = n >= P.min_split and n >= 2 * P.min_leaf and 2 * P.min_weight <= W
    ready = ready and N[node, DEPTH] < P.max_depth
    ready = ready and (P.kind == NEWTON or r[IMPURITY] > 0.0)
    N[node, OPEN] = 1 if ready else 0


@njit(**INNER)
def split(P, T, F, N, R, S, C, spare, p, medians, rare):
    """Part the rows of node p and open its two children."""
    lists, start, stop, f = T.lists, N[p, START], N[p, STOP], N[p, FEATURE]
    a, cut = C[NODES], start + N[p, N_LEFT]
    if spare is not None:
        mark(T.x, T.codes, lists[0], T.side, T.meta[f, SLOT], p, N, R, S)
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
        N[node, KEY] = np.int64(mix(np.uint64(N[p, KEY] + c)))
        R[node, LOW], R[node, HIGH] = R[p, LOW], R[p, HIGH]
        for k in range(T.member.shape[1]):
            S[node, GROUPS + k] = S[p, GROUPS + k] & T.member[f, k]
        if F is not None:
            u, v = R[p, LEFT_SUM], R[p, LEFT_WEIGHT]
            R[node, SUMS] = R[p, SUMS] - u if c else u
            R[node, WEIGHT] = R[p, WEIGHT] - v if c else v
        open_node(P, lists, T.t0, T.y, T.w, node, N, R, spare, medians, rare)
        if C[LEAVES] >= P.max_leaves:
            N[node, OPEN] = 0
    sign = T.meta[f, SIGN]
    if sign != 0:
        k = SUMS + 1 if P.is_class and not P.one else SUMS
        u, v = R[a, k], R[a + 1, k]
        if medians is None:
            u, v = u / (R[a, WEIGHT] + P.l2), v / (R[a + 1, WEIGHT] + P.l2)
        lower = a if sign > 0 else a + 1
        R[lower, HIGH] = R[2 * a + 1 - lower, LOW] = 0.5 * (u + v)


@njit(**INNER)
def allowed(S, member, node, f):
    """Whether feature f shares an open group with the features above the node."""
    for k in range(member.shape[1]):
        if S[node, GROUPS + k] & member[f, k]:
            return True
    return member.shape[1] == 0


@njit(**INNER)
def prepare(P, N, S, member, C, free, draw):
    """Histograms to keep and features to try for the pending nodes; their rows.

    The larger child takes over its parent's histograms; the smaller one gets some of
    its own if it is large enough to be split much further.
    """
    p, a, rows, small = C[PARENT], C[FIRST], 0, C[FIRST]
    if p >= 0 and N[a, STOP] - N[a, START] > N[a + 1, STOP] - N[a + 1, START]:
        small = a + 1
    if p < 0 or N[p, HIST] >= 0:
        large = N[small, STOP] - N[small, START] >= P.keep
        if N[small, OPEN] and large and C[FREE] > 0:
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
        if P.max_features < P.d or member.shape[1]:
            key, perm, use = np.uint64(N[node, KEY]), draw[c, 0], draw[c, 1]
            m = np.intp(0)
            for f in range(P.d):
                perm[f], use[f] = -1, 0
                if allowed(S, member, node, f):
                    perm[m] = f
                    m += 1
            for f in range(min(m, P.max_features)):
                draw_one(key, perm, f, m)
                use[perm[f]] = 1
    return rows


@njit(**LOOP)
def search(P, T, N, R, C, pool, draw, best, sets, f0, f1, carry, spare, room, H0,
           medians, rare):  # fmt: skip
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
    least = 0.0 if P.kind == NEWTON else -2.0  # boosting splits for a gain only
    top0, top1 = least * R[a, TOL], least * R[max(b, 0), TOL]
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
                             T.z, T.bits, T.sums, T.w, R[node], N[node, KEY] ^ f,
                             spare, room, best[c, f], top1 if c else top0, medians,
                             rare)  # fmt: skip
            elif pool is not None and (wanted or handed):
                j, own = -slot - 1, N[node, HIST] >= 0 and fresh
                H = pool[N[node, HIST], j] if own else H0
                if handed and turn == 1:
                    kept = N[a + small, HIST]
                    less(H, pool[kept, j] if kept >= 0 else H0)
                else:
                    fill(P, H, T.codes, j, T.lists[0], start, stop, T.y, T.w)
                if wanted and T.meta[f, FORM] == 0:
                    try_bins(P, T.meta[f], T.meta[f, BINS], T.edges[j], H, stop - start,
                             T.w.size > 0, R[node], N[node, KEY] ^ f, room[2],
                             best[c, f], top1 if c else top0, rare)  # fmt: skip
                elif wanted and sets is not None:
                    try_set(P, T.meta[f, FORM], T.meta[f, BINS], H, stop - start,
                            T.w.size > 0, R[node], N[node, KEY] ^ f, room[2],
                            best[c, f], top1 if c else top0, sets[c, f],
                            rare)  # fmt: skip
            if wanted and best[c, f, B_FOUND] > 0:
                gain, tol = best[c, f, B_GAIN], R[node, TOL]
                most = R[node, WEIGHT] * R[node, IMPURITY]
                if P.kind != NEWTON and gain + tol >= most:
                    # pure children: no later feature does better, and the lists of
                    # this node are not needed again
                    full0, full1 = full0 or c == 0, full1 or c == 1
                if carry and c == 0:
                    top0 = gain
                elif carry:
                    top1 = gain


@njit(**INNER)
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
        top = 0.0 if P.kind == NEWTON else -2.0 * tol
        for g in range(P.d):
            if use[g] and best[c, g, B_FOUND] > 0 and best[c, g, B_GAIN] > top + tol:
                f, top = g, best[c, g, B_GAIN]
        if f >= 0:
            N[node, FEATURE] = f
        for g in range(P.d):
            if P.max_features < P.d:
                use[g] = 0
        if f < 0 and C[TRIED] < P.d and draw[c, 0, C[TRIED]] >= 0:
            perm, m = draw[c, 0], P.d
            while perm[m - 1] < 0:  # features that may not be tried here
                m -= 1
            draw_one(np.uint64(N[node, KEY]), perm, C[TRIED], m)
            use[perm[C[TRIED]]] = 1
            again = True
    C[TRIED] += 1
    return again


@njit(**LOOP)
def grow(P, T, F, N, R, S, C, pool, queue, draw, best, sets, spare, room, H0, medians,
         rare, role):  # fmt: skip
    """Split nodes until none is left, or help the thread that does.

    One function for both, and large ones called in one place, are compiled once.
    """
    back, hand = role == BACK, role == HAND
    while True:
        rows = 0
        if role == LEAD:
            if C[NODES] == 0:
                C[NODES] = C[LEAVES] = 1  # the root, whose slice the caller has set
                C[PARENT], C[FIRST], C[SECOND] = -1, 0, -1
                open_node(P, T.lists, T.t0, T.y, T.w, C[FIRST], N, R, spare, medians,
                          rare)  # fmt: skip
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
                if F is not None:
                    share_parting(F, T, N, S, p)
                split(P, T, F, N, R, S, C, spare, p, medians, rare)
            rows = prepare(P, N, S, T.member, C, queue[2], draw)
            if F is None and rows and rows * P.d >= P.wide:
                return WIDE
        again = rows > 0 or role != LEAD
        while again:
            if spare is not None and not back:
                search(P, T, N, R, C, pool, draw, best, sets, np.intp(0), P.d,
                       np.bool_(True), spare, room, H0, medians, rare)  # fmt: skip
            if F is not None:
                if not hand:
                    plan_search(F, N, C, P.d, T.codes.shape[0])
                k = next_piece(F.head, F.board, np.intp(-1), hand)
                while k >= 0:
                    if F.head[WHAT] == TILE:
                        search_tile(P, F, T, N, R, C, pool, draw, best, sets, k, room,
                                    H0)  # fmt: skip
                    else:
                        move_rows(F, T, N, C, P.d, k)
                    k = next_piece(F.head, F.board, k, hand)
            if hand:
                return DONE
            back = False
            again = choose(P, N, R, C, draw, best)
        role = LEAD
        settle(P, T.meta, N, R, S, C, queue, best, sets)
