"""Compiled sharing of one node's work between threads: its rows, then its tiles.

The pieces are blocks of rows (parting, gathering), parts of the rows of a tile (the
histograms of a large node) and tiles of columns (those of others, and the search).
What they write never overlaps and their sums are whole numbers, so the
result does not depend on who does what. See `core/_crew.py` for how they are taken.
"""

import numpy as np
from numba import njit

from ..core._crew import done, publish, settle, take, wait
from ..core._memory import touch
from ._histograms import count_tile, gather
from ._part import goes_left
from ._structures import (
    FEATURE,
    FIRST,
    HIST,
    INNER,
    N_LEFT,
    OPEN,
    PARENT,
    SECOND,
    START,
    STOP,
)

PART, MOVE, GATHER, COUNT, TILE = 0, 1, 2, 3, 4
# the head: what is done; a node, or rows from .. to, and parts of them; pieces of each
WHAT, PIECES, ALONE, HEAD = 0, 2, 7, 8
BLOCK = 1 << 13  # rows of a piece
LEAST = 1 << 14  # values in a node from which its work is shared
AHEAD = 32  # rows looked ahead


@njit(**INNER)
def blocks(n):
    return (n + BLOCK - 1) // BLOCK


@njit(**INNER)
def part_bytes(codes, j, table, rows, start, stop, left, right):
    """Rows that go left and rows that go right by byte, in order; how many go left.

    Every row is written on both sides, and the place on one of them moves on. Unsigned
    places save the test whether they count from the end.
    """
    flat, width, place = codes.reshape(-1), np.uint64(codes.shape[1]), np.uint64(j)
    first, stop, ahead = np.uint64(start), np.uint64(stop), np.uint64(AHEAD)
    middle, a, b = stop - min(ahead, stop - first), np.uint64(0), np.uint64(0)
    for turn in range(2):  # the last rows have none to look ahead to
        if turn == 1:
            first, middle, ahead = middle, stop, np.uint64(0)
        for i in range(first, middle):
            touch(flat, np.intp(width * np.uint64(rows[i + ahead]) + place))
            r = rows[i]
            goes = np.uint64(table[flat[width * np.uint64(r) + place]])
            left[a] = r
            right[b] = r
            a += goes
            b += np.uint64(1) - goes
    return np.intp(a)


@njit(**INNER)
def part_block(F, T, N, p, k):
    """Block k of node p: its rows parted, left ones first, in the second line."""
    rows, width, f = T.lists[0], T.codes.shape[2], N[p, FEATURE]
    start = N[p, START] + k * BLOCK
    stop = min(start + BLOCK, N[p, STOP])
    left, right = F.spare[0, start:stop], F.spare[1, start:stop]
    F.cuts[k] = part_bytes(T.codes[f // width], f % width, F.goes, rows, start, stop,
                           left, right)  # fmt: skip


@njit(**INNER)
def move_block(F, T, N, p, k):
    """Block k of node p: its parted rows to where they belong."""
    rows, begin = T.lists[0], N[p, START]
    start = begin + k * BLOCK
    stop = min(start + BLOCK, N[p, STOP])
    a = begin
    for i in range(k):
        a += F.cuts[i]
    b = start + N[p, N_LEFT] - (a - begin)  # rights of earlier blocks, after all lefts
    for i in range(F.cuts[k]):
        rows[a + i] = F.spare[0, start + i]
    for i in range(stop - start - F.cuts[k]):
        rows[b + i] = F.spare[1, start + i]


@njit(**INNER)
def share_parting(F, T, N, S, p):
    """Part the rows of node p by the bytes of its feature."""
    n = N[p, STOP] - N[p, START]
    m = blocks(n)
    goes_left(p, N, S, F.goes)
    if m > 1 and F.hands:
        F.head[1] = p
        for what in range(PART, MOVE + 1):
            F.head[WHAT] = what
            publish(F.board, m)
            k = take(F.board)
            while k >= 0:
                if what == PART:
                    part_block(F, T, N, p, k)
                else:
                    move_block(F, T, N, p, k)
                done(F.board)
                k = take(F.board)
            settle(F.board)
        return
    rows, width, f = T.lists[0], T.codes.shape[2], N[p, FEATURE]
    start, stop = N[p, START], N[p, STOP]
    left, right = rows[start:stop], F.spare[1, start:stop]
    cut = part_bytes(T.codes[f // width], f % width, F.goes, rows, start, stop, left,
                     right)  # fmt: skip
    for i in range(n - cut):
        rows[start + cut + i] = right[i]


@njit(**INNER)
def count_part(F, T, C, d, k):
    """Piece k of the histograms of rows head[1] .. head[2]: a tile, a part of them."""
    m, n, width = F.head[3], F.head[2] - F.head[1], T.codes.shape[2]
    t, i = k // m, k % m
    start, stop = F.head[1] + n * i // m, F.head[1] + n * (i + 1) // m
    lanes = min(width, d - t * width)
    count_tile(F.parts[t, i], T.codes[t], lanes, T.lists[0], start, stop,
               C[PARENT] < 0, F.z, F.h, F.line)  # fmt: skip


@njit(**INNER)
def to_gather(N, C):
    """The rows that the search of the pending nodes will count."""
    p, a, b = C[PARENT], C[FIRST], C[SECOND]
    if b < 0:
        return N[a, START], N[a, STOP]
    small = a if N[a, STOP] - N[a, START] <= N[b, STOP] - N[b, START] else b
    if p >= 0 and N[p, HIST] >= 0:
        return N[small, START], N[small, STOP]
    return (N[a if N[a, OPEN] else b, START], N[b if N[b, OPEN] else a, STOP])


@njit(**INNER)
def following(board, k, m, alone):
    """The piece after k (-1 at first) to work on, or -1 when all m are finished."""
    if alone:
        return k + 1 if k + 1 < m else -1
    if k < 0:
        publish(board, m)
    else:
        done(board)
    k = take(board)
    if k < 0:
        settle(board)
    return k


@njit(**INNER)
def plan_search(F, N, C, d, tiles):
    """Write down the pieces that the search of the pending nodes is made of."""
    start, stop = to_gather(N, C)
    alone = (stop - start + 256) * d < LEAST or not F.hands
    ready = C[PARENT] < 0 and F.z.size <= F.line.shape[1]  # rows are in order
    one = C[SECOND] < 0 or N[C[PARENT], HIST] >= 0  # one node is counted
    parts = min(F.parts.shape[1], (stop - start) // BLOCK) if one and not alone else 0
    parts, head = parts if parts > 1 else 0, F.head
    head[1], head[2], head[3], head[ALONE] = start, stop, parts, alone
    head[WHAT], head[PIECES + GATHER] = GATHER, 0 if ready else blocks(stop - start)
    head[PIECES + COUNT], head[PIECES + TILE] = tiles * parts, tiles


@njit(**INNER)
def next_piece(head, board, k, hand):
    """The piece to work on when k (-1 at first) is finished, or -1 when all are.

    What it is a piece of is in head[WHAT].
    """
    if hand:
        if k >= 0:
            done(board)
        return wait(board)
    while True:
        m = head[PIECES + head[WHAT]]
        k = following(board, k, m, head[ALONE] or m < 2)
        if k >= 0 or head[WHAT] == TILE:
            return k
        head[WHAT] += 1


@njit(**INNER)
def move_rows(F, T, N, C, d, k):
    """Piece k of what is done to rows before the search."""
    what = F.head[WHAT]
    if what == PART:
        part_block(F, T, N, F.head[1], k)
    elif what == MOVE:
        move_block(F, T, N, F.head[1], k)
    elif what == GATHER:
        i = F.head[1] + k * BLOCK
        gather(T.lists[0], i, min(i + BLOCK, F.head[2]), F.z, F.h, F.line)
    else:
        count_part(F, T, C, d, k)
