"""Compiled binary heap of numbered items, whose keys may change while they are in it.

heap[0] is the item of the smallest key, place[item] where an item is in the heap; both
are kept in step. Put a new item at the end and let it rise; after its key fell let it
rise, after it grew let it sink.
"""

from .compiled import compiled


@compiled(inner=True)
def indexed_heap_rise(heap, place, key, at):
    """Move the item at a place of the heap up to where it belongs."""
    item = heap[at]
    while at > 0:
        above = (at - 1) >> 1
        if key[heap[above]] <= key[item]:
            break
        heap[at] = heap[above]
        place[heap[at]] = at
        at = above
    heap[at] = item
    place[item] = at


@compiled(inner=True)
def indexed_heap_sink(heap, place, key, at, size):
    """Move the item at a place of a heap of `size` down to where it belongs."""
    item = heap[at]
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and key[heap[below + 1]] < key[heap[below]]:
            below += 1
        if key[heap[below]] >= key[item]:
            break
        heap[at] = heap[below]
        place[heap[at]] = at
        at = below
    heap[at] = item
    place[item] = at
