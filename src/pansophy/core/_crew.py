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

import sys

from numba import njit, types
from numba.extending import intrinsic

TICKET, DONE, STOP = 0, 16, 32  # places on the board, on cache lines of their own
SIZE = 48
ROUND = 1 << 40  # ticket = round * ROUND + items * ITEM + next
ITEM = 1 << 20
PATIENCE = 2000  # looks at the board before the processor is offered to others

give_way = types.ExternalFunction(
    "SwitchToThread" if sys.platform == "win32" else "sched_yield", types.int32()
)


def place(context, builder, kind, args):
    """Pointer to a[i] of an int64 array."""
    array = context.make_array(kind)(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


@intrinsic
def look(typing, a, i):
    """a[i] as the other threads left it."""

    def generate(context, builder, signature, args):
        where = place(context, builder, signature.args[0], args)
        return builder.load_atomic(where, "acquire", 8)

    return types.int64(a, types.int64), generate


@intrinsic
def put(typing, a, i, v):
    """a[i] = v, with everything written before it."""

    def generate(context, builder, signature, args):
        where = place(context, builder, signature.args[0], args)
        builder.store_atomic(args[2], where, "release", 8)
        return context.get_dummy_value()

    return types.none(a, types.int64, types.int64), generate


@intrinsic
def raise_by(typing, a, i, v):
    """a[i] += v, at once; what it was."""

    def generate(context, builder, signature, args):
        where = place(context, builder, signature.args[0], args)
        return builder.atomic_rmw("add", where, args[2], "acq_rel")

    return types.int64(a, types.int64, types.int64), generate


@intrinsic
def exchange(typing, a, i, old, new):
    """a[i] = new if it is still `old`; whether it was."""

    def generate(context, builder, signature, args):
        where = place(context, builder, signature.args[0], args)
        pair = builder.cmpxchg(where, args[2], args[3], "acq_rel", "acquire")
        return builder.extract_value(pair, 1)

    return types.boolean(a, types.int64, types.int64, types.int64), generate


@njit(cache=True, nogil=True)
def publish(board, items):
    """Offer items 0 .. items - 1; those of the round before must be settled."""
    put(board, DONE, 0)
    put(board, TICKET, (board[TICKET] // ROUND + 1) * ROUND + items * ITEM)


@njit(cache=True, nogil=True)
def take(board):
    """An item to work on, or -1 if there is none now."""
    while True:
        ticket = look(board, TICKET)
        at, items = ticket % ITEM, ticket % ROUND // ITEM
        if at >= items:
            return -1
        if exchange(board, TICKET, ticket, ticket + 1):
            return at


@njit(cache=True, nogil=True)
def done(board):
    """Say that an item is finished."""
    raise_by(board, DONE, 1)


@njit(cache=True, nogil=True)
def settle(board):
    """Wait until every item of the round is finished."""
    items, turns = look(board, TICKET) % ROUND // ITEM, 0
    while look(board, DONE) < items:
        turns += 1
        if turns > PATIENCE:
            give_way()


@njit(cache=True, nogil=True)
def wait(board):
    """The next item for a hand, or -1 when the work is over."""
    turns = 0
    while not look(board, STOP):
        item = take(board)
        if item >= 0:
            return item
        turns += 1
        if turns > PATIENCE:
            give_way()
    return -1


@njit(cache=True, nogil=True)
def stop(board):
    """Send the hands home."""
    put(board, STOP, 1)
