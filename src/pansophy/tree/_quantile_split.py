"""Compiled search for the split with the least absolute error or quantile loss.

The best constant for absolute error is the weighted median, which has no sums to
subtract; if a unit above it costs `up` and one below costs `down`, the best constant is
the quantile at up / (up + down). Rows join one at a time at their rank among the
targets of the node; a Fenwick tree over ranks holds weights and weighted targets, so
that the quantile m of the rows so far and their error

    E = up sum_{y >= m} w (y - m) + down sum_{y < m} w (m - y)                  (1)

follow in O(log n). One pass from the left and one from the right give the errors of
both sides at every place.
"""

from numba import njit

from ._criteria import ordered
from ._structures import BASE, INNER, TOL, WEIGHT


@njit(**INNER)
def errors(P, line, back, n, y, o, w, rank, ranked, head, tree, error, median):
    """Eq. (1), quantiles of the first 1, 2, ... n rows of `line`, or the last if back.

    The quantile is where the weight from below reaches its share; midway to the next
    target if it is exactly so there. The error is the same all the way between the two.
    """
    share = P.up / (P.up + P.down)
    size = 1
    while size * 2 <= n:
        size *= 2
    for k in range(n + 1):
        tree[0, k] = tree[1, k] = 0.0
    weight, moment = 0.0, 0.0
    for j in range(n):
        r = line[n - 1 - j] if back else line[j]
        v, wr = y[r, o], (w[r] if w.size else 1.0)
        weight += wr
        moment += wr * v
        k = rank[r] + 1
        while k <= n:
            tree[0, k] += wr
            tree[1, k] += wr * v
            k += k & -k
        at, below, sums, jump, half = 0, 0.0, 0.0, size, share * weight
        nxt, seen = 0, 0.0
        while jump:
            if at + jump <= n and below + tree[0, at + jump] < half:
                at += jump
                below += tree[0, at]
                sums += tree[1, at]
            if nxt + jump <= n and seen + tree[0, nxt + jump] <= half:
                nxt += jump
                seen += tree[0, nxt]
            jump //= 2
        m = y[ranked[head + at], o]
        above = moment - sums - m * (weight - below)
        error[j] += P.up * above + P.down * (m * below - sums)
        median[j] = 0.5 * (m + y[ranked[head + nxt], o]) if nxt > at else m


@njit(**INNER)
def middle(P, ranked, start, stop, y, o, w):
    """The quantile of rows in ascending order of y, their error and their weight."""
    total, share = 0.0, P.up / (P.up + P.down)
    for i in range(start, stop):
        total += w[ranked[i]] if w.size else 1.0
    seen, m = 0.0, 0.0
    for i in range(start, stop):
        seen += w[ranked[i]] if w.size else 1.0
        m = y[ranked[i], o]
        if seen >= share * total:
            if seen == share * total and i + 1 < stop:
                m = 0.5 * (m + y[ranked[i + 1], o])
            break
    error = 0.0
    for i in range(start, stop):
        v, wr = y[ranked[i], o] - m, (w[ranked[i]] if w.size else 1.0)
        error += wr * (P.up * v if v > 0.0 else -P.down * v)
    return m, error, total


@njit(**INNER)
def walk_absolute(P, lists, t0, head, rows, start, end, stop, first, last, x, ties, y,
                  w, R, sign, side, line, room, bar):  # fmt: skip
    """The place with the least error, eq. (1) left and right. Returns place, gain.

    lists[t0:] are the rows by target, from `head` on those of the node, and then
    their ranks; `line` and `room` are scratch.
    """
    n, m = stop - start, (stop - end if side else 0)
    left, right, a, b, tree = room[0], room[1], room[2], room[3], room[4:]
    for i in range(m):
        line[i] = rows[end + i]
    for i in range(n - m):
        line[m + i] = rows[start + i]
    for i in range(n):
        left[i] = right[i] = 0.0
    for o in range(P.m):
        ranked, rank = lists[t0 + o], lists[t0 + P.m + o]
        for back in range(2):
            errors(P, line, back, n, y, o, w, rank, ranked, head, tree, room[back],
                   room[2 + back])  # fmt: skip
    at, top, wl = -1, 0.0, 0.0
    for i in range(m):
        wl += w[line[i]] if w.size else 1.0
    for i in range(start, last + 1):
        r = rows[i]
        wl += w[r] if w.size else 1.0
        if i < first or (ties and i + 1 < end and x[r] == x[rows[i + 1]]):
            continue
        j = m + i - start
        if P.bounded:
            heavy = min(wl, R[WEIGHT] - wl) >= P.min_weight
            if not heavy or (sign and not ordered(sign, R, a[j], b[n - j - 2])):
                continue
        gain = P.scale * (R[BASE] - left[j] - right[n - j - 2])
        if gain > bar:
            at, top, bar = i, gain, gain + R[TOL]
    return at, top
