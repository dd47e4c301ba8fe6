"""Compiled search for the best set of codes along a categorical or circular column.

`best_category_split` sees the histogram of a node by code (count, weight and sums) and
looks for the set of codes to send left; bit c of `left` is code c. Its candidates, by
form:

- SUBSET with one sum (numbers, two classes): heads of the codes in ascending order of
  their means, among which is the best of all sets. For if a best left side had a mean
  below that of the right one and some code outside it had a lower mean than one inside,
  exchanging parts of equal weight would move the sides' means further apart, and the
  gain, convex in them, would not fall.
- SUBSET with several sums: all sets if at most FEW codes are present, in the order of a
  Gray code, one code moving at a time; else heads of the order along the first
  principal direction of the codes' means, which need not hold the best set.
- LEVEL: each code by itself.
- HALF: the nb / 2 half circles, codes j .. j + nb / 2 - 1.

All are written down as moves first (code c joins the left side: c + 1, leaves it:
-c - 1; a 0 asks for a look at the sums), then made one after the other. Missing values
join either side, or are one. With `plan.random` one candidate is drawn: a coin for each
code, a code, a half circle; of the last two the next one that splits.
"""

import numpy as np

from ...core._random import splitmix64
from ...core.loops.compiled import compiled
from ._criteria import split_score
from ._split_search import SALT
from ._structures import (
    COUNT_BITS,
    GAUSS,
    HALF,
    LEVEL,
    MISSING_CODE,
    NEWTON,
    SUBSET,
)

FEW = 8  # codes present up to which all sets are tried
ROUNDS = 24  # of the power method
LOOK = 0  # the move that is none
MOVES = 1024  # more than any column needs


@compiled(inner=True, refcount=True)
def code_positions(plan, H, wk, codes, k, M, out):
    """The codes' means, or their places along the means' first principal direction.

    The power method, started along the sum that varies most.
    """
    at, extra = (
        (M - 1 if plan.is_class else 0),
        (plan.l2 if plan.kind == NEWTON else 0.0),
    )
    for i in range(k):
        out[i] = H[codes[i], 2 + at] / max(H[codes[i], wk] + extra, 1e-300)
    if M == 1 or (M == 2 and (plan.is_class or plan.kind == GAUSS)):
        return
    D = np.zeros((k + 1, M))
    v = np.zeros(M)
    total = 0.0
    for i in range(k):
        w = max(H[codes[i], wk], 1e-300)
        total += w
        for s in range(M):
            D[i, s] = H[codes[i], 2 + s] / w
            D[k, s] += H[codes[i], 2 + s]
    for s in range(M):
        spread = 0.0
        for i in range(k):
            D[i, s] -= D[k, s] / total
            spread += H[codes[i], wk] * D[i, s] * D[i, s]
        D[k, s] = spread
    v[np.argmax(D[k])] = 1.0
    for _ in range(ROUNDS):
        size = 0.0
        for s in range(M):
            D[k, s] = 0.0
        for i in range(k):
            out[i] = 0.0
            for s in range(M):
                out[i] += D[i, s] * v[s]
            for s in range(M):
                D[k, s] += H[codes[i], wk] * out[i] * D[i, s]
        for s in range(M):
            size = max(size, abs(D[k, s]))
        for s in range(M):
            v[s] = D[k, s] / size if size > 0.0 else v[s]


@compiled(inner=True)
def sort_codes(value, codes, k):
    """Codes in ascending order of their values, by insertion."""
    for i in range(1, k):
        v = value[i]
        c = codes[i]
        j = i
        while j > 0 and value[j - 1] > v:
            value[j], codes[j] = value[j - 1], codes[j - 1]
            j -= 1
        value[j], codes[j] = v, c


@compiled(inner=True)
def list_moves(form, nb, codes, k, m, every, random, key, moves):
    """Write down the moves of all candidates; returns how many."""
    t = 0
    first = np.int64(key % np.uint64(max(nb // 2 if form == HALF else k, 1)))
    first = first if random else 0
    if form == HALF:
        half = nb // 2
        for j in range(half):
            for c in range(0 if j == 0 else half - 1, half):
                moves[t] = (first + j + c) % nb + 1
                t += 1
            moves[t] = LOOK
            moves[t + 1] = -((first + j) % nb) - 1
            t += 2
    elif form == LEVEL:
        for i in range(k):
            c = codes[(first + i) % k]
            moves[t] = c + 1
            moves[t + 1] = LOOK
            moves[t + 2] = -c - 1
            t += 3
        if m:  # all but what is missing
            for i in range(k):
                moves[t + i] = codes[i] + 1
            moves[t + k] = LOOK
            t += k + 1
    elif random:
        left = 0
        for i in range(k):
            key = splitmix64(key)
            coin = (key & np.uint64(1)) == np.uint64(1)
            if i == k - 1 and left in (0, i):  # at least one code is on each side
                coin = left == 0
            if coin:
                moves[t] = codes[i] + 1
                t += 1
                left += 1
        moves[t] = LOOK
        t += 1
    elif every:
        # the last code stays right, or the missing values if there are any
        for g in range(1, 1 << (k if m else k - 1)):
            gray, flip = g ^ (g >> 1), g & -g
            i = 0
            while not flip >> i & 1:
                i += 1
            moves[t] = codes[i] + 1 if gray & flip else -codes[i] - 1
            moves[t + 1] = LOOK
            t += 2
    else:
        for i in range(k):
            moves[t] = codes[i] + 1
            moves[t + 1] = LOOK
            t += 2
    return t


@compiled(inner=True)
def best_look(plan, H, wk, moves, steps, n, missing_left, node, u, best, other):
    """Make the moves; the number of those up to the best look, or 0 for none."""
    M = node.sums.size
    W = node.weight
    m = int(H[MISSING_CODE, 0])
    count = 0
    wl = 0.0
    chosen = 0
    for s in range(M):
        u[s] = H[MISSING_CODE, 2 + s] if missing_left else 0.0
    if missing_left:
        count = m
        wl = H[MISSING_CODE, wk]
    for t in range(steps):
        move = moves[t]
        if move != LOOK:
            c = abs(move) - 1
            sign = 1 if move > 0 else -1
            count += sign * int(H[c, 0])
            wl += sign * H[c, wk]
            for s in range(M):
                u[s] += sign * H[c, 2 + s]
            continue
        if count < plan.min_leaf or n - count < plan.min_leaf:
            continue
        if plan.constrained and min(wl, W - wl) < plan.min_weight:
            continue
        gain = plan.scale * split_score(plan, u, wl, node, other)
        if gain > best.gain + node.tolerance:
            best.gain = gain
            best.found = 1
            best.n_left = count
            best.missing_left = missing_left if m else np.int64(wl > W - wl)
            chosen = t
            if plan.random:
                break
    return chosen


@compiled(inner=True, refcount=True)
def best_category_split(plan, column, f, H, n, weighted, node, u, best, left, other):
    """The best set of codes of column f to send left, into `best` and `left`."""
    form, nb = column.form, column.n_bins
    best.found = 0
    best.threshold = np.nan
    best.code = 0
    codes, moves = np.empty(256, np.int64), np.empty(MOVES, np.int64)
    k = 0
    m = int(H[MISSING_CODE, 0])
    wk = 1 if weighted else 0
    M = node.sums.size
    for c in range(nb):
        if H[c, 0] > 0.0:
            codes[k] = c
            k += 1
    for s in range(4):
        left[s] = np.uint64(0)
    if k + (m > 0) < 2:
        return
    key = splitmix64(np.uint64(node.key ^ f) ^ SALT)
    every = form == SUBSET and k <= FEW and M > 1 and not (plan.is_class and M == 2)
    if form == SUBSET and not every and not plan.random:
        value = np.empty(256)
        code_positions(plan, H, wk, codes, k, M, value)
        sort_codes(value, codes, k)
    steps = list_moves(form, nb, codes, k, m, every, plan.random, key, moves)
    first = 0
    sides = 2 if m and not every else 1
    chosen = 0
    if plan.random and m:
        first = int(key >> np.uint64(63)) if k > 1 else 0
        sides = first + 1
    for side in range(first, sides):
        at = best_look(plan, H, wk, moves, steps, n, side, node, u, best, other)
        chosen = at if at else chosen
    for t in range(chosen):
        if moves[t] != LOOK:
            c = abs(moves[t]) - 1
            left[c >> 6] ^= np.uint64(1) << np.uint64(c & 63)
    if form == SUBSET and chosen and best.missing_left > 0:
        for c in range(nb):  # codes that the node has not seen go with what is missing
            if H[c, 0] == 0.0:
                left[c >> 6] |= np.uint64(1) << np.uint64(c & 63)


@compiled(inner=True, refcount=True)
def best_category_split_of_counts(plan, fixed, column, f, H, n, node, u, best, left):
    """Best category split of a fixed-point histogram, and the sums of its left side."""
    G = np.empty((256, 3))
    for c in range(256):
        G[c, 0] = H[c, 1] & ((1 << COUNT_BITS) - 1)
        weight = (H[c, 1] >> COUNT_BITS) * fixed.unit_h
        G[c, 1] = weight if fixed.weighted else G[c, 0]
        G[c, 2] = H[c, 0] * fixed.unit_z
    best_category_split(
        plan, column, f, G, n, fixed.weighted, node, u, best, left, None
    )
    if best.found:
        total, wl = 0.0, 0.0
        for c in range(256):
            inside = (left[c >> 6] >> np.uint64(c & 63)) & np.uint64(1)
            if c == MISSING_CODE:
                inside = np.uint64(best.missing_left)
            if inside:
                total += G[c, 2]
                wl += G[c, 1]
        best.left_sum = total
        best.left_weight = wl
