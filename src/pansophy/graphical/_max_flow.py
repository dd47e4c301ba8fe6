"""Compiled maximum flow by two growing trees [Boykov2004].

Trees S and T grow from source and sink through arcs with room left. Where they meet a
path is found and filled; arcs that it fills cut off orphans, which look for another
parent in their tree or become free. When neither tree can grow, S is the source's side
of a least cut. Keeping the trees between paths is what makes it quick on grids.

Arcs of node i are `first[i] .. first[i + 1]`; arc a leads to `head[a]`, has `room[a]`
left, and its way back is `twin[a]`. `spare[i]` is the room from the source (above 0)
or to the sink (below 0). `up[i]` is the arc from i to its parent.
"""

import numpy as np
from numba import njit

ROOT, NONE, ORPHAN = -1, -2, -3


@njit(cache=True, nogil=True)
def build_arcs(n, pairs, there, back):
    """Arcs in order of their tails: first (n + 1,), head, room, twin (2 m,)."""
    m = len(pairs)
    first = np.zeros(n + 1, np.int32)
    for e in range(m):
        first[pairs[e, 0] + 1] += 1
        first[pairs[e, 1] + 1] += 1
    for i in range(n):
        first[i + 1] += first[i]
    place = first[:n].copy()
    head, twin = np.empty(2 * m, np.int32), np.empty(2 * m, np.int32)
    room = np.empty(2 * m)
    for e in range(m):
        i, j = pairs[e, 0], pairs[e, 1]
        a = place[i]
        place[i] += 1
        b = place[j]
        place[j] += 1
        head[a], head[b], twin[a], twin[b] = j, i, b, a
        room[a], room[b] = there[e], back[e]
    return first, head, room, twin


@njit(cache=True, nogil=True)
def augment_path(bridge, spare, head, room, twin, up, orphans):
    """Fill the path through the arc `bridge` from S to T; returns how many orphans."""
    amount = room[bridge]
    i = head[twin[bridge]]
    while up[i] != ROOT:
        amount = min(amount, room[twin[up[i]]])
        i = head[up[i]]
    amount = min(amount, spare[i])
    i = head[bridge]
    while up[i] != ROOT:
        amount = min(amount, room[up[i]])
        i = head[up[i]]
    amount = min(amount, -spare[i])
    count = 0
    room[bridge] -= amount
    room[twin[bridge]] += amount
    i = head[twin[bridge]]
    while up[i] != ROOT:
        a = up[i]
        room[a] += amount
        room[twin[a]] -= amount
        if room[twin[a]] <= 0:
            up[i] = ORPHAN
            orphans[count] = i
            count += 1
        i = head[a]
    spare[i] -= amount
    if spare[i] <= 0:
        up[i] = ORPHAN
        orphans[count] = i
        count += 1
    i = head[bridge]
    while up[i] != ROOT:
        a = up[i]
        room[a] -= amount
        room[twin[a]] += amount
        if room[a] <= 0:
            up[i] = ORPHAN
            orphans[count] = i
            count += 1
        i = head[a]
    spare[i] += amount
    if spare[i] >= 0:
        up[i] = ORPHAN
        orphans[count] = i
        count += 1
    return count


@njit(cache=True, nogil=True)
def distance_to_root(j, head, up, seen, far, clock):
    """Steps from j to its root, or -1 if the way is broken; marks the way."""
    d, k = 0, j
    while seen[k] != clock:
        if up[k] == ROOT:
            seen[k], far[k] = clock, 1
            break
        if up[k] < 0:
            return -1
        d += 1
        k = head[up[k]]
    total = d + far[k]
    d, k = total, j
    while seen[k] != clock:
        seen[k], far[k] = clock, d
        d -= 1
        k = head[up[k]]
    return total


@njit(cache=True, nogil=True)
def adopt_orphan(i, first, head, room, twin, tree, up, seen, far, clock):
    """The arc to a new parent of orphan i whose way leads to the root, or NONE."""
    best, least = NONE, 2147483647
    for a in range(first[i], first[i + 1]):
        j = head[a]
        if tree[j] != tree[i] or up[j] == NONE or up[j] == ORPHAN:
            continue
        open_ = room[twin[a]] > 0 if tree[i] == 1 else room[a] > 0
        if open_:
            d = distance_to_root(j, head, up, seen, far, clock)
            if 0 < d < least:
                best, least = a, d
    if best != NONE:
        seen[i], far[i] = clock, least + 1
    return best


@njit(cache=True, nogil=True)
def minimum_cut(spare, first, head, room, twin):
    """1 for nodes on the source's side of a least cut, 2 for the sink's, 0 for either.

    `spare` and `room` end as what is left.
    """
    n = len(spare)
    tree, up = np.zeros(n, np.int8), np.full(n, NONE, np.int32)
    seen, far = np.zeros(n, np.int32), np.zeros(n, np.int32)
    queue, queued = np.empty(n + 1, np.int32), np.zeros(n, np.bool_)
    orphans, clock, low, high = np.empty(n + 1, np.int32), 0, 0, 0
    for i in range(n):
        if spare[i] != 0:
            tree[i], up[i], far[i] = (1 if spare[i] > 0 else 2), ROOT, 1
            queue[high], queued[i] = i, True
            high += 1
    while low != high:
        i = queue[low]
        bridge = NONE
        if up[i] != NONE:
            for a in range(first[i], first[i + 1]):
                if (room[a] if tree[i] == 1 else room[twin[a]]) <= 0:
                    continue
                j = head[a]
                if tree[j] == 0:
                    tree[j], up[j], seen[j], far[j] = (
                        tree[i],
                        twin[a],
                        seen[i],
                        far[i] + 1,
                    )
                    if not queued[j]:
                        queue[high], queued[j] = j, True
                        high = high + 1 if high < n else 0
                elif tree[j] != tree[i]:
                    bridge = a if tree[i] == 1 else twin[a]
                    break
                elif seen[j] <= seen[i] and far[j] > far[i] + 1:
                    up[j], seen[j], far[j] = twin[a], seen[i], far[i] + 1
        if bridge == NONE:
            queued[i] = False
            low = low + 1 if low < n else 0
            continue
        clock += 1
        count, k = augment_path(bridge, spare, head, room, twin, up, orphans), 0
        while k < count:
            o = orphans[k]
            k += 1
            up[o] = adopt_orphan(o, first, head, room, twin, tree, up, seen, far, clock)
            if up[o] != NONE:
                continue
            for a in range(first[o], first[o + 1]):
                j = head[a]
                if tree[j] != tree[o] or up[j] == NONE:
                    continue
                if (room[twin[a]] if tree[o] == 1 else room[a]) > 0 and not queued[j]:
                    queue[high], queued[j] = j, True
                    high = high + 1 if high < n else 0
                if up[j] >= 0 and head[up[j]] == o:
                    up[j] = ORPHAN
                    orphans[count] = j
                    count += 1
            tree[o] = 0
    return tree
