"""Compiled growth of one tree that several threads may share.

The rows of a node are one slice of every list in `data.lists`: the rows in their own
order, the rows sorted by each listed feature and, for absolute error, by each target.
Splitting a node partitions its slice of each list in two, keeping the order, so nothing
is sorted again but very small nodes, which are cheaper to sort than to partition.
Features held as bytes need no list: they are summed into histograms, and the larger
child's is its parent's less its sibling's.

`grow_parallel` works through a frontier of nodes whose best split is known: it splits
one, opens its two children (the pending nodes) and searches them. It returns early with
FULL (the node arrays are used up) or SHARE_SEARCH (the search of the pending children
is large enough for several threads); the caller sees to it and calls again.

Arguments that are None leave their code out of what is compiled: `fixed`, the
fixed-point targets, where sums are float64, and `spare`, scratch rows, where they are
fixed-point; `pool` if no column is held as bytes, `sets` if none is split by set;
`medians`, scratch of absolute error; `other`, the kind of a criterion that is not made
of squares.
"""

import numpy as np

from ...core._random import splitmix64
from ...core.loops.compiled import compiled
from ._category_split import best_category_split, best_category_split_of_counts
from ._criteria import SAME, add_row, class_impurity, real_impurity, score_base
from ._histograms import (
    count_tile,
    fill_histogram,
    subtract_histogram,
    sum_histograms,
)
from ._quantile_split import quantile_and_error
from ._shared_work import (
    TILE,
    mark_sides,
    next_piece,
    partition_list,
    partition_shared,
    plan_search,
    prepare_rows,
)
from ._split_search import (
    best_split_of_counts,
    best_split_of_histogram,
    best_split_of_list,
    draw_feature,
    sort_few_rows,
)
from ._structures import NEWTON, ORDERED, SET_WORDS, NodeStats

DONE = 0
FULL = 1
SHARE_SEARCH = 2  # why `grow_parallel` returns
LEADER = 0
RESUMED = 1
HELPER = 2  # who calls: anew, after SHARE_SEARCH, to help with a search


# ---- the frontier


@compiled(inner=True, inline="always")
def splits_before(nodes, a, b):
    """Whether node a is split before node b: more gain, then lower number."""
    gain = nodes.node[a].gain
    least = nodes.node[b].gain
    return gain > least or (gain == least and a < b)


@compiled(inner=True, inline="always")
def push_frontier(best_first, nodes, progress, heap, v):
    """Add a node to the frontier: a stack, or a heap by gain."""
    i = progress.frontier
    progress.frontier += 1
    heap[i] = v
    while best_first and i > 0 and splits_before(nodes, heap[i], heap[(i - 1) // 2]):
        heap[i], heap[(i - 1) // 2] = heap[(i - 1) // 2], heap[i]
        i = (i - 1) // 2


@compiled(inner=True)
def pop_frontier(best_first, nodes, progress, heap):
    """Take the next node from the frontier."""
    progress.frontier -= 1
    m = progress.frontier
    if not best_first:
        return heap[m]
    top = heap[0]
    i = 0
    heap[0] = heap[m]
    while True:
        j = 2 * i + 1
        if j + 1 < m and splits_before(nodes, heap[j + 1], heap[j]):
            j += 1
        if j >= m or not splits_before(nodes, heap[j], heap[i]):
            return top
        heap[i], heap[j] = heap[j], heap[i]
        i = j


@compiled(inner=True)
def store_splits(plan, properties, nodes, front, sets):
    """Write the splits found into the pending nodes and put these on the frontier."""
    progress = front.progress[0]
    queue = front.queue
    for c in range(1, -1, -1):  # the left child is taken from the stack first
        v = progress.second if c else progress.first
        if v < 0:
            continue
        node = nodes.node[v]
        f = node.feature
        if f < 0 or front.best[c, f].gain < plan.min_gain:
            node.is_open = 0
            node.feature = -1
        else:
            split = front.best[c, f]
            node.threshold = split.threshold
            node.gain = split.gain
            node.n_left = split.n_left
            node.code = split.code
            node.missing_left = split.missing_left
            node.left_sum = split.left_sum
            node.left_weight = split.left_weight
            if sets is not None:
                for k in range(SET_WORDS):
                    bits = sets[c, f, k] if properties[f].form else np.uint64(0)
                    nodes.left_set[v, k] = bits
            push_frontier(plan.best_first, nodes, progress, queue[0], v)
        kept = node.is_open and node.stop - node.start >= plan.histogram_rows
        if node.histogram >= 0 and not kept:
            queue[2, progress.free_histograms] = node.histogram
            progress.free_histograms += 1
            node.histogram = -1


# ---- opening and splitting nodes


@compiled(inner=True)
def open_node(plan, data, nodes, v, spare, medians, other):
    """Sums (unless known) and impurity of a node, and whether it may be split."""
    node, s = nodes.node[v], nodes.sums[v]
    start = node.start
    stop = node.stop
    W = 0.0
    y = data.y
    w = data.w
    if medians is not None:
        acc = 0.0
        m = plan.n_outputs
        t0 = data.first_target_list
        for o in range(m):
            ranked, rank = data.lists[t0 + o], data.lists[t0 + m + o]
            for i in range(start, stop):
                rank[ranked[i]] = i - start
            s[o], error, W = quantile_and_error(plan, ranked, start, stop, y, o, w)
            acc += error
        node.impurity = acc / (W * m)
        node.base = acc
        node.weight = W
    else:
        rows = data.lists[0]
        W = node.weight
        if spare is not None:  # the sums are not known
            W = 0.0
            for k in range(s.size):
                s[k] = 0.0
            if (
                plan.binary_gini
            ):  # in registers: a call per row would cost ten times that
                acc = 0.0
                for i in range(start, stop):
                    q = rows[i]
                    wq = w[q] if w.size else 1.0
                    W += wq
                    acc += wq * y[q, 0]
                s[0] = acc
            else:
                for i in range(start, stop):
                    W += add_row(plan, y, w, rows[i], s, np.intp(0))
            node.weight = W
        node.impurity = node_impurity(plan, y, w, rows, start, stop, W, s, other)
        node.base = score_base(plan, W, s, other)
    node.tolerance = SAME * (W * node.impurity)
    if plan.kind == NEWTON:
        node.tolerance = SAME * (plan.gain_unit * (W + plan.l2))
    node.left = node.right = node.feature = node.histogram = -1
    n = stop - start
    ready = n >= plan.min_split and n >= 2 * plan.min_leaf and 2 * plan.min_weight <= W
    ready = ready and node.depth < plan.max_depth
    ready = ready and (plan.kind == NEWTON or node.impurity > 0.0)
    node.is_open = 1 if ready else 0


@compiled(inner=True)
def node_impurity(plan, y, w, rows, start, stop, W, s, other):
    """Impurity of a node; zero for Newton's steps, where y may be None."""
    if y is not None:  # noqa: SIM102  None alone leaves code out
        if plan.kind != NEWTON:
            if plan.is_class:
                return class_impurity(plan, W, s, other)
            return real_impurity(plan, y, w, rows, start, stop, W, s, other)
    return 0.0


@compiled(inner=True)
def split_node(plan, data, nodes, progress, p, fixed, spare, scratch, medians, other):
    """Partition the rows of node p and open its two children."""
    parent = nodes.node[p]
    lists = data.lists
    start, stop, f = parent.start, parent.stop, parent.feature
    a = progress.nodes
    cut = start + parent.n_left
    if spare is not None:
        mark_sides(data, parent, nodes.left_set[p], scratch.byte_goes_left)
        for t in range(1 if medians is None else plan.n_outputs + 1):
            rows = lists[0 if t == 0 else data.first_target_list + t - 1]
            partition_list(rows, start, stop, data.goes_left, spare)
    parent.left = a
    parent.right = a + 1
    progress.parent = p
    progress.first = a
    progress.second = a + 1
    progress.nodes += 2
    progress.leaves += 1
    for c in range(2):
        child = nodes.node[a + c]
        child.start = cut if c else start
        child.stop = stop if c else cut
        child.depth = parent.depth + 1
        child.key = np.int64(splitmix64(np.uint64(parent.key + c)))
        child.low = parent.low
        child.high = parent.high
        for k in range(data.groups.shape[1]):
            nodes.groups[a + c, k] = nodes.groups[p, k] & data.groups[f, k]
        if fixed is not None:
            u, v = parent.left_sum, parent.left_weight
            nodes.sums[a + c, 0] = nodes.sums[p, 0] - u if c else u
            child.weight = parent.weight - v if c else v
        open_node(plan, data, nodes, a + c, spare, medians, other)
        if progress.leaves >= plan.max_leaves:
            child.is_open = 0
    sign = data.properties[f].sign
    if sign != 0:
        k = 1 if plan.is_class and not plan.binary_gini else 0
        left, right = nodes.node[a], nodes.node[a + 1]
        u, v = nodes.sums[a, k], nodes.sums[a + 1, k]
        if medians is None:
            u, v = u / (left.weight + plan.l2), v / (right.weight + plan.l2)
        middle = 0.5 * (u + v)
        if sign > 0:
            left.high = middle
            right.low = middle
        else:
            right.high = middle
            left.low = middle


@compiled(inner=True, inline="always")
def shares_open_group(open_groups, groups, f):
    """Whether feature f is in a group that is still open at a node."""
    for k in range(groups.shape[1]):
        if open_groups[k] & groups[f, k]:
            return True
    return groups.shape[1] == 0


@compiled(inner=True, inline="always")
def smaller_child(nodes, progress):
    """Index of the pending node with fewer rows: 0, the first, or 1, the second."""
    if progress.second < 0:
        return 0
    a, b = nodes.node[progress.first], nodes.node[progress.second]
    return 1 if a.stop - a.start > b.stop - b.start else 0


@compiled(inner=True)
def prepare_search(plan, data, nodes, front):
    """Histograms to keep and features to try for the pending nodes; their rows.

    The larger child takes over its parent's histograms; the smaller one gets some of
    its own if it is large enough to be split much further.
    """
    progress = front.progress[0]
    p = front.progress[0].parent
    rows = 0
    small = smaller_child(nodes, progress)
    if p < 0 or nodes.node[p].histogram >= 0:
        node = nodes.node[progress.first + small]
        large = node.stop - node.start >= plan.histogram_rows
        if node.is_open and large and progress.free_histograms > 0:
            progress.free_histograms -= 1
            node.histogram = front.queue[2, progress.free_histograms]
        if p >= 0:
            nodes.node[progress.first + 1 - small].histogram = nodes.node[p].histogram
    progress.tried = plan.max_features
    for c in range(2):
        v = progress.second if c else progress.first
        if v < 0 or not nodes.node[v].is_open:
            continue
        rows += nodes.node[v].stop - nodes.node[v].start
        if plan.max_features < plan.n_features or data.groups.shape[1]:
            key = np.uint64(nodes.node[v].key)
            m = np.intp(0)
            order, use = front.drawn[c, 0], front.drawn[c, 1]
            for f in range(plan.n_features):
                order[f], use[f] = -1, 0
                if shares_open_group(nodes.groups[v], data.groups, f):
                    order[m] = f
                    m += 1
            for f in range(min(m, plan.max_features)):
                draw_feature(key, order, f, m)
                use[order[f]] = 1
    return rows


# ---- the search of the pending nodes


@compiled(inner=True, inline="always")
def node_stats(nodes, v):
    """The statistics by which the splits of a node are judged."""
    node = nodes.node[v]
    return NodeStats(
        node.weight,
        node.impurity,
        node.base,
        node.tolerance,
        node.low,
        node.high,
        node.key,
        nodes.sums[v],
    )


@compiled(inner=True)
def search_features(
    plan,
    data,
    nodes,
    front,
    pool,
    sets,
    carry,
    spare,
    scratch,
    medians,
    other,
):
    """A range of features: partition their lists, then try them on the pending nodes.

    The range is scratch.features. `carry`: a feature need only be looked at for what
    beats the features before it.
    """
    progress = front.progress[0]
    best = front.best
    p, a, b = progress.parent, progress.first, progress.second
    fresh = progress.tried == plan.max_features
    small = smaller_child(nodes, progress)
    first, second = nodes.node[a], nodes.node[max(b, 0)]
    full0 = not first.is_open
    full1 = b < 0 or not second.is_open  # nothing to gain
    handed = p >= 0 and fresh and nodes.node[p].histogram >= 0
    handed = handed and nodes.node[a + 1 - small].is_open
    few = scratch.few_rows
    listed = False  # lists to partition
    least = 0.0 if plan.kind == NEWTON else -2.0  # boosting splits for a gain only
    top0, top1 = least * first.tolerance, least * second.tolerance
    for c in range(2):
        if p >= 0 and fresh and nodes.node[a + c].is_open:
            child = nodes.node[a + c]
            listed |= child.stop - child.start > plan.resort_rows
    for f in range(scratch.features[0], scratch.features[1]):
        column = data.properties[f]
        slot = column.slot
        if full0 and full1:
            best[0, f].found = 0
            best[1, f].found = 0
            continue
        if slot >= 0 and listed:
            parent = nodes.node[p]
            partition_list(
                data.lists[slot + 1], parent.start, parent.stop, data.goes_left, spare
            )
        for step in range(2):
            c = small if step == 0 else 1 - small
            if c == 1 and b < 0:
                continue
            v = a + c
            node, split = nodes.node[v], best[c, f]
            start, stop, wanted = node.start, node.stop, node.is_open
            split.found = 0
            wanted = wanted and front.drawn[c, 1, f] and not (full1 if c else full0)
            if wanted:  # else the gain of an earlier search is kept
                split.gain = top1 if c else top0
            if slot >= 0:
                if wanted:
                    rows = data.lists[slot + 1]
                    i = start
                    j = stop
                    if stop - start <= plan.resort_rows:
                        sort_few_rows(data.x[slot], data.lists[0], start, stop, few)
                        rows = few
                        i = 0
                        j = stop - start
                    best_split_of_list(
                        plan,
                        data,
                        f,
                        (start, i, j),
                        rows,
                        node_stats(nodes, v),
                        (spare, scratch.scores),
                        split,
                        data.weighted_y,
                        data.binary_y,
                        medians,
                        other,
                    )
            elif pool is not None and (wanted or handed):
                j = -slot - 1
                own = node.histogram >= 0 and fresh
                H = pool[node.histogram, j] if own else scratch.histogram
                if handed and step == 1:
                    kept = nodes.node[a + small].histogram
                    subtract_histogram(
                        H, pool[kept, j] if kept >= 0 else scratch.histogram
                    )
                else:
                    fill_histogram(
                        plan,
                        H,
                        data.codes,
                        j,
                        data.lists[0],
                        start,
                        stop,
                        data.y,
                        data.w,
                    )
                if wanted and column.form == ORDERED:
                    best_split_of_histogram(
                        plan,
                        column,
                        f,
                        data.edges[j],
                        H,
                        stop - start,
                        data.w.size > 0,
                        node_stats(nodes, v),
                        scratch.scores[2],
                        split,
                        other,
                    )
                elif wanted and sets is not None:
                    best_category_split(
                        plan,
                        column,
                        f,
                        H,
                        stop - start,
                        data.w.size > 0,
                        node_stats(nodes, v),
                        scratch.scores[2],
                        split,
                        sets[c, f],
                        other,
                    )
            if wanted and split.found:
                most = node.weight * node.impurity
                if plan.kind != NEWTON and split.gain + node.tolerance >= most:
                    # pure children: no later feature does better, and the lists of
                    # this node are not needed again
                    full0, full1 = full0 or c == 0, full1 or c == 1
                if carry and c == 0:
                    top0 = split.gain
                elif carry:
                    top1 = split.gain


@compiled(inner=True)
def search_tile(plan, fixed, data, nodes, front, pool, sets, t, scratch):
    """Tile t: fixed-point histograms of the pending nodes and their best splits.

    The smaller child is counted (or has been, in work.parts parts); the larger one's
    histograms are its parent's less the smaller one's where the parent's were kept.
    """
    progress = front.progress[0]
    drawn = front.drawn
    best = front.best
    p, a, b = progress.parent, progress.first, progress.second
    small = smaller_child(nodes, progress)
    counted = fixed.work[0].parts
    f0 = t * data.codes.shape[2]
    width = data.codes.shape[2]
    lanes = min(width, plan.n_features - f0)
    handed = p >= 0 and nodes.node[p].histogram >= 0
    handed = handed and nodes.node[a + 1 - small].is_open
    tried = False
    for j in range(lanes):
        tried |= drawn[0, 1, f0 + j] > 0 or drawn[1, 1, f0 + j] > 0
    if not tried:
        return
    G = scratch.histogram[0]
    for step in range(2):
        c = small if step == 0 else 1 - small
        if c == 1 and b < 0:
            continue
        node = nodes.node[a + c]
        start, stop = node.start, node.stop
        for j in range(lanes):
            best[c, f0 + j].found = 0
        if not node.is_open and not handed:
            continue
        H = pool[node.histogram, t] if node.histogram >= 0 else scratch.histogram[step]
        if step == 1 and handed:
            subtract_histogram(H, G)
        elif counted:
            sum_histograms(H, fixed.partial[t], counted)
            G = H
        else:
            count_tile(
                H,
                data.codes[t],
                lanes,
                data.lists[0],
                start,
                stop,
                p < 0,
                fixed.z,
                fixed.h,
                fixed.gathered,
            )
            G = H
        if not node.is_open:
            continue
        stats = node_stats(nodes, a + c)
        for j in range(lanes):
            f = f0 + j
            if not drawn[c, 1, f]:
                continue
            split = best[c, f]
            split.gain = 0.0 if plan.kind == NEWTON else -2.0 * node.tolerance
            column = data.properties[f]
            if column.form == ORDERED:
                best_split_of_counts(
                    plan,
                    fixed,
                    column,
                    data.edges[f],
                    H[j],
                    stop - start,
                    stats,
                    split,
                    scratch.scores,
                )
            elif sets is not None:
                best_category_split_of_counts(
                    plan,
                    fixed,
                    column,
                    f,
                    H[j],
                    stop - start,
                    stats,
                    scratch.scores[0],
                    split,
                    sets[c, f],
                )


@compiled(inner=True)
def choose_features(plan, nodes, front):
    """Best feature of each pending node, the lowest one among equals.

    Returns whether a node has none while features are left: these are drawn next.
    """
    again = False
    progress = front.progress[0]
    d = plan.n_features
    for c in range(2):
        v = progress.second if c else progress.first
        if v < 0 or not nodes.node[v].is_open or nodes.node[v].feature >= 0:
            continue
        node = nodes.node[v]
        order = front.drawn[c, 0]
        use = front.drawn[c, 1]
        tol = node.tolerance
        f = -1
        top = 0.0 if plan.kind == NEWTON else -2.0 * tol
        for g in range(d):
            split = front.best[c, g]
            if use[g] and split.found and split.gain > top + tol:
                f = g
                top = split.gain
        if f >= 0:
            node.feature = f
        for g in range(d):
            if plan.max_features < d:
                use[g] = 0
        if f < 0 and progress.tried < d and order[progress.tried] >= 0:
            m = d
            while order[m - 1] < 0:  # features that may not be tried here
                m -= 1
            draw_feature(np.uint64(node.key), order, progress.tried, m)
            use[order[progress.tried]] = 1
            again = True
    progress.tried += 1
    return again


@compiled(refcount=False)
def grow_parallel(
    plan, data, fixed, nodes, front, pool, sets, spare, scratch, medians, other, role
):
    """Split nodes until none is left, or help the thread that does.

    One function for both, and large ones called in one place, are compiled once.
    """
    progress = front.progress[0]
    resumed, helper = role == RESUMED, role == HELPER
    while True:
        rows = 0
        if role == LEADER:
            if progress.nodes == 0:
                progress.nodes = progress.leaves = (
                    1  # the root: the caller set its rows
                )
                progress.parent = -1
                progress.first = 0
                progress.second = -1
                open_node(plan, data, nodes, progress.first, spare, medians, other)
            else:
                if progress.frontier == 0 or progress.leaves >= plan.max_leaves:
                    return DONE
                if progress.nodes + 2 > nodes.node.size:
                    return FULL
                p = pop_frontier(plan.best_first, nodes, progress, front.queue[0])
                size = nodes.node[p].stop - nodes.node[p].start
                if plan.defer and size * plan.n_features < plan.shared_values:
                    front.queue[1, progress.deferred] = p
                    progress.deferred += 1
                    continue
                if fixed is not None:
                    partition_shared(fixed, data, nodes, p)
                split_node(
                    plan,
                    data,
                    nodes,
                    progress,
                    p,
                    fixed,
                    spare,
                    scratch,
                    medians,
                    other,
                )
            rows = prepare_search(plan, data, nodes, front)
            if fixed is None:  # noqa: SIM102  None alone leaves code out
                if rows and rows * plan.n_features >= plan.shared_values:
                    return SHARE_SEARCH
        again = rows > 0 or role != LEADER
        while again:
            if spare is not None and not resumed:
                search_features(
                    plan,
                    data,
                    nodes,
                    front,
                    pool,
                    sets,
                    not helper,
                    spare,
                    scratch,
                    medians,
                    other,
                )
            if fixed is not None:
                work = fixed.work[0]
                d = plan.n_features
                if not helper:
                    plan_search(fixed, nodes, progress, d, data.codes.shape[0])
                k = next_piece(work, fixed.board, np.intp(-1), helper)
                while k >= 0:
                    if work.kind == TILE:
                        search_tile(
                            plan, fixed, data, nodes, front, pool, sets, k, scratch
                        )
                    else:
                        prepare_rows(fixed, data, nodes, progress.parent < 0, d, k)
                    k = next_piece(work, fixed.board, k, helper)
            if helper:
                return DONE
            resumed = False
            again = choose_features(plan, nodes, front)
        role = LEADER
        store_splits(plan, data.properties, nodes, front, sets)
