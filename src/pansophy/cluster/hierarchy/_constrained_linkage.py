"""Compiled loops of `constrained_linkage.py`: merges along the edges of a graph."""

import numpy as np

from ...core.loops.compiled import compiled
from ._linkage import COMPLETE, WARD


@compiled
def heap_before(heap, ends, i, j):
    """Whether entry i of the heap comes before entry j: by weight, then by names."""
    if heap[i] != heap[j]:
        return heap[i] < heap[j]
    if ends[i, 0] != ends[j, 0]:
        return ends[i, 0] < ends[j, 0]
    return ends[i, 1] < ends[j, 1]


@compiled
def heap_swap(heap, ends, i, j):
    heap[i], heap[j] = heap[j], heap[i]
    for c in range(2):
        ends[i, c], ends[j, c] = ends[j, c], ends[i, c]


@compiled
def heap_rise(heap, ends, i):
    while i and heap_before(heap, ends, i, (i - 1) // 2):
        heap_swap(heap, ends, i, (i - 1) // 2)
        i = (i - 1) // 2


@compiled
def heap_sink(heap, ends, i, count):
    while True:
        low = i
        for child in (2 * i + 1, 2 * i + 2):
            if child < count and heap_before(heap, ends, child, low):
                low = child
        if low == i:
            return
        heap_swap(heap, ends, i, low)
        i = low


@compiled
def ward_weight(C, size, a, b):
    """|A| |B| / (|A| + |B|) times the squared distance of the centroids."""
    total = 0.0
    for c in range(C.shape[1]):
        total += (C[a, c] - C[b, c]) ** 2
    return total * size[a] * size[b] / (size[a] + size[b])


@compiled
def gather_neighbors(a, head, link, other, weight, alive, place, near, value, count):
    """Neighbours of a that still exist, added to those found: their number.

    place[c] is the position of cluster c among `near`, or -1.
    """
    e = head[a]
    while e >= 0:
        c = other[e]
        if alive[c] and place[c] < 0:
            place[c] = count
            near[count] = c
            value[count, 0] = -1.0
            value[count, 1] = -1.0
            count += 1
        e = link[e]
    return count


@compiled
def record_edge_weights(a, side, head, link, other, weight, alive, place, value):
    """Weights of a's edges beside the neighbours they lead to."""
    e = head[a]
    while e >= 0:
        if alive[other[e]]:
            value[place[other[e]], side] = weight[e]
        e = link[e]


@compiled
def merged_edge_weight(u, v, na, nb, kind):
    """The weight of an edge to the union from those to its parts (-1: no edge)."""
    if u < 0 or v < 0:
        return max(u, v)
    return max(u, v) if kind == COMPLETE else (na * u + nb * v) / (na + nb)


@compiled
def merge_along_edges(row, column, length, C, n, merges, kind, children, height):
    """The first merges of a connected graph, cheapest edge first.

    C (2 n - 1, d) holds the rows, and gets the centroids, for Ward's method.
    """
    edges = len(row)
    total = n + merges
    size, alive = np.ones(total), np.ones(total, np.bool_)
    head, place = np.full(total, -1), np.full(total, -1)
    link, other = np.empty(4 * edges, np.int64), np.empty(4 * edges, np.int64)
    weight = np.empty(4 * edges)
    used = 0
    heap = np.empty(2 * edges)
    ends = np.empty((2 * edges, 2), np.int64)
    count = edges
    near, value = np.empty(total, np.int64), np.empty((total, 2))
    for e in range(edges):
        a, b = row[e], column[e]
        w = ward_weight(C, size, a, b) if kind == WARD else length[e]
        heap[e], ends[e, 0], ends[e, 1] = w, a, b
        for u, v in ((a, b), (b, a)):
            link[used] = head[u]
            other[used] = v
            weight[used] = w
            head[u] = used
            used += 1
    for i in range(count // 2, -1, -1):
        heap_sink(heap, ends, i, count)
    for t in range(merges):
        while True:
            w, a, b = heap[0], ends[0, 0], ends[0, 1]
            count -= 1
            heap_swap(heap, ends, 0, count)
            heap_sink(heap, ends, 0, count)
            if alive[a] and alive[b]:
                break
        k = n + t
        children[t, 0] = min(a, b)
        children[t, 1] = max(a, b)
        height[t] = w
        alive[a] = alive[b] = alive[k] = False
        size[k] = size[a] + size[b]
        if kind == WARD:
            for c in range(C.shape[1]):
                C[k, c] = (size[a] * C[a, c] + size[b] * C[b, c]) / size[k]
        n_neighbors = gather_neighbors(
            a, head, link, other, weight, alive, place, near, value, 0
        )
        n_neighbors = gather_neighbors(
            b, head, link, other, weight, alive, place, near, value, n_neighbors
        )
        record_edge_weights(a, 0, head, link, other, weight, alive, place, value)
        record_edge_weights(b, 1, head, link, other, weight, alive, place, value)
        if used + 2 * n_neighbors > len(link):
            more = np.empty(len(link) + 2 * n_neighbors, np.int64)
            link, other = np.concatenate((link, more)), np.concatenate((other, more))
            weight = np.concatenate((weight, np.empty(len(more))))
        if count + n_neighbors > len(heap):
            heap = np.concatenate((heap, np.empty(len(heap) + n_neighbors)))
            ends = np.concatenate(
                (ends, np.empty((len(ends) + n_neighbors, 2), np.int64))
            )
        for q in range(n_neighbors):
            c = near[q]
            place[c] = -1
            if kind == WARD:
                w = ward_weight(C, size, k, c)
            else:
                w = merged_edge_weight(value[q, 0], value[q, 1], size[a], size[b], kind)
            for u, v in ((k, c), (c, k)):
                link[used] = head[u]
                other[used] = v
                weight[used] = w
                head[u] = used
                used += 1
            heap[count], ends[count, 0], ends[count, 1] = w, c, k
            heap_rise(heap, ends, count)
            count += 1
        alive[k] = True
