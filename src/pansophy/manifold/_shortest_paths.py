"""Compiled loops of shortest paths, by Dijkstra with a binary heap or with buckets.

Both give the least fixed point of D[s, v] = min_u D[s, u] + length(u, v), the same
numbers to the last bit. Dijkstra's order scans each node once, and pays for a heap.
Buckets hold nodes whose distance is within one width, in no order: a node may be
scanned again when a shorter way is found inside its bucket, but moves at no cost.
"""

import numpy as np

from ..core.loops._indexed_heap import indexed_heap_rise, indexed_heap_sink
from ..core.loops.compiled import compiled


@compiled
def dijkstra_paths(indptr, indices, length, lo, hi, D):
    """D[s] = shortest distances from each source s to every node; inf if none."""
    n = len(indptr) - 1
    heap, place = np.empty(n, np.int64), np.empty(n, np.int64)
    for s in range(lo, hi):
        key = D[s]
        key[:] = np.inf
        place[:] = -1
        key[s] = 0.0
        heap[0], place[s], size = s, 0, 1
        while size > 0:
            node = heap[0]
            size -= 1
            if size > 0:
                heap[0] = heap[size]
                indexed_heap_sink(heap, place, key, 0, size)
            for e in range(indptr[node], indptr[node + 1]):
                neighbor = indices[e]
                far = key[node] + length[e]
                if far < key[neighbor]:
                    key[neighbor] = far
                    if place[neighbor] < 0:
                        place[neighbor] = size
                        heap[size] = neighbor
                        size += 1
                    indexed_heap_rise(heap, place, key, place[neighbor])


@compiled
def _bucket_unlink(to, bucket, head, after, before):
    """Take a node out of its bucket."""
    a, b = before[to], after[to]
    if a >= 0:
        after[a] = b
    else:
        head[bucket] = b
    if b >= 0:
        before[b] = a


@compiled
def bucket_paths(indptr, indices, length, width, count, lo, hi, D):
    """`dijkstra_paths` with a ring of `count` > max(length) / width + 1 buckets.

    Returns the first source not done: where nodes are scanned more than four times
    on average, the widths do not suit the lengths and a heap is better.
    """
    n = len(indptr) - 1
    head = np.full(count, -1, np.int32)
    bucket = np.empty(n, np.int32)
    following, preceding = np.empty(n, np.int32), np.empty(n, np.int32)
    per_width = 1.0 / width
    for s in range(lo, hi):
        key = D[s]
        for v in range(n):
            key[v] = np.inf
            bucket[v] = -1
        key[s], bucket[s], following[s], preceding[s] = 0.0, 0, -1, -1
        head[0] = s
        waiting = 1
        scans = 0
        b = 0
        while waiting > 0:
            while head[b] < 0:
                b = b + 1 if b + 1 < count else 0
            node = head[b]
            _bucket_unlink(node, b, head, following, preceding)
            bucket[node] = -1
            waiting -= 1
            scans += 1
            if scans > 4 * n + 16:
                return s
            for e in range(indptr[node], indptr[node + 1]):
                neighbor = indices[e]
                far = key[node] + length[e]
                if far >= key[neighbor]:
                    continue
                key[neighbor] = far
                slot = np.int64(far * per_width) % count
                old = bucket[neighbor]
                if slot == old:
                    continue
                if old >= 0:
                    _bucket_unlink(neighbor, old, head, following, preceding)
                else:
                    waiting += 1
                first = head[slot]
                if first >= 0:
                    preceding[first] = neighbor
                following[neighbor] = first
                preceding[neighbor] = -1
                head[slot], bucket[neighbor] = neighbor, slot
    return hi
