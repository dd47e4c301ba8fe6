"""Shared queue of work items for threads that are inside compiled loops.

Handing an item to a thread from Python costs more than many items take. Here the
threads are already inside compiled code. The *coordinator* publishes a number of items,
takes items itself until none is left, and waits for those that a *worker* has taken. A
worker that starts late or never costs nothing, since nobody waits for a thread that has
taken no item. One number, the ticket, holds the round, the number of items of the round
and the next item; the thread that replaces the ticket by the next one (compare and
exchange) owns the item, and a ticket of an earlier round cannot be replaced.

    coordinator:  publish_items(queue, n)      worker:  while True:
                  while True:                               item = wait_for_item(queue)
                      item = take_item(queue)               if item < 0: return
                      if item < 0: break                    work on the item
                      work on the item                      finish_item(queue)
                      finish_item(queue)
                  wait_until_finished(queue)

The result does not depend on which thread works on an item, as long as the work on it
does not.
"""

from ._intrinsics import (
    atomic_add,
    atomic_compare_exchange,
    atomic_load,
    atomic_store,
    yield_thread,
)
from .compiled import compiled

TICKET, DONE, STOP = 0, 16, 32  # places in the queue, each on a cache line of its own
QUEUE_SIZE = 48
ROUND = 1 << 40  # ticket = round * ROUND + items * ITEM + next
ITEM = 1 << 20
SPINS = 2000  # looks at the queue before the processor is yielded to other threads


@compiled(inline="always")
def publish_items(queue, items):
    """Offer items 0 .. items - 1; those of the last round must be finished."""
    atomic_store(queue, DONE, 0)
    atomic_store(queue, TICKET, (queue[TICKET] // ROUND + 1) * ROUND + items * ITEM)


@compiled(inline="always")
def take_item(queue):
    """An item to work on, or -1 if there is none now."""
    while True:
        ticket = atomic_load(queue, TICKET)
        position, items = ticket % ITEM, ticket % ROUND // ITEM
        if position >= items:
            return -1
        if atomic_compare_exchange(queue, TICKET, ticket, ticket + 1):
            return position


@compiled(inline="always")
def finish_item(queue):
    """Report that an item is finished."""
    atomic_add(queue, DONE, 1)


@compiled(inline="always")
def wait_until_finished(queue):
    """Wait until every item of the round is finished."""
    items = atomic_load(queue, TICKET) % ROUND // ITEM
    spins = 0
    while atomic_load(queue, DONE) < items:
        spins += 1
        if spins > SPINS:
            yield_thread()


@compiled(inline="always")
def wait_for_item(queue):
    """The next item for a worker, or -1 when the work is over."""
    spins = 0
    while not atomic_load(queue, STOP):
        item = take_item(queue)
        if item >= 0:
            return item
        spins += 1
        if spins > SPINS:
            yield_thread()
    return -1


@compiled
def stop_workers(queue):
    """Make `wait_for_item` return -1 in every worker."""
    atomic_store(queue, STOP, 1)
