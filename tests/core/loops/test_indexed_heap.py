"""The indexed heap gives items by their keys, whatever changes meanwhile."""

import numba
import numpy as np

from pansophy.core.loops._indexed_heap import indexed_heap_rise, indexed_heap_sink


@numba.njit
def sorted_by_heap(key, changes):
    """All items in the order of their keys, after some keys were changed."""
    n = len(key)
    heap, place = np.arange(n), np.arange(n)
    for i in range(n // 2, -1, -1):
        indexed_heap_sink(heap, place, key, i, n)
    for j in range(len(changes)):
        item = int(changes[j, 0])
        old = key[item]
        key[item] = changes[j, 1]
        if key[item] < old:
            indexed_heap_rise(heap, place, key, place[item])
        else:
            indexed_heap_sink(heap, place, key, place[item], n)
    order = np.empty(n, np.int64)
    for size in range(n, 0, -1):
        order[n - size] = heap[0]
        heap[0] = heap[size - 1]
        place[heap[0]] = 0
        if size > 1:
            indexed_heap_sink(heap, place, key, 0, size - 1)
    return order


def test_order_after_changes(rng):
    for n in (1, 2, 3, 17, 100):
        key = rng.normal(size=n)
        changes = np.column_stack([rng.integers(n, size=50), rng.normal(size=50)])
        order = sorted_by_heap(key, changes)
        np.testing.assert_array_equal(order, np.argsort(key))
