"""Compiled search for the best split of one node along one feature.

Every function here sees the rows of a node in the order of one column and looks at the
places between different values, left to right, with missing values on the right and
then on the left. A place must beat the best so far by the node's tolerance to be taken,
so that rounding never decides between equal splits. They differ in how the order is
made, which is what the search of a node costs:

- `best_split_of_list`: the rows are kept sorted by the column (the parallel grower);
- `best_split_of_histogram`, `best_split_of_counts`: sums by byte code, in float64 for M
  sums and in fixed point for one (nodes of many rows);
- `best_split_of_few`, `best_place_of_ordered`: the bytes of a small node are ranked, or
  counted, for one sum and for M (the serial grower);
- `random_split_of_bytes`, `random_split_of_values`, `random_split_of_sums`: a threshold
  drawn between the extremes needs no order at all.

`search_single_sum` and `search_several_sums` try some features on a node of the serial
grower. With several sums the gain of classes is, by eq. (2) of `criteria.py`,

    |u|^2 / W_l + |s - u|^2 / W_r - |s|^2 / W,    |s - u|^2 = |s|^2 - 2 s.u + |u|^2,

and |u|^2 and s.u follow a row that joins the left side in a few operations, however
many classes there are.
"""

import numpy as np

from ...core._random import splitmix64
from ...core.loops._intrinsics import add_pair, trailing_zeros
from ...core.loops.compiled import (
    FASTMATH,
    FASTMATH_NO_NAN,
    FASTMATH_ORDERED_NO_NAN,
    compiled,
)
from ._criteria import SLIVER, TINY, add_row, keeps_order, split_allowed, split_score
from ._histograms import fill_gathered_histogram
from ._quantile_split import scan_quantiles
from ._structures import (
    CHUNK,
    COUNT_BITS,
    MISSING_CODE,
    NEWTON,
    SQUARE,
    UNASKED,
    NodeStats,
    Scan,
)

SALT = np.uint64(0xD1B54A32D192ED03)  # keeps draws of values and features apart
SHORT = 32  # places up to which a scan goes one by one
COUNT = (1 << COUNT_BITS) - 1
LIFT = 1.5 * 2.0**52
LIFT_BITS = 0x4338000000000000  # a float64 and its bits
FEW, FEW_BITS = 16, 4  # rows up to which bytes are ranked by comparing them all
MANY_SINGLE = 128  # rows from which all bins are looked at, where one sum is kept
MANY_SUMS = 160  # rows from which a histogram of M sums is cheaper than an order
SOME_CLASSES = 8  # classes up to which each is counted by itself


# ---- random draws


@compiled(inner=True, inline="always")
def uniform_between(key, a, b):
    """A random number from a to below b, and the key of further draws."""
    key = splitmix64(np.uint64(key) ^ SALT)
    v = a + float(key >> np.uint64(11)) / 9007199254740992.0 * (b - a)
    return (v if v < b else a), splitmix64(key)


@compiled(inner=True, forceinline=True)
def draw_feature(key, order, f, m):
    """Swap one of order[f], ..., order[m - 1], all alike, to place f; its old place."""
    z = splitmix64(key + np.uint64(f)) >> np.uint64(32)
    j = f + np.int64((z * np.uint64(m - f)) >> np.uint64(32))
    order[f], order[j] = order[j], order[f]
    return j


# ---- rows kept in a sorted list


@compiled(inner=True, fastmath=FASTMATH_NO_NAN)
def scan_single_sum(scan, rows, x, z, w, node, u, wl, bar, tol, room):
    """The best place where one sum is all the criterion needs, eq. (2).

    In chunks: running sums first, then all scores of the chunk at once (which the
    compiler does several at a time), then a look only if the chunk has a better one;
    whether two values differ is asked last. z are whole numbers if weights are all 1
    and targets 0 or 1. A short scan goes place by place. Returns the place (-1 for
    none) and its score without W.
    """
    W = node.weight
    start = scan.start
    stop = scan.end
    first = scan.first
    last = scan.last
    mean = node.sums[0] / W
    floor = SLIVER * W
    at = -1
    top = 0.0
    i = start
    ties = scan.ties
    T = room[0]
    Q = room[1]
    if last - start < SHORT and not w.size:
        for i in range(start, last + 1):
            u += z[rows[i]]
            wl += 1.0
            t = u - mean * wl
            t = t * t / (wl * (W - wl))
            if t <= bar or i < first:
                continue
            if not ties or i + 1 >= stop or x[rows[i]] != x[rows[i + 1]]:
                at = i
                top = t
                bar = t + tol
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
                        at = k
                        top = T[j]
                        bar = T[j] + tol
        i += m
    return at, top


@compiled(inner=True, forceinline=True, fastmath=FASTMATH)
def scan_sums(plan, scan, rows, x, y, w, node, u, wl, bar, other):
    """The best place for any criterion made of sums. Returns place and gain."""
    at, top = -1, 0.0
    for i in range(scan.start, scan.last + 1):
        r = rows[i]
        wl += add_row(plan, y, w, r, u, np.intp(0))
        equal = scan.ties and i + 1 < scan.end and x[r] == x[rows[i + 1]]
        if i < scan.first or equal:
            continue
        if plan.constrained and not split_allowed(plan, scan.sign, node, u, wl):
            continue
        gain = plan.scale * split_score(plan, u, wl, node, other)
        if gain > bar:
            at = i
            top = gain
            bar = gain + node.tolerance
    return at, top


@compiled(inner=True, forceinline=True)
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


@compiled(inner=True)
def sort_few_rows(x, rows, start, stop, few):
    """The rows of a small node sorted by x into `few`, missing values last."""
    for i in range(stop - start):
        r = rows[start + i]
        v = x[r]
        j = i
        while j > 0 and not (x[few[j - 1]] <= v) and not np.isnan(v):
            few[j] = few[j - 1]
            j -= 1
        few[j] = r


@compiled(inner=True, forceinline=True)
def best_split_of_list(
    plan, data, f, span, rows, node, scratch, best, weighted_y, binary_y, medians, other
):
    """The best split along a feature whose rows are listed in order, into `best`.

    Only one that gains more than best.gain by the tolerance counts. `span` is where the
    node begins in the lists by target, and where its rows start and stop in `rows`.
    One of weighted_y, binary_y and `medians`, or none (then the targets), says how rows
    are added up; the others are None.
    """
    line, room = scratch
    head, start, stop = span
    column = data.properties[f]
    x = data.x[column.slot]
    y = data.y
    w = data.w
    tol = node.tolerance
    n = stop - start
    end = stop
    best.found = 0
    if column.has_missing:
        end = last_at_most(x, rows, start, stop, np.inf) + 1
    m = stop - end  # missing values
    if m == n:
        return
    sign = column.sign
    ties = column.has_ties > 0
    v = 0.0
    pick = -1
    side0 = 0
    sides = 2 if m else 1
    if plan.random:
        a, b = np.float64(x[rows[start]]), np.float64(x[rows[end - 1]])
        v, key = uniform_between(node.key ^ f, a, b)
        pick = last_at_most(x, rows, start, end, v)
        if m:  # one value against the missing ones: these go right
            side0 = np.int64(key & np.uint64(1)) if a < b else 0
            sides = side0 + 1
    u = room[2]
    for side in range(side0, sides):
        n0 = m if side else 0  # missing rows that start on the left
        first = start + max(plan.min_leaf - n0 - 1, 0)
        last = start + n - plan.min_leaf - n0 - 1
        last = min(last, end - 1 if m and not side else end - 2)
        if plan.random:
            first, last = max(first, pick), min(last, pick)
        if first > last:
            continue
        bar = best.gain + tol
        wl = 0.0
        at = -1
        gain = 0.0
        c = plan.scale * node.weight  # of scores along one sum
        scan = Scan(head, start, end, stop, first, last, ties, sign, side)
        for k in range(node.sums.size):
            u[k] = 0.0
        for i in range(end, stop if side else end):
            wl += add_row(plan, y, w, rows[i], u, np.intp(0))
        if medians is not None:
            at, gain = scan_quantiles(
                plan, data, scan, rows, x, node, line, medians, bar
            )
        if binary_y is not None:
            at, gain = scan_single_sum(
                scan,
                rows,
                x,
                binary_y,
                w,
                node,
                np.int64(u[0]),
                wl,
                bar / c,
                tol / c,
                room,
            )
            gain *= c
        if weighted_y is not None:
            at, gain = scan_single_sum(
                scan, rows, x, weighted_y, w, node, u[0], wl, bar / c, tol / c, room
            )
            gain *= c
        if medians is None:  # noqa: SIM102  None alone leaves code out
            if binary_y is None:  # noqa: SIM102
                if weighted_y is None:
                    at, gain = scan_sums(
                        plan, scan, rows, x, y, w, node, u, wl, bar, other
                    )
        if at < 0:
            continue
        best.gain = gain
        best.found = 1
        best.n_left = at - start + 1 + n0
        best.missing_left = side if m else UNASKED
        if plan.random:
            best.threshold = v
        elif at == end - 1:
            best.threshold = np.inf
        else:
            best.threshold = x[rows[at]] / 2.0 + x[rows[at + 1]] / 2.0


# ---- histograms of M sums


@compiled(inner=True)
def best_split_of_histogram(
    plan, column, f, edges, H, n, weighted, node, u, best, other
):
    """The best split along a feature whose histogram is given, into `best`."""
    low = edges[0]
    high = edges[1]
    wk = 1 if weighted else 0
    nb = column.n_bins
    best.found = 0
    a = 0
    b = nb - 1
    m = np.int64(H[MISSING_CODE, 0])
    while a < nb and H[a, 0] == 0.0:
        a += 1
    while b > a and H[b, 0] == 0.0:
        b -= 1
    if a == nb or (m == 0 and a == b):
        return
    side0 = 0
    sides = 2 if m else 1
    v = 0.0
    M = node.sums.size
    if plan.random:
        v, key = uniform_between(node.key ^ f, np.float64(low[a]), np.float64(high[b]))
        if m:
            side0 = np.int64(key & np.uint64(1)) if a < b else 0
            sides = side0 + 1
    for side in range(side0, sides):
        left, wl = 0, 0.0
        for k in range(M):
            u[k] = H[MISSING_CODE, 2 + k] if side else 0.0
        if side:
            left = m
            wl = H[MISSING_CODE, wk]
        at = a
        bar = best.gain + node.tolerance
        for c in range(a + 1, b + 2):  # the place between bin `at` and bin c
            if c <= b and H[c, 0] == 0.0:
                continue
            left += np.int64(H[at, 0])
            wl += H[at, wk]
            for k in range(M):
                u[k] += H[at, 2 + k]
            if c > b and (side or not m or (plan.random and a < b)):
                break
            ok = left >= plan.min_leaf and n - left >= plan.min_leaf
            if plan.random:
                ok = ok and low[at] <= v and (c >= b or low[c] > v)
            if ok and (
                not plan.constrained or split_allowed(plan, column.sign, node, u, wl)
            ):
                gain = plan.scale * split_score(plan, u, wl, node, other)
                if gain > bar:
                    bar = gain + node.tolerance
                    best.gain = gain
                    best.found = 1
                    best.code = at
                    best.n_left = left
                    best.missing_left = side if m else UNASKED
                    if plan.random and high[at] <= v and (c > b or v < low[c]):
                        best.threshold = v
                    elif c > b:
                        best.threshold = np.inf
                    else:
                        best.threshold = high[at] / 2.0 + low[c] / 2.0
            at = c


# ---- histograms of one sum in fixed point


@compiled(inner=True)
def running_counts(H, nb, u, h, shift, T):
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


@compiled(inner=True)
def greatest_score(S, n):
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


@compiled(inner=True, fastmath=FASTMATH_ORDERED_NO_NAN)
def score_bins(plan, fixed, nb, n, node, T):
    """Scores of the places that `running_counts` prepared into T[0]; the greatest one.

    A place that leaves too little on a side scores -1.
    """
    S = T[0]
    A = T[1]
    B = T[2]
    D = T[3]
    W = node.weight
    s = node.sums[0]
    unit_z = fixed.unit_z
    unit = fixed.unit_h if fixed.weighted else 1.0
    least, rest = np.float64(plan.min_leaf), np.float64(n - plan.min_leaf)
    mass = plan.min_weight
    if plan.kind == NEWTON:
        l2 = plan.l2
        base = node.base
        for c in range(nb):
            u = (A[c] - LIFT) * unit_z
            k = B[c] - LIFT
            wl = (D[c] - LIFT) * unit
            wr = W - wl
            ok = (k >= least) & (k <= rest) & (wl >= mass) & (wr >= mass)
            hl = max(wl + l2, TINY)
            hr = max(wr + l2, TINY)
            v = s - u
            v = (u * u * hr + v * v * hl) / (hl * hr) - base
            S[c] = v if ok else -1.0
    else:
        mean = s / W
        floor = SLIVER * W
        scale = W * plan.scale
        for c in range(nb):
            u = (A[c] - LIFT) * unit_z
            k = B[c] - LIFT
            wl = (D[c] - LIFT) * unit
            wr = W - wl
            ok = (k >= least) & (k <= rest) & (wl >= mass) & (wr >= mass)
            v = u - mean * wl
            v = scale * (v * v) / (max(wl, floor) * max(wr, floor))
            S[c] = v if ok else -1.0
    return greatest_score(S, nb)


@compiled(inner=True)
def best_split_of_counts(plan, fixed, column, edges, H, n, node, best, T):
    """The best split by threshold of one column of fixed-point bins, into `best`.

    `column` is its COLUMN record, `edges` are those of its bins.
    """
    nb = column.n_bins
    sign = column.sign
    tol = node.tolerance
    m = np.int64(H[MISSING_CODE, 1] & COUNT)
    shift, unit = (COUNT_BITS, fixed.unit_h) if fixed.weighted else (0, 1.0)
    best.found = 0
    for side in range(2 if m else 1):
        u = H[MISSING_CODE, 0] if side else 0
        h = H[MISSING_CODE, 1] if side else 0
        bar = best.gain + tol
        at = -1
        running_counts(H, nb, u, h, shift, T)
        most = score_bins(plan, fixed, nb, n, node, T)
        if not most > bar:
            continue
        if not sign:  # the first of those that equal the best
            at, bar = 0, max(bar, most - tol)
            while not T[0, at] > bar and T[0, at] < most:
                at += 1
        for c in range(nb if sign else 0):
            if T[0, c] > bar:
                ul, wl = (T[1, c] - LIFT) * fixed.unit_z, (T[3, c] - LIFT) * unit
                right = (node.sums[0] - ul) / (node.weight - wl + plan.l2)
                if keeps_order(sign, node, ul / (wl + plan.l2), right):
                    at = c
                    bar = T[0, c] + tol
        if at < 0:
            continue
        after = at + 1
        while after < nb and H[after, 1] & COUNT == 0:
            after += 1
        best.gain = T[0, at]
        best.found = 1
        best.code = at
        best.n_left = np.int64(T[2, at] - LIFT)
        best.left_sum = (T[1, at] - LIFT) * fixed.unit_z
        best.left_weight = (T[3, at] - LIFT) * unit
        best.missing_left = side if m else UNASKED
        best.threshold = np.inf
        if after < nb:
            best.threshold = edges[1, at] / 2.0 + edges[0, after] / 2.0


# ---- the bytes of a small node in order


@compiled(inner=True, forceinline=True)
def rank_few(codes, f, rows, start, n, keys, ranks, order):
    """Up to FEW rows of a node in the order of their bytes; how many are missing.

    The place of a row is the number of smaller keys, byte and number of the row; all
    are compared at once. keys[order[k]] >> FEW_BITS is the byte at place k.
    """
    missing = 0
    for i in range(FEW):
        keys[i] = 0xFFFF
        ranks[i] = 0
    for i in range(n):
        b = np.int64(codes[f, rows[start + i]])
        missing += b == MISSING_CODE
        keys[i] = (b << FEW_BITS) | i
    for j in range(n):
        key = keys[j]
        for i in range(FEW):
            ranks[i] += np.uint16(keys[i] > key)
    for i in range(n):
        order[np.int64(ranks[i])] = i
    return missing


@compiled(inner=True, forceinline=True)
def middle_of_bins(edges, f, at, after):
    """The threshold between two bins; after < 0: missing values alone."""
    if after < 0:
        return np.inf
    return edges[f, 1, at] / 2.0 + edges[f, 0, after] / 2.0


# ---- one sum, in fixed point


@compiled(inner=True, inline="always")
def fixed_weight(h, weighted, unit_h):
    """The weight that a fixed-point word stands for."""
    return (h >> COUNT_BITS) * unit_h if weighted else np.float64(h & COUNT)


@compiled(inner=True, inline="always")
def gain_at(node, z, h):
    """Gain of a place with fixed-point sums z, h on the left; -1 if it is forbidden."""
    left = h & COUNT
    if left < node.min_leaf or node.n - left < node.min_leaf:
        return -1.0
    wl = fixed_weight(h, node.weighted, node.unit_h)
    wr = node.weight - wl
    if wl < node.min_weight or wr < node.min_weight:
        return -1.0
    v = z * node.unit_z - node.mean * wl
    return node.factor * (v * v) / (max(wl, node.floor) * max(wr, node.floor))


@compiled(inner=True, inline="always")
def record_split(split, gain, f, code, missing_left, z, h, threshold):
    """Remember the best split so far."""
    split.gain = gain
    split.feature = f
    split.code = code
    split.missing_left = missing_left
    split.left_z = z
    split.left_h = h
    split.threshold = threshold


@compiled(inner=True, forceinline=True)
def sum_few(node, codes, f, rows, line, keys, ranks, order, bins, sums):
    """Bins of up to FEW rows in order, and the fixed-point sums up to each.

    Returns how many bins there are without missing values.
    """
    missing = rank_few(codes, f, rows, node.start, node.n, keys, ranks, order)
    K = -1
    last = -1
    z = 0
    h = 0
    for k in range(node.n - missing):
        i = np.int64(order[k])
        b = np.int64(keys[i]) >> FEW_BITS
        K += b != last
        last = b
        z += line[0, node.start + i]
        h += line[1, node.start + i]
        bins[K], sums[1, K], sums[2, K] = b, z, h
    return K + 1


@compiled(inner=True, forceinline=True)
def sum_some(node, codes, f, rows, line, flat, seen, bins, sums):
    """Sums by byte for many rows, then the bytes that occur, in order."""
    for i in range(node.start, node.start + node.n):
        b = np.intp(codes[f, rows[i]])
        add_pair(flat, 2 * b, line[0, i], line[1, i])
        seen[b >> 6] |= np.uint64(1) << np.uint64(b & 63)
    flat[2 * MISSING_CODE] = flat[2 * MISSING_CODE + 1] = 0
    seen[3] &= ~(np.uint64(1) << np.uint64(63))
    K = 0
    z = 0
    h = 0
    for k in range(4):
        word = seen[k]
        seen[k] = 0
        while word:
            b = 64 * k + trailing_zeros(word)
            word &= word - np.uint64(1)
            z += flat[2 * b]
            h += flat[2 * b + 1]
            flat[2 * b] = flat[2 * b + 1] = 0
            bins[K], sums[1, K], sums[2, K] = b, z, h
            K += 1
    return K


@compiled(inner=True, forceinline=True)
def score_few(node, K, z0, h0, scores, sums):
    """Gains of K places into scores[0], -1 where one is forbidden; the greatest one."""
    most = -1.0
    least = node.min_leaf
    rest = node.n - node.min_leaf
    for k in range(K):
        h = sums[2, k] + h0
        left = h & COUNT
        wl = fixed_weight(h, node.weighted, node.unit_h)
        v, wr = (sums[1, k] + z0) * node.unit_z - node.mean * wl, node.weight - wl
        ok = (left >= least) & (left <= rest)
        ok &= (wl >= node.min_weight) & (wr >= node.min_weight)
        v = node.factor * (v * v) / (max(wl, node.floor) * max(wr, node.floor))
        scores[0, k] = v if ok else -1.0
    for k in range(K):
        most = scores[0, k] if scores[0, k] > most else most
    return most


@compiled(inner=True, forceinline=True)
def best_split_of_few(node, edges, f, K, bins, scores, sums, split):
    """The best place between K bins of a small node, missing values on both sides."""
    if K == 0:
        return
    tol = node.tolerance
    missing_z, missing_h = node.z - sums[1, K - 1], node.h - sums[2, K - 1]
    m = missing_h & COUNT
    for side in range(2 if m else 1):
        z0, h0 = (missing_z, missing_h) if side else (0, 0)
        most = score_few(node, K if m and not side else K - 1, z0, h0, scores, sums)
        if not most > split.gain + tol:
            continue
        k = 0
        bar = max(split.gain + tol, most - tol)
        while not scores[0, k] > bar and scores[0, k] < most:
            k += 1
        after = bins[k + 1] if k + 1 < K else -1
        record_split(
            split,
            scores[0, k],
            f,
            bins[k],
            side if m else UNASKED,
            sums[1, k] + z0,
            sums[2, k] + h0,
            middle_of_bins(edges, f, bins[k], after),
        )


@compiled(inner=True, forceinline=True)
def best_split_of_many(plan, fixed, node, data, codes, f, scratch, split):
    """All bins of a column of a node of many rows."""
    line = fixed.gathered
    flat = scratch.flat
    own_sums = scratch.stats
    for i in range(node.start, node.start + node.n):
        add_pair(flat, 2 * np.intp(codes[f, data.rows[i]]), line[0, i], line[1, i])
    own_sums[0] = node.total
    stats = NodeStats(
        node.weight, 0.0, 0.0, node.tolerance, 0.0, 0.0, node.key, own_sums
    )
    best_split_of_counts(
        plan,
        fixed,
        data.properties[f],
        data.edges[f],
        scratch.cells,
        node.n,
        stats,
        split,
        scratch.scores,
    )
    for k in range(flat.size):
        flat[k] = 0
    if split.found:
        split.feature = f
        split.left_h = split.n_left
        if node.weighted:
            split.left_h |= np.int64(split.left_weight / node.unit_h) << COUNT_BITS
        split.left_z = np.int64(split.left_sum / node.unit_z)


# ---- random thresholds


@compiled(inner=True, forceinline=True)
def byte_extremes(codes, f, rows, start, n, near):
    """Bytes of a column side by side, the least and the greatest, and those missing."""
    low = np.uint8(255)
    high = np.uint8(0)
    m = 0
    for i in range(n):
        near[i] = codes[f, rows[start + i]]
    for i in range(n):
        low = min(low, near[i])
        high = max(high, near[i])
    if high < MISSING_CODE:
        return np.int64(low), np.int64(high), 0
    top = -1
    for i in range(n):
        gone = near[i] == MISSING_CODE
        m += gone
        top = max(top, -1 if gone else np.int64(near[i]))
    return np.int64(low), top, m


@compiled(inner=True, forceinline=True)
def value_extremes(x, f, missing, rows, start, n, near):
    """Values of a column side by side, the least and the greatest, and those missing.

    Four at a time: one after the other each comparison would wait for the one before.
    """
    big = np.float32(np.inf)
    m = 0
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


@compiled(inner=True, forceinline=True)
def bin_at_most(edges, f, low, high, v):
    """The last bin from `low` to below `high` that begins at most at v."""
    most = low
    above = max(high, low + 1)
    while above - most > 1:
        mid = (most + above) // 2
        if edges[f, 0, mid] <= v:
            most = mid
        else:
            above = mid
    return most


@compiled(inner=True, forceinline=True)
def drawn_threshold(edges, f, near, n, low, high, most, v):
    """The last bin of the left side that has rows, and the threshold after it."""
    at = low
    after = 256
    for i in range(n):
        b = np.int64(near[i])
        at, after = max(at, b if b <= most else low), min(after, b if b > most else 256)
    after = -1 if low == high else after
    if edges[f, 1, at] <= v and (after < 0 or v < edges[f, 0, after]):
        return at, v
    return at, middle_of_bins(edges, f, at, after)


@compiled(inner=True, forceinline=True)
def random_split_of_bytes(node, edges, codes, f, rows, line, near, split):
    """A threshold drawn evenly between the extremes of the bins."""
    start = node.start
    low, high, m = byte_extremes(codes, f, rows, start, node.n, near)
    if high < 0 or (low == high and m == 0):
        return
    a, b = np.float64(edges[f, 0, low]), np.float64(edges[f, 1, high])
    v, key = uniform_between(node.key ^ f, a, b)
    side = np.int64(key & np.uint64(1)) if m and low < high else 0
    most = bin_at_most(edges, f, low, high, v)
    z = 0
    h = 0
    limit = np.uint8(most)
    lost = np.uint8(MISSING_CODE if side else most)
    for i in range(node.n):
        goes = (near[i] <= limit) | (near[i] == lost)
        z += line[0, start + i] if goes else 0
        h += line[1, start + i] if goes else 0
    gain = gain_at(node, z, h)
    if not gain > split.gain + node.tolerance:
        return
    at, cut = drawn_threshold(edges, f, near, node.n, low, high, most, v)
    record_split(split, gain, f, at, side if m else UNASKED, z, h, cut)


@compiled(inner=True, forceinline=True)
def random_split_of_values(node, x, f, missing, rows, line, near, split):
    """A threshold drawn evenly between the extremes of the values."""
    start = node.start
    low, high, m = value_extremes(x, f, missing, rows, start, node.n, near)
    if m == node.n or (low == high and m == 0):
        return
    v, key = uniform_between(node.key ^ f, np.float64(low), np.float64(high))
    side = np.int64(key & np.uint64(1)) if m and low < high else 0
    z = 0
    h = 0
    for i in range(node.n):
        goes = near[i] <= v
        z += line[0, start + i] if goes else 0
        h += line[1, start + i] if goes else 0
    if side:
        for i in range(node.n):
            goes = near[i] != near[i]
            z += line[0, start + i] if goes else 0
            h += line[1, start + i] if goes else 0
    gain = gain_at(node, z, h)
    if not gain > split.gain + node.tolerance:
        return
    record_split(split, gain, f, np.intp(0), side if m else UNASKED, z, h, v)


@compiled(inner=True, forceinline=True)
def search_single_sum(
    plan, fixed, node, data, codes, x, near, features, count, scratch, split
):
    """Try the features on a node of one sum; the best split goes into `split`.

    Of codes and x one is None. `near` is scratch of random thresholds, None for the
    best ones.
    """
    line = fixed.gathered
    rows = data.rows
    edges = data.edges
    keys, ranks, order, bins = scratch.keys, scratch.ranks, scratch.order, scratch.bins
    flat, seen, scores, sums = scratch.flat, scratch.seen, scratch.scores, scratch.sums
    for i in range(count):
        f = features[i]
        if split.gain >= node.most:  # nothing left to gain
            break
        if x is not None:
            missing = data.properties[f].has_missing
            random_split_of_values(node, x, f, missing, rows, line, near, split)
        if codes is None:
            continue
        if near is not None:
            random_split_of_bytes(node, edges, codes, f, rows, line, near, split)
            continue
        if node.n >= MANY_SINGLE:
            best_split_of_many(plan, fixed, node, data, codes, f, scratch, split)
            continue
        if node.n <= FEW:
            K = sum_few(node, codes, f, rows, line, keys, ranks, order, bins, sums)
        else:
            K = sum_some(node, codes, f, rows, line, flat, seen, bins, sums)
        best_split_of_few(node, edges, f, K, bins, scores, sums, split)


# ---- several sums


@compiled(inner=True, forceinline=True)
def add_gathered(plan, m, line, classes, i, u):
    """Add gathered row i to the sums u; returns its weight."""
    v = line[m, i]
    for o in range(m):
        if plan.is_class and not plan.binary_gini:
            u[classes[o, i]] += v
        else:
            u[o] += line[o, i]
    return v


@compiled(inner=True, forceinline=True, fastmath=FASTMATH)
def sum_left(plan, line, classes, goes, n, u, M):
    """Sums u of the rows that go left; returns how many they are and their weight.

    Of few classes one after the other: a row then waits for no other of its class.
    """
    m = line.shape[0] - 1
    by_class = plan.is_class and not plan.binary_gini
    left, wl = 0, 0.0
    for i in range(n):
        left += np.int64(goes[i])
        wl += line[m, i] if goes[i] else 0.0
    if by_class and m == 1 and M <= SOME_CLASSES:
        for c in range(M):
            acc = 0.0
            for i in range(n):
                acc += line[1, i] if goes[i] & (classes[0, i] == c) else 0.0
            u[c] = acc
        return left, wl
    for k in range(M):
        u[k] = 0.0
    for o in range(m):
        if by_class:
            for i in range(n):
                u[classes[o, i]] += line[m, i] if goes[i] else 0.0
        else:
            acc = 0.0
            for i in range(n):
                acc += line[o, i] if goes[i] else 0.0
            u[o] = acc
    return left, wl


@compiled(inner=True, forceinline=True)
def random_split_of_sums(
    plan, data, codes, x, f, span, node, goes, scratch, split, other
):
    """A threshold drawn evenly between the extremes, rows in any order."""
    start, n = span
    rows = data.rows
    edges = data.edges
    least = max(plan.min_leaf, 1)
    near = scratch.near
    u = scratch.left_sums
    a = 0
    b = 0
    most = 0
    low = 0.0
    high = 0.0
    gone = 0
    v = 0.0
    side = False
    if x is not None:
        p, q, gone = value_extremes(
            x, f, data.properties[f].has_missing, rows, start, n, near
        )
        if gone == n or (gone == 0 and p == q):
            return
        low, high = np.float64(p), np.float64(q)
    if codes is not None:
        a, b, gone = byte_extremes(codes, f, rows, start, n, near)
        if b < 0 or (gone == 0 and a == b):
            return
        low, high = np.float64(edges[f, 0, a]), np.float64(edges[f, 1, b])
    v, key = uniform_between(node.key ^ f, low, high)
    several = low < high if x is not None else a < b
    side = gone > 0 and several and (key & np.uint64(1)) == np.uint64(1)
    if x is not None:
        for i in range(n):
            goes[i] = near[i] <= v
        if side:
            for i in range(n):
                goes[i] |= near[i] != near[i]
    if codes is not None:
        most = bin_at_most(edges, f, a, b, v)
        limit, lost = np.uint8(most), np.uint8(MISSING_CODE if side else most)
        for i in range(n):
            goes[i] = (near[i] <= limit) | (near[i] == lost)
    line, classes = scratch.gathered, scratch.classes
    left, wl = sum_left(plan, line, classes, goes, n, u, node.sums.size)
    if left < least or n - left < least:
        return
    if plan.constrained and not split_allowed(plan, np.intp(0), node, u, wl):
        return
    gain = plan.scale * split_score(plan, u, wl, node, other)
    if gain > split.gain + node.tolerance:
        split.gain = gain
        split.found = 1
        split.threshold = v
        split.missing_left = np.int64(side) if gone else UNASKED
        if codes is not None:
            at, cut = drawn_threshold(edges, f, near, n, a, b, most, v)
            split.code = at
            split.threshold = cut


@compiled(inner=True, forceinline=True)
def order_few(codes, f, rows, start, n, place, keys, ranks, bins, ends):
    """Rows of a small node by byte into `place`; the bins that occur and their ends.

    Returns the number of bins.
    """
    rank_few(codes, f, rows, start, n, keys, ranks, place)
    K, last = -1, -1
    for k in range(n):
        b = np.int64(keys[place[k]]) >> FEW_BITS
        K += b != last
        last = b
        bins[K] = b
        ends[K] = k + 1
    return K + 1


@compiled(inner=True, forceinline=True)
def order_some(codes, f, rows, start, n, place, near, counts, seen, bins, ends):
    """Order many rows by counting."""
    for i in range(n):
        b = np.intp(codes[f, rows[start + i]])
        near[i] = b
        counts[b] += 1
        seen[b >> 6] |= np.uint64(1) << np.uint64(b & 63)
    K, total = 0, 0
    for k in range(4):
        word = seen[k]
        seen[k] = 0
        while word:
            b = 64 * k + trailing_zeros(word)
            word &= word - np.uint64(1)
            bins[K], counts[b], total = b, total, total + counts[b]
            ends[K] = total
            K += 1
    for i in range(n):
        b = np.intp(near[i])
        place[counts[b]] = i
        counts[b] += 1
    for k in range(K):
        counts[bins[k]] = 0
    return K


@compiled(inner=True, forceinline=True)
def scan_classes(m, line, classes, place, begin, n, K, ends, s, u, scores):
    """Left weights, |u|^2 and s.u after each of K bins into `scores`.

    The rows from `begin` on, which miss the value, join before all others.
    """
    wl = 0.0
    Q = 0.0
    D = 0.0
    at = begin
    stop = n
    for k in range(-1, K):
        for i in range(at, stop):
            v = line[m, place[i]]
            wl += v
            for o in range(m):
                c = classes[o, place[i]]
                Q += v * (2.0 * u[c] + v)
                D += v * s[c]
                u[c] += v
        if k >= 0:
            scores[0, k], scores[1, k], scores[2, k] = wl, Q, D
        at = 0 if k < 0 else stop
        stop = ends[k + 1]


@compiled(inner=True, forceinline=True, fastmath=FASTMATH)
def score_classes(plan, n, n0, K, ends, W, S2, scores):
    """Gains of K places into scores[3], -1 where one is forbidden; the greatest one."""
    least = plan.min_leaf - n0
    floor = SLIVER * W
    most = -1.0
    rest = n - plan.min_leaf - n0
    for k in range(K):
        wl, Q = scores[0, k], scores[1, k]
        gain = Q / wl + (S2 - 2.0 * scores[2, k] + Q) / max(W - wl, floor) - S2 / W
        ok = (ends[k] >= least) & (ends[k] <= rest)
        scores[3, k] = plan.scale * gain if ok else -1.0
    for k in range(K):
        most = scores[3, k] if scores[3, k] > most else most
    return most


@compiled(inner=True, forceinline=True)
def scan_ordered(plan, span, node, place, line, classes, ends, scores, u, other):
    """Scan sorted rows for any criterion made of sums and any constraint."""
    begin, n, K = span
    m = line.shape[0] - 1
    wl = 0.0
    at = begin
    stop = n
    n0 = n - begin
    most = -1.0
    for k in range(-1, K):
        for i in range(at, stop):
            wl += add_gathered(plan, m, line, classes, place[i], u)
        at, left = (0, 0) if k < 0 else (stop, stop + n0)
        if k >= 0:
            ok = left >= plan.min_leaf and n - left >= plan.min_leaf
            if ok and plan.constrained:
                ok = split_allowed(plan, np.intp(0), node, u, wl)
            gain = plan.scale * split_score(plan, u, wl, node, other) if ok else -1.0
            scores[3, k] = gain
            most = max(most, gain)
        stop = ends[k + 1]
    return most


@compiled(inner=True, forceinline=True)
def best_place_of_ordered(
    plan, counts, node, place, line, classes, ends, scores, u, split, other
):
    """The best place between ordered bins, missing values on both sides; -1 for none.

    `counts` are the rows, the bins without missing values, and the missing rows, which
    come last in `place`.
    """
    n, K, missing = counts
    tol = node.tolerance
    s = node.sums
    m = line.shape[0] - 1
    by_class = plan.is_class and not plan.binary_gini
    quick = plan.kind == SQUARE and by_class and not plan.constrained
    best = -1
    S2 = 0.0
    for k in range(s.size):
        S2 += s[k] * s[k]
    for side in range(2 if missing else 1):
        n0, places = missing if side else 0, K if missing and not side else K - 1
        for k in range(s.size):
            u[k] = 0.0
        if quick:
            scan_classes(m, line, classes, place, n - n0, n, places, ends, s, u, scores)
            most = score_classes(plan, n, n0, places, ends, node.weight, S2, scores)
        else:
            span = (n - n0, n, places)
            most = scan_ordered(
                plan, span, node, place, line, classes, ends, scores, u, other
            )
        bar = split.gain + tol
        at = -1
        if not most > bar:
            continue
        for k in range(places):
            if scores[3, k] > bar:
                at = k
                bar = scores[3, k] + tol
        best = at
        split.gain = scores[3, at]
        split.found = 1
        split.missing_left = side if missing else UNASKED
    return best


@compiled(inner=True, forceinline=True)
def search_several_sums(
    plan, data, codes, x, goes, place, span, node, drawn, scratch, split, other
):
    """Try the features drawn on a node of M sums; the best split goes into `split`.

    Of codes and x one is None; `goes` is None unless thresholds are random, and else
    `place` is.
    """
    features, count = drawn
    start, n = span
    most = node.weight * node.impurity - node.tolerance
    u = scratch.left_sums
    rows = data.rows
    edges = data.edges
    near = scratch.near
    keys, ranks, counts, seen = (
        scratch.keys,
        scratch.ranks,
        scratch.counts,
        scratch.seen,
    )
    line, classes = scratch.gathered, scratch.classes
    bins, ends, scores = scratch.bins, scratch.ends, scratch.scores
    for i in range(count):
        f = features[i]
        if split.gain >= most:  # nothing left to gain
            break
        split.found = 0
        if goes is not None:
            random_split_of_sums(
                plan, data, codes, x, f, span, node, goes, scratch, split, other
            )
        if place is not None:
            if n >= MANY_SUMS:
                H = scratch.histogram
                weighted = data.w.size > 0
                fill_gathered_histogram(
                    plan,
                    H,
                    codes,
                    f,
                    data.rows,
                    start,
                    n,
                    scratch.gathered,
                    scratch.classes,
                )
                best_split_of_histogram(
                    plan,
                    data.properties[f],
                    f,
                    data.edges[f],
                    H,
                    n,
                    weighted,
                    node,
                    u,
                    split,
                    other,
                )
            else:
                if n <= FEW:
                    K = order_few(
                        codes, f, rows, start, n, place, keys, ranks, bins, ends
                    )
                else:
                    K = order_some(
                        codes, f, rows, start, n, place, near, counts, seen, bins, ends
                    )
                missing = 0
                if bins[K - 1] == MISSING_CODE:
                    missing = n - (ends[K - 2] if K > 1 else 0)
                    K -= 1
                at = best_place_of_ordered(
                    plan,
                    (n, K, missing),
                    node,
                    place,
                    line,
                    classes,
                    ends,
                    scores,
                    u,
                    split,
                    other,
                )
                if at >= 0:
                    after = bins[at + 1] if at + 1 < K else -1
                    split.code = bins[at]
                    split.threshold = middle_of_bins(edges, f, bins[at], after)
        if split.found:
            split.feature = f
