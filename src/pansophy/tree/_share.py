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
from ._hist import count_tile, gather, search_tile
from ._layout import (
    FEATURE,
    FIRST,
    HIST,
    INNER,
    LOOP,
    N_LEFT,
    OPEN,
    PARENT,
    SECOND,
    START,
    STOP,
)
from ._part import goes_left

PART, MOVE, GATHER, COUNT, TILE = 0, 1, 2, 3, 4
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
            F.head[0] = what
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
def count_part(P, F, T, C, k):
    """Piece k of the histograms of rows head[1] .. head[2]: a tile, a part of them."""
    m, n, width = F.head[3], F.head[2] - F.head[1], T.codes.shape[2]
    t, i = k // m, k % m
    start, stop = F.head[1] + n * i // m, F.head[1] + n * (i + 1) // m
    lanes = min(width, P.d - t * width)
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
def share_search(P, F, T, N, R, C, pool, draw, best, sets, room, H0):
    """Histograms of the pending nodes, and their best splits by feature."""
    start, stop = to_gather(N, C)
    tiles, m = T.codes.shape[0], blocks(stop - start)
    alone = (stop - start + 256) * P.d < LEAST or not F.hands
    F.head[0], F.head[1], F.head[2], F.head[3] = GATHER, start, stop, 0
    k = -1
    while C[PARENT] >= 0 or F.z.size > F.line.shape[1]:  # else they are in order
        k = following(F.board, k, m, alone or m == 1)
        if k < 0:
            break
        i = start + k * BLOCK
        gather(T.lists[0], i, min(i + BLOCK, stop), F.z, F.h, F.line)
    one = C[SECOND] < 0 or N[C[PARENT], HIST] >= 0  # one node is counted
    parts = min(F.parts.shape[1], (stop - start) // BLOCK)
    if one and parts > 1 and not alone:
        F.head[0], F.head[3], k = COUNT, parts, -1
        while True:
            k = following(F.board, k, tiles * parts, alone)
            if k < 0:
                break
            count_part(P, F, T, C, k)
    F.head[0], k = TILE, -1
    while True:
        k = following(F.board, k, tiles, alone)
        if k < 0:
            break
        search_tile(P, F, T, N, R, C, pool, draw, best, sets, k, room, H0)


@njit(**LOOP)
def help_out(P, F, T, N, R, C, pool, draw, best, sets, room, H0):
    """What another thread does until the tree is grown."""
    while True:
        k = wait(F.board)
        if k < 0:
            return
        what = F.head[0]
        if what == PART:
            part_block(F, T, N, F.head[1], k)
        elif what == MOVE:
            move_block(F, T, N, F.head[1], k)
        elif what == GATHER:
            i = F.head[1] + k * BLOCK
            gather(T.lists[0], i, min(i + BLOCK, F.head[2]), F.z, F.h, F.line)
        elif what == COUNT:
            count_part(P, F, T, C, k)
        else:
            search_tile(P, F, T, N, R, C, pool, draw, best, sets, k, room, H0)
        done(F.board)
