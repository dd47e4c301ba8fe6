"""Compiled k-d tree queries of `neighbor_search.py`, one traversal for each group.

A group is a leaf of a tree of the queries: rows near one another, which share the
traversal. A node is left out if its box is farther from the group's box than any query
of the group looks; a leaf is then compared with the queries that are near enough to its
box.

`metric` is (kind, p), `tree` is (XT, order, lo, hi, levels) of `kd_tree.KDTree`, and
`queries` the same of the queries.
"""

import numpy as np

from ..core.loops.compiled import compiled
from ._kd_tree import (
    WIDE,
    box_distance,
    distances_to_rows,
    max_box_distance,
    min_distances_from_box,
)
from ._neighbor_lists import (
    insert_neighbor,
    keep_k_smallest,
    resized_copy,
    write_sorted_pairs,
)

SHORT = 20  # lists up to this length are kept sorted


@compiled
def _push_children(metric, tree, queries, group, node, nodes, bounds, top):
    """Put both children of a node on the stack, the nearer one on top."""
    kind, p = metric
    lo, hi, qlo, qhi = tree[2], tree[3], queries[2], queries[3]
    a, b = 2 * node + 1, 2 * node + 2
    near, middle = box_distance(qlo, qhi, group, lo, hi, a, kind, p)
    far, other_middle = box_distance(qlo, qhi, group, lo, hi, b, kind, p)
    if far < near or (far == near and other_middle < middle):
        a, b, near, far = b, a, far, near
    nodes[top], bounds[top] = b, far
    nodes[top + 1], bounds[top + 1] = a, near


@compiled
def _append_near(values, m, order, low, excluded, limit, V, R, t, count):
    """Append to list t those of m rows that are near enough; the new length.

    All are written and only the length decides what stays: no branch to guess.
    """
    for i in range(m):
        value, row = values[i], order[low + i]
        V[t, count], R[t, count] = value, row
        count += (value <= limit) & (row != excluded)
    return count


@compiled
def _query_leaf(metric, tree, queries, start, j, same, slack, work, limits, used, k):
    """Compare leaf j with all queries of a group; the largest limit of any of them.

    used[t] is the length of list t. Short lists are ascending and full from the
    start (with infinity); the last row of V and R is then scratch.
    """
    kind, p = metric
    XT, order, lo, hi, levels = tree
    QT, qorder = queries[0], queries[1]
    V, R, near, values, spare = work
    n = len(order)
    spot = len(V) - 1
    fill = V.shape[1] - len(values)
    low, high = (n * j) >> levels, (n * (j + 1)) >> levels
    m = len(used)
    min_distances_from_box(QT, start, m, lo, hi, (1 << levels) - 1 + j, kind, p, near)
    worst = slack * 0
    for t in range(m):
        limit = limits[t]
        if near[t] <= limit * slack:
            distances_to_rows(XT, low, high - low, QT, start + t, kind, p, values)
            own_row = qorder[start + t] if same else -1
            if k <= SHORT:
                m_near = _append_near(
                    values, high - low, order, low, own_row, limit, V, R, spot, 0
                )
                for i in range(m_near):
                    insert_neighbor(V, R, t, k, V[spot, i], R[spot, i])
                limit = V[t, k - 1]
            else:
                count = _append_near(
                    values, high - low, order, low, own_row, limit, V, R, t, used[t]
                )
                if count > fill or (limit == np.inf and count >= k):
                    count, limit = keep_k_smallest(V, R, t, count, k, spare)
                used[t] = count
            limits[t] = limit
        worst = max(worst, limit)
    return worst


@compiled
def query_k_nearest(metric, tree, queries, first, last, same, slack, D, J):
    """The nearest rows of the queries in leaves first to last, into D and J.

    `slack` covers the rounding of the comparison of boxes and distances.
    """
    XT = tree[0]
    n = len(tree[1])
    levels = tree[4]
    qorder = queries[1]
    m = len(queries[1])
    qlevels = queries[4]
    k = D.shape[1]
    leaves = 1 << levels
    qleaves = 1 << qlevels
    leaf, group = n // leaves + 1 + WIDE, m // qleaves + 1
    size = (k if k <= SHORT else 2 * k) + leaf
    V, R = np.empty((group + 1, size), XT.dtype), np.empty((group + 1, size), np.int64)
    near, values = np.empty(group + WIDE, XT.dtype), np.empty(leaf, XT.dtype)
    work = (V, R, near, values, np.empty(size, XT.dtype))
    limits, used = np.empty(group, XT.dtype), np.empty(group, np.int64)
    nodes = np.empty(2 * levels + 2, np.int64)
    bounds = np.empty(2 * levels + 2, XT.dtype)
    for g in range(first, last):
        start, stop = (m * g) >> qlevels, (m * (g + 1)) >> qlevels
        limits[:] = np.inf
        used[:] = 0
        V[:] = np.inf
        R[:] = n
        worst = limits[0]
        top, nodes[0], bounds[0] = 1, 0, 0
        while top:
            top -= 1
            node = nodes[top]
            if bounds[top] > worst * slack:
                continue
            if node < leaves - 1:
                _push_children(
                    metric, tree, queries, qleaves - 1 + g, node, nodes, bounds, top
                )
                top += 2
                continue
            worst = _query_leaf(
                metric,
                tree,
                queries,
                start,
                node - (leaves - 1),
                same,
                slack,
                work,
                limits,
                used[: stop - start],
                k,
            )
        for t in range(stop - start):
            q = qorder[start + t]
            if k <= SHORT:
                for i in range(k):
                    D[q, i], J[q, i] = V[t, i], R[t, i]
            else:
                count, _ = keep_k_smallest(V, R, t, used[t], k, work[4])
                write_sorted_pairs(V, R, t, count, D, J, q)


@compiled
def _leaves_near(metric, tree, queries, group, widest, surest, nodes, leaf_numbers, W):
    """The leaves that a group may have to look into, and the weight of whole nodes.

    widest and surest are the largest and the smallest radius of the group. A node
    that lies within the radius of all counts at once if W has sums of weights.
    """
    kind, p = metric
    n = len(tree[1])
    lo = tree[2]
    hi = tree[3]
    levels = tree[4]
    qlo, qhi = queries[2], queries[3]
    leaves = 1 << levels
    count = 0
    whole_weight = W[0]
    top, nodes[0] = 1, 0
    while top:
        top -= 1
        node = nodes[top]
        if box_distance(qlo, qhi, group, lo, hi, node, kind, p)[0] > widest:
            continue
        if (
            len(W) > 1
            and max_box_distance(qlo, qhi, group, lo, hi, node, kind, p) < surest
        ):
            level = 0
            while (2 << level) - 1 <= node:
                level += 1
            j = node - ((1 << level) - 1)
            whole_weight += W[(n * (j + 1)) >> level] - W[(n * j) >> level]
        elif node < leaves - 1:
            nodes[top], nodes[top + 1] = 2 * node + 2, 2 * node + 1
            top += 2
        else:
            leaf_numbers[count] = node
            count += 1
    return count, whole_weight


@compiled
def query_radius(metric, tree, queries, first, last, r, slack):
    """Rows within reduced distance r (m,) of the queries in leaves first to last.

    r is in tree order. Returns (ends, rows, distances) in that order.
    """
    kind, p = metric
    XT, order, lo, hi, levels = tree
    QT = queries[0]
    m = len(queries[1])
    qlevels = queries[4]
    n = len(order)
    leaves = 1 << levels
    qleaves = 1 << qlevels
    base = (m * first) >> qlevels
    values = np.empty(n // leaves + 1 + WIDE, XT.dtype)
    near = np.empty(WIDE, XT.dtype)
    nodes, leaf_numbers = np.empty(2 * levels + 2, np.int64), np.empty(leaves, np.int64)
    ends = np.zeros(((m * last) >> qlevels) - base + 1, np.int64)
    space = 64 + 16 * len(ends)
    used = 0
    no_weights = np.zeros(1)
    rows, far = np.empty(space, np.int64), np.empty(space, XT.dtype)
    for g in range(first, last):
        start, stop = (m * g) >> qlevels, (m * (g + 1)) >> qlevels
        widest = r[start:stop].max() * slack
        count, _ = _leaves_near(
            metric,
            tree,
            queries,
            qleaves - 1 + g,
            widest,
            widest,
            nodes,
            leaf_numbers,
            no_weights,
        )
        for q in range(start, stop):
            for f in range(count):
                min_distances_from_box(QT, q, 1, lo, hi, leaf_numbers[f], kind, p, near)
                if near[0] > r[q] * slack:
                    continue
                j = leaf_numbers[f] - (leaves - 1)
                low, high = (n * j) >> levels, (n * (j + 1)) >> levels
                distances_to_rows(XT, low, high - low, QT, q, kind, p, values)
                if used + high - low > space:
                    space = 2 * space + high - low
                    rows, far = resized_copy(rows, space), resized_copy(far, space)
                for i in range(high - low):
                    rows[used], far[used] = order[low + i], values[i]
                    used += values[i] <= r[q]
            ends[q - base + 1] = used
    return ends, rows[:used].copy(), far[:used].copy()


@compiled
def query_radius_weight(metric, tree, queries, first, last, r, slack, w, W, out):
    """Weight within reduced distance r of the queries in leaves first to last.

    w (n,) are weights in tree order and W (n + 1,) their sums up to each place, so a
    node that lies inside counts at once. Writes out[number of the query].
    """
    kind, p = metric
    XT = tree[0]
    n = len(w)
    lo = tree[2]
    hi = tree[3]
    levels = tree[4]
    QT, qorder, qlevels = queries[0], queries[1], queries[4]
    m = len(qorder)
    leaves = 1 << levels
    qleaves = 1 << qlevels
    values = np.empty(n // leaves + 1 + WIDE, XT.dtype)
    near = np.empty(m // qleaves + 1 + WIDE, XT.dtype)
    nodes, leaf_numbers = np.empty(2 * levels + 2, np.int64), np.empty(leaves, np.int64)
    sums = np.empty(m // qleaves + 1, W.dtype)
    for g in range(first, last):
        start, stop = (m * g) >> qlevels, (m * (g + 1)) >> qlevels
        widest, surest = r[start:stop].max() * slack, r[start:stop].min() / slack
        count, whole_weight = _leaves_near(
            metric,
            tree,
            queries,
            qleaves - 1 + g,
            widest,
            surest,
            nodes,
            leaf_numbers,
            W,
        )
        sums[:] = whole_weight
        for f in range(count):
            j = leaf_numbers[f] - (leaves - 1)
            low, high = (n * j) >> levels, (n * (j + 1)) >> levels
            min_distances_from_box(
                QT, start, stop - start, lo, hi, leaf_numbers[f], kind, p, near
            )
            for t in range(stop - start):
                radius = r[start + t]
                if near[t] <= radius * slack:
                    distances_to_rows(
                        XT, low, high - low, QT, start + t, kind, p, values
                    )
                    for i in range(high - low):
                        sums[t] += w[low + i] * (values[i] <= radius)
        for t in range(stop - start):
            out[qorder[start + t]] = sums[t]


@compiled
def restore_query_order(order, ends, rows, far):
    """Lists in tree order put into the order of the queries."""
    starts = np.zeros(len(ends), np.int64)
    for i in range(len(order)):
        starts[order[i] + 1] = ends[i + 1] - ends[i]
    for i in range(len(order)):
        starts[i + 1] += starts[i]
    R, F = np.empty_like(rows), np.empty_like(far)
    for i in range(len(order)):
        first, shift = starts[order[i]], ends[i]
        for t in range(ends[i + 1] - shift):
            R[first + t], F[first + t] = rows[shift + t], far[shift + t]
    return starts, R, F
