"""Loops of shortest paths: Dijkstra's algorithm with a binary heap, per source."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def rise(heap, place, key, at):
    """Move the node at a place of the heap up to where it belongs."""
    node = heap[at]
    while at > 0:
        above = (at - 1) >> 1
        if key[heap[above]] <= key[node]:
            break
        heap[at] = heap[above]
        place[heap[at]] = at
        at = above
    heap[at] = node
    place[node] = at


@njit(cache=True, nogil=True)
def sink(heap, place, key, size):
    """Move the node at the top of the heap down to where it belongs."""
    node, at = heap[0], 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and key[heap[below + 1]] < key[heap[below]]:
            below += 1
        if key[heap[below]] >= key[node]:
            break
        heap[at] = heap[below]
        place[heap[at]] = at
        at = below
    heap[at] = node
    place[node] = at


@njit(cache=True, nogil=True)
def dijkstra(indptr, indices, length, lo, hi, D):
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
                sink(heap, place, key, size)
            for e in range(indptr[node], indptr[node + 1]):
                to, far = indices[e], key[node] + length[e]
                if far < key[to]:
                    key[to] = far
                    if place[to] < 0:
                        place[to] = size
                        heap[size] = to
                        size += 1
                    rise(heap, place, key, place[to])
