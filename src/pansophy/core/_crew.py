"""Work shared inside compiled loops: items on a board, taken by whoever is free.

Handing work to threads from Python costs tens of microseconds a piece, too much for a
loop that has some to share every few hundred. Here the threads are already inside
compiled code. The *lead* publishes a number of items on the board, takes items itself
until none is left, and waits for those that a *hand* has taken. A hand that is late,
or never gets to run, costs nothing, so nobody waits for a thread that has not
started. One number, the ticket, holds the round, the items of the round and the next
one to take; who exchanges it for the ticket one further owns the item, and a ticket
of an earlier round cannot be exchanged.

    lead:  publish(board, items)            hand:  while True:
           while True:                                 item = wait(board)
               item = take(board)                      if item < 0: return
               if item < 0: break                      work on the item
               work on the item                        done(board)
               done(board)
           settle(board)

What an item does must not depend on who does it; then results don't either.
"""

from numba import njit

from ._intrinsics import (
    atomic_add,
    atomic_compare_exchange,
    atomic_load,
    atomic_store,
    yield_thread,
)

TICKET, DONE, STOP = 0, 16, 32  # places on the board, on cache lines of their own
SIZE = 48
ROUND = 1 << 40  # ticket = round * ROUND + items * ITEM + next
ITEM = 1 << 20
PATIENCE = 2000  # looks at the board before the processor is offered to others


@njit(cache=True, nogil=True)
def publish(board, items):
    """Offer items 0 .. items - 1; those of the round before must be settled."""
    atomic_store(board, DONE, 0)
    atomic_store(board, TICKET, (board[TICKET] // ROUND + 1) * ROUND + items * ITEM)


@njit(cache=True, nogil=True)
def take(board):
    """An item to work on, or -1 if there is none now."""
    while True:
        ticket = atomic_load(board, TICKET)
        at, items = ticket % ITEM, ticket % ROUND // ITEM
        if at >= items:
            return -1
        if atomic_compare_exchange(board, TICKET, ticket, ticket + 1):
            return at


@njit(cache=True, nogil=True)
def done(board):
    """Say that an item is finished."""
    atomic_add(board, DONE, 1)


@njit(cache=True, nogil=True)
def settle(board):
    """Wait until every item of the round is finished."""
    items, turns = atomic_load(board, TICKET) % ROUND // ITEM, 0
    while atomic_load(board, DONE) < items:
        turns += 1
        if turns > PATIENCE:
            yield_thread()


@njit(cache=True, nogil=True)
def wait(board):
    """The next item for a hand, or -1 when the work is over."""
    turns = 0
    while not atomic_load(board, STOP):
        item = take(board)
        if item >= 0:
            return item
        turns += 1
        if turns > PATIENCE:
            yield_thread()
    return -1


@njit(cache=True, nogil=True)
def stop(board):
    """Send the hands home."""
    atomic_store(board, STOP, 1)
