"""Compiled maximum flow by two growing search trees [Boykov2004].

Search trees S and T grow from source and sink through arcs with residual capacity.
Where they meet, an augmenting path is found and saturated; saturated arcs cut off
orphans, which are adopted by another node of their tree or become free. When neither
tree can grow, S is the source's side of a minimum cut. Keeping the trees between paths
is what makes the method quick on grids.

The arcs of node i are first_arc[i] .. first_arc[i + 1]; arc a leads to head[a], has the
residual capacity residual[a], and its reverse is twin[a]. terminal[i] is the residual
capacity from the source (above 0) or to the sink (below 0). parent_arc[i] is the arc
from i to its parent; depth[i] is the distance to the root, valid if stamp[i] is
current.
"""

import numpy as np

from ...core.loops.compiled import compiled

ROOT, NONE, ORPHAN = -1, -2, -3


@compiled
def build_arcs(n, pairs, capacity, reverse_capacity):
    """Arcs sorted by their tails: first_arc (n + 1,), head, residual, twin (2 m,)."""
    m = len(pairs)
    first_arc = np.zeros(n + 1, np.int32)
    for e in range(m):
        first_arc[pairs[e, 0] + 1] += 1
        first_arc[pairs[e, 1] + 1] += 1
    for i in range(n):
        first_arc[i + 1] += first_arc[i]
    next_arc = first_arc[:n].copy()
    head, twin = np.empty(2 * m, np.int32), np.empty(2 * m, np.int32)
    residual = np.empty(2 * m)
    for e in range(m):
        i, j = pairs[e, 0], pairs[e, 1]
        a = next_arc[i]
        next_arc[i] += 1
        b = next_arc[j]
        next_arc[j] += 1
        head[a], head[b], twin[a], twin[b] = j, i, b, a
        residual[a], residual[b] = capacity[e], reverse_capacity[e]
    return first_arc, head, residual, twin


@compiled
def _augment_path(bridge, terminal, head, residual, twin, parent_arc, orphans):
    """Saturate the path through the arc `bridge` from S to T; number of orphans."""
    amount = residual[bridge]
    i = head[twin[bridge]]
    while parent_arc[i] != ROOT:
        amount = min(amount, residual[twin[parent_arc[i]]])
        i = head[parent_arc[i]]
    amount = min(amount, terminal[i])
    i = head[bridge]
    while parent_arc[i] != ROOT:
        amount = min(amount, residual[parent_arc[i]])
        i = head[parent_arc[i]]
    amount = min(amount, -terminal[i])
    count = 0
    residual[bridge] -= amount
    residual[twin[bridge]] += amount
    i = head[twin[bridge]]
    while parent_arc[i] != ROOT:
        a = parent_arc[i]
        residual[a] += amount
        residual[twin[a]] -= amount
        if residual[twin[a]] <= 0:
            parent_arc[i] = ORPHAN
            orphans[count] = i
            count += 1
        i = head[a]
    terminal[i] -= amount
    if terminal[i] <= 0:
        parent_arc[i] = ORPHAN
        orphans[count] = i
        count += 1
    i = head[bridge]
    while parent_arc[i] != ROOT:
        a = parent_arc[i]
        residual[a] -= amount
        residual[twin[a]] += amount
        if residual[a] <= 0:
            parent_arc[i] = ORPHAN
            orphans[count] = i
            count += 1
        i = head[a]
    terminal[i] += amount
    if terminal[i] >= 0:
        parent_arc[i] = ORPHAN
        orphans[count] = i
        count += 1
    return count


@compiled
def _distance_to_root(j, head, parent_arc, stamp, depth, clock):
    """Arcs from j to its root, or -1 if the path is broken; stamps the path."""
    d = 0
    k = j
    while stamp[k] != clock:
        if parent_arc[k] == ROOT:
            stamp[k] = clock
            depth[k] = 1
            break
        if parent_arc[k] < 0:
            return -1
        d += 1
        k = head[parent_arc[k]]
    total = d + depth[k]
    d, k = total, j
    while stamp[k] != clock:
        stamp[k], depth[k] = clock, d
        d -= 1
        k = head[parent_arc[k]]
    return total


@compiled
def _adopt_orphan(
    i, first_arc, head, residual, twin, tree, parent_arc, stamp, depth, clock
):
    """The arc to a new parent of orphan i that is connected to the root, or NONE."""
    best_arc = NONE
    least_depth = 2147483647
    for a in range(first_arc[i], first_arc[i + 1]):
        j = head[a]
        if tree[j] != tree[i] or parent_arc[j] == NONE or parent_arc[j] == ORPHAN:
            continue
        is_open = residual[twin[a]] > 0 if tree[i] == 1 else residual[a] > 0
        if is_open:
            d = _distance_to_root(j, head, parent_arc, stamp, depth, clock)
            if 0 < d < least_depth:
                best_arc, least_depth = a, d
    if best_arc != NONE:
        stamp[i] = clock
        depth[i] = least_depth + 1
    return best_arc


@compiled
def minimum_cut(terminal, first_arc, head, residual, twin):
    """Side of each node in a minimum cut: 1 source, 2 sink, 0 for either.

    `terminal` and `residual` are changed in place.
    """
    n = len(terminal)
    tree = np.zeros(n, np.int8)
    parent_arc = np.full(n, NONE, np.int32)
    stamp, depth = np.zeros(n, np.int32), np.zeros(n, np.int32)
    queue = np.empty(n + 1, np.int32)
    queued = np.zeros(n, np.bool_)
    orphans = np.empty(n + 1, np.int32)
    clock = 0
    queue_head = 0
    queue_tail = 0
    for i in range(n):
        if terminal[i] != 0:
            tree[i] = 1 if terminal[i] > 0 else 2
            parent_arc[i] = ROOT
            depth[i] = 1
            queue[queue_tail] = i
            queued[i] = True
            queue_tail += 1
    while queue_head != queue_tail:
        i = queue[queue_head]
        bridge = NONE
        if parent_arc[i] != NONE:
            for a in range(first_arc[i], first_arc[i + 1]):
                if (residual[a] if tree[i] == 1 else residual[twin[a]]) <= 0:
                    continue
                j = head[a]
                if tree[j] == 0:
                    tree[j] = tree[i]
                    parent_arc[j] = twin[a]
                    stamp[j] = stamp[i]
                    depth[j] = depth[i] + 1
                    if not queued[j]:
                        queue[queue_tail] = j
                        queued[j] = True
                        queue_tail = queue_tail + 1 if queue_tail < n else 0
                elif tree[j] != tree[i]:
                    bridge = a if tree[i] == 1 else twin[a]
                    break
                elif stamp[j] <= stamp[i] and depth[j] > depth[i] + 1:
                    parent_arc[j] = twin[a]
                    stamp[j] = stamp[i]
                    depth[j] = depth[i] + 1
        if bridge == NONE:
            queued[i] = False
            queue_head = queue_head + 1 if queue_head < n else 0
            continue
        clock += 1
        count = _augment_path(
            bridge, terminal, head, residual, twin, parent_arc, orphans
        )
        k = 0
        while k < count:
            o = orphans[k]
            k += 1
            parent_arc[o] = _adopt_orphan(
                o,
                first_arc,
                head,
                residual,
                twin,
                tree,
                parent_arc,
                stamp,
                depth,
                clock,
            )
            if parent_arc[o] != NONE:
                continue
            for a in range(first_arc[o], first_arc[o + 1]):
                j = head[a]
                if tree[j] != tree[o] or parent_arc[j] == NONE:
                    continue
                if (
                    residual[twin[a]] if tree[o] == 1 else residual[a]
                ) > 0 and not queued[j]:
                    queue[queue_tail] = j
                    queued[j] = True
                    queue_tail = queue_tail + 1 if queue_tail < n else 0
                if parent_arc[j] >= 0 and head[parent_arc[j]] == o:
                    parent_arc[j] = ORPHAN
                    orphans[count] = j
                    count += 1
            tree[o] = 0
    return tree
