"""Compiled growth of a tree in one thread: the trees of forests, and random ones.

They are grown fully, so most nodes hold a handful of rows, and often only a few
features of a node are looked at. Nothing is kept between nodes but a stack, and nodes
are numbered as they are taken from it (root, left branch, right branch). Where one sum
is enough it is kept in fixed point (`_histograms.py`); several sums are made anew at
each node, from targets gathered side by side. `_split_search.py` searches a node along
a feature. The tree is the one that the parallel grower grows.
"""

import numpy as np

from ...core._random import splitmix64
from ...core.loops._intrinsics import trailing_zeros
from ...core.loops.compiled import compiled
from ._criteria import SAME, SLIVER, class_impurity, real_impurity, score_base
from ._split_search import (
    draw_feature,
    fixed_weight,
    search_several_sums,
    search_single_sum,
)
from ._structures import MISSING_CODE, NodeStats, SerialNode


@compiled(inner=True, forceinline=True)
def gather_fixed_point(plan, data, fixed, start, stop, mean):
    """Fixed-point targets of a node's rows side by side; their squares about the mean.

    The summed squares are exactly zero if all targets are equal; two classes need none.
    """
    rows = data.rows
    y = data.y
    w = data.w
    z = fixed.z
    h = fixed.h
    line = fixed.gathered
    acc = 0.0
    differ = False
    head = y[rows[start], 0]
    for i in range(start, stop):
        r = rows[i]
        line[0, i] = z[r]
        if h.size:
            line[1, i] = h[r]
        if not plan.binary_gini:
            v = y[r, 0]
            differ |= v != head
            acc += (w[r] if w.size else 1.0) * (v - mean) * (v - mean)
    return acc if differ else 0.0


@compiled(inner=True, forceinline=True)
def gather_several(plan, data, start, n, line, classes):
    """Targets of a node's rows side by side, weighted, or classes; then the weights."""
    rows, y, w = data.rows, data.y, data.w
    m = y.shape[1]
    by_class = plan.is_class and not plan.binary_gini
    for i in range(n):
        r = rows[start + i]
        v = w[r] if w.size else 1.0
        line[m, i] = v
        for o in range(m):
            if by_class:
                classes[o, i] = np.int64(y[r, o])
            else:
                line[o, i] = v * y[r, o]


@compiled(inner=True, inline="always")
def node_of_several(plan, data, start, n, key, sums, scratch, other):
    """Gather the rows of a node of M sums; its statistics."""
    line, classes = scratch.gathered, scratch.classes
    gather_several(plan, data, start, n, line, classes)
    m = line.shape[0] - 1
    W = 0.0
    for k in range(sums.size):
        sums[k] = 0.0
    for i in range(n):
        W += line[m, i]
        for o in range(m):
            if plan.is_class and not plan.binary_gini:
                sums[classes[o, i]] += line[m, i]
            else:
                sums[o] += line[o, i]
    if plan.is_class:
        impurity = class_impurity(plan, W, sums, other)
    else:
        impurity = real_impurity(
            plan, data.y, data.w, data.rows, start, start + n, W, sums, other
        )
    base = score_base(plan, W, sums, other)
    return NodeStats(W, impurity, base, SAME * (W * impurity), 0.0, 0.0, key, sums)


@compiled(inner=True, forceinline=True)
def partition_rows(codes, x, split, rows, start, stop, spare):
    """Rows that go left come first, in order on both sides; where they end."""
    f = split.feature
    code = split.code
    v = split.threshold
    missing_left = split.missing_left
    i = start
    j = 0
    left = 0
    for k in range(start, stop):
        r = rows[k]
        if x is not None:
            left = np.int64(x[f, r] <= v) if x[f, r] == x[f, r] else missing_left
        if codes is not None:
            b = np.int64(codes[f, r])
            left = np.int64(b <= code) if b != MISSING_CODE else missing_left
        rows[i] = r
        spare[j] = r
        i += left
        j += 1 - left
    for k in range(j):
        rows[i + k] = spare[k]
    return i


@compiled(inner=True, inline="always")
def draw_features(key, drawn, marks, tried, count, d):
    """Draw `count` more features; these in ascending order into drawn[2]."""
    order, moved, features = drawn[0], drawn[1], drawn[2]
    for i in range(tried, tried + count):
        moved[i] = draw_feature(key, order, i, d)
        f = order[i]
        marks[f >> 6] |= np.uint64(1) << np.uint64(f & 63)
    m = 0
    for k in range(marks.size):
        word = marks[k]
        marks[k] = 0
        while word:
            features[m] = 64 * k + trailing_zeros(word)
            word &= word - np.uint64(1)
            m += 1


@compiled(inner=True, inline="always")
def undo_draws(drawn, tried):
    """So that the next node draws from features in their order."""
    order, moved = drawn[0], drawn[1]
    for i in range(tried - 1, -1, -1):
        order[i], order[moved[i]] = order[moved[i]], order[i]


@compiled(inner=True, inline="always")
def push_node(pending, start, stop, depth, key, z, h, parent):
    """Fill an entry of the stack."""
    pending.start = start
    pending.stop = stop
    pending.depth = depth
    pending.key = key
    pending.z = z
    pending.h = h
    pending.parent = parent


@compiled(refcount=False)
def grow_serial(
    plan, data, codes, x, fixed, work, scratch, random, place, nodes, sums, other
):
    """The nodes of a tree into `nodes` (and `sums`); returns how many there are.

    Arguments that are not needed are None, so that each way of searching is compiled
    alone: of codes and x one; `fixed` where there are M sums, `sums` (nodes, M) where
    there is one; `random` and `place`, scratch of random and of best thresholds. All
    scratch is made by the caller, as every kind of array made here costs compile time.
    """
    d = plan.n_features
    m = 0
    waiting = 1
    split = work.split[0]
    rows = data.rows
    stack = work.stack
    zero = np.intp(0)  # a number written in a call would be a type of its own
    push_node(
        stack[0],
        zero,
        rows.size,
        zero,
        data.root_key,
        data.root_z,
        data.root_h,
        zero - 1,
    )
    while waiting:
        waiting -= 1
        top = stack[waiting]
        start = top.start
        stop = top.stop
        depth = top.depth
        key = top.key
        z, h, up = top.z, top.h, top.parent
        n = stop - start
        v = m
        W = 0.0
        impurity = 0.0
        tol = 0.0
        m += 1
        if up >= 0 and up & 1:
            nodes.right[up >> 1] = v
        elif up >= 0:
            nodes.left[up >> 1] = v
        nodes.left[v] = nodes.right[v] = -1
        nodes.feature[v] = -2
        nodes.missing_left[v] = 0
        nodes.threshold[v] = -2.0
        nodes.start[v] = start
        nodes.stop[v] = stop
        if fixed is not None:
            W = fixed_weight(h, fixed.weighted, fixed.unit_h)
            p = z * fixed.unit_z / W
            if plan.binary_gini:
                impurity = 2.0 * p * (1.0 - p)
            elif n > 1:
                impurity = gather_fixed_point(plan, data, fixed, start, stop, p) / W
            tol = SAME * (W * impurity)
        if sums is not None:
            stats = node_of_several(
                plan, data, start, n, key, work.sums, scratch, other
            )
            W, impurity, tol = stats.weight, stats.impurity, stats.tolerance
            nodes.weight[v] = W
            for k in range(sums.shape[1]):
                sums[v, k] = stats.sums[k]
        nodes.impurity[v] = impurity
        ready = n >= plan.min_split and n >= 2 * plan.min_leaf
        ready = ready and 2 * plan.min_weight <= W and depth < plan.max_depth
        if not ready or not impurity > 0.0:
            continue
        if fixed is not None:  # noqa: SIM102  None alone leaves code out
            if plan.binary_gini:
                gather_fixed_point(plan, data, fixed, start, stop, 0.0)
        split.feature = -1
        split.gain = -2.0 * tol
        tried = zero
        while split.feature < 0 and tried < d:
            count = 1 if tried else plan.max_features
            draw_features(np.uint64(key), work.drawn, work.marks, tried, count, d)
            tried += count
            if fixed is not None:
                total = z * fixed.unit_z
                node = SerialNode(
                    n,
                    start,
                    key,
                    z,
                    h,
                    W,
                    total,
                    total / W,
                    tol,
                    W * plan.scale,
                    SLIVER * W,
                    W * impurity - tol,
                    plan.min_leaf,
                    plan.min_weight,
                    fixed.weighted,
                    fixed.unit_z,
                    fixed.unit_h,
                )
                search_single_sum(
                    plan,
                    fixed,
                    node,
                    data,
                    codes,
                    x,
                    random,
                    work.drawn[2],
                    count,
                    scratch,
                    split,
                )
            if sums is not None:
                search_several_sums(
                    plan,
                    data,
                    codes,
                    x,
                    random,
                    place,
                    (start, n),
                    stats,  # pyrefly: ignore[unbound-name]
                    (work.drawn[2], count),
                    scratch,
                    split,
                    other,
                )
        undo_draws(work.drawn, tried)
        if split.feature < 0 or split.gain < plan.min_gain:
            continue
        at = partition_rows(codes, x, split, rows, start, stop, work.spare_rows)
        nodes.feature[v] = split.feature
        nodes.missing_left[v] = split.missing_left
        nodes.threshold[v] = split.threshold
        a = split.left_z
        b = split.left_h
        k0 = splitmix64(key)
        k1 = splitmix64(key + 1)
        push_node(
            stack[waiting], at, stop, depth + 1, np.int64(k1), z - a, h - b, 2 * v + 1
        )
        push_node(stack[waiting + 1], start, at, depth + 1, np.int64(k0), a, b, 2 * v)
        waiting += 2  # the left child is taken first
    return m


@compiled(refcount=False)
def sum_serial_nodes(rows, y, w, m, nodes):
    """Sums of m nodes from the targets themselves, which are not rounded."""
    for v in range(m - 1, -1, -1):
        left = nodes.left[v]
        u = 0.0
        W = 0.0
        if left >= 0:
            right = nodes.right[v]
            nodes.total[v] = nodes.total[left] + nodes.total[right]
            nodes.weight[v] = nodes.weight[left] + nodes.weight[right]
            continue
        for i in range(nodes.start[v], nodes.stop[v]):
            wr = w[rows[i]] if w.size else 1.0
            u += wr * y[rows[i], 0]
            W += wr
        nodes.total[v] = u
        nodes.weight[v] = W
