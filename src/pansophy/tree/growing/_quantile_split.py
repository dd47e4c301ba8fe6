"""Compiled search for the split with the least absolute error or quantile loss.

The best constant for absolute error is the weighted median, which has no sums to
subtract; if a unit above it costs a and one below costs b, the best constant is the
quantile at a / (a + b). Rows join one at a time at their rank among the targets of the
node; a Fenwick tree over ranks holds weights and weighted targets, so that the quantile
m of the rows so far and their error

    E = a sum_{y >= m} w (y - m) + b sum_{y < m} w (m - y)                      (1)

follow in O(log n). One pass from the left and one from the right give the errors of
both sides at every place.
"""

from ...core.arrays._weighted import quantile_in_order, tie_tolerance, total_weight
from ...core.loops.compiled import compiled
from ._criteria import keeps_order


@compiled(inner=True)
def running_errors(plan, data, o, scan, line, n, back, room):
    """Eq. (1) and quantiles of the first 1, 2, ... n rows of `line`, or the last ones.

    They go into room[back] and room[2 + back]; room[4:] is the Fenwick tree. The
    quantile is where the weight from below reaches its share, or midway to the next
    target if it does so exactly there. The error is the same all the way between them.
    """
    y = data.y
    w = data.w
    head = scan.first_of_node
    ranked = data.lists[data.first_target_list + o]
    rank = data.lists[data.first_target_list + plan.n_outputs + o]
    fenwick, error, median = room[4:], room[back], room[2 + back]
    share = plan.cost_above / (plan.cost_above + plan.cost_below)
    size = 1
    while size * 2 <= n:
        size *= 2
    for k in range(n + 1):
        fenwick[0, k] = fenwick[1, k] = 0.0
    weight, moment = 0.0, 0.0
    for j in range(n):
        r = line[n - 1 - j] if back else line[j]
        v = y[r, o]
        wr = w[r] if w.size else 1.0
        weight += wr
        moment += wr * v
        k = rank[r] + 1
        while k <= n:
            fenwick[0, k] += wr
            fenwick[1, k] += wr * v
            k += k & -k
        at = 0
        below = 0.0
        sums = 0.0
        jump = size
        nxt, seen = 0, 0.0
        goal = share * weight
        tolerance = tie_tolerance(weight, j + 1)
        while jump:
            if at + jump <= n and below + fenwick[0, at + jump] < goal - tolerance:
                at += jump
                below += fenwick[0, at]
                sums += fenwick[1, at]
            if nxt + jump <= n and seen + fenwick[0, nxt + jump] <= goal + tolerance:
                nxt += jump
                seen += fenwick[0, nxt]
            jump //= 2
        m = y[ranked[head + at], o]
        above = moment - sums - m * (weight - below)
        error[j] += plan.cost_above * above + plan.cost_below * (m * below - sums)
        median[j] = 0.5 * (m + y[ranked[head + nxt], o]) if nxt > at else m


@compiled(inner=True)
def quantile_and_error(plan, ranked, start, stop, y, o, w):
    """The quantile of rows in ascending order of y, their error and their weight."""
    share = plan.cost_above / (plan.cost_above + plan.cost_below)
    order = ranked[start:stop]
    total = total_weight(w, order)
    m = quantile_in_order(y[:, o], w, order, share)
    error = 0.0
    for i in range(start, stop):
        v = y[ranked[i], o] - m
        wr = w[ranked[i]] if w.size else 1.0
        error += wr * (plan.cost_above * v if v > 0.0 else -plan.cost_below * v)
    return m, error, total


@compiled(inner=True)
def scan_quantiles(plan, data, scan, rows, x, node, line, room, bar):
    """The place with the least error, eq. (1) left and right. Returns place and gain.

    `line` and `room` are scratch.
    """
    start = scan.start
    w = data.w
    n = scan.stop - start
    m = scan.stop - scan.end if scan.missing_left else 0
    left = room[0]
    right = room[1]
    a = room[2]
    b = room[3]
    for i in range(m):
        line[i] = rows[scan.end + i]
    for i in range(n - m):
        line[m + i] = rows[start + i]
    for i in range(n):
        left[i] = right[i] = 0.0
    for o in range(plan.n_outputs):
        for back in range(2):
            running_errors(plan, data, o, scan, line, n, back, room)
    at = -1
    top = 0.0
    wl = 0.0
    for i in range(m):
        wl += w[line[i]] if w.size else 1.0
    for i in range(start, scan.last + 1):
        r = rows[i]
        wl += w[r] if w.size else 1.0
        equal = scan.ties and i + 1 < scan.end and x[r] == x[rows[i + 1]]
        if i < scan.first or equal:
            continue
        j = m + i - start
        if plan.constrained:
            heavy = min(wl, node.weight - wl) >= plan.min_weight
            if not heavy:
                continue
            if scan.sign and not keeps_order(scan.sign, node, a[j], b[n - j - 2]):
                continue
        gain = plan.scale * (node.base - left[j] - right[n - j - 2])
        if gain > bar:
            at = i
            top = gain
            bar = gain + node.tolerance
    return at, top
