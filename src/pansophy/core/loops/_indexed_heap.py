"""Compiled binary heap of numbered items, whose keys may change while they are in it.

heap[0] is the item of the smallest key, place[item] where an item is in the heap; both
are kept in step. Put a new item at the end and let it rise; after its key fell let it
rise, after it grew let it sink.
"""

from .compiled import compiled


@compiled(inner=True)
def indexed_heap_rise(heap, place, key, index):
    """Move the item at a place of the heap up to where it belongs."""
    item = heap[index]
    while index > 0:
        parent = (index - 1) >> 1
        if key[heap[parent]] <= key[item]:
            break
        heap[index] = heap[parent]
        place[heap[index]] = index
        index = parent
    heap[index] = item
    place[item] = index


@compiled(inner=True)
def indexed_heap_sink(heap, place, key, index, size):
    """Move the item at a place of a heap of `size` down to where it belongs."""
    item = heap[index]
    while True:
        child = 2 * index + 1
        if child >= size:
            break
        if child + 1 < size and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        if key[heap[child]] >= key[item]:
            break
        heap[index] = heap[child]
        place[heap[index]] = index
        index = child
    heap[index] = item
    place[item] = index
