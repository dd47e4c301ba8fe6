"""Compiled partition of a node's rows, and the sharing of a node's work among threads.

The pieces are blocks of rows (partition, gathering), parts of the rows of a tile (the
histograms of a large node) and tiles of columns (those of others, and the search). What
they write never overlaps and their sums are whole numbers, so the result does not
depend on who does what. See `core/loops/_shared_queue.py` for how pieces are taken.
"""

import numpy as np

from ...core.loops._intrinsics import prefetch
from ...core.loops._shared_queue import (
    finish_item,
    publish_items,
    take_item,
    wait_for_item,
    wait_until_finished,
)
from ...core.loops.compiled import compiled
from ._histograms import count_tile, gather_targets
from ._structures import MISSING_CODE

PARTITION = 0
MOVE = 1
GATHER = 2
COUNT = 3
TILE = 4  # kinds of work
BLOCK = 1 << 13  # rows of a piece
LEAST = 1 << 14  # values in a node from which its work is shared
AHEAD = 32  # rows looked ahead


@compiled(inner=True)
def partition_list(rows, start, stop, goes_left, spare):
    """Partition a slice by side (1: left), keeping the order on both sides."""
    i = start
    j = 0
    for k in range(start, stop):
        r = rows[k]
        left = np.intp(goes_left[r])
        rows[i] = r
        spare[j] = r
        i += left
        j += 1 - left
    for k in range(j):
        rows[i + k] = spare[k]


@compiled(inner=True)
def bytes_going_left(node, left_set, table):
    """By byte: whether rows with it go left at a node."""
    by_set = left_set[0] | left_set[1] | left_set[2] | left_set[3]
    code = node.code
    for b in range(MISSING_CODE):
        table[b] = b <= code
    if by_set:
        for b in range(MISSING_CODE):
            bit = left_set[b >> 6] >> np.uint64(b & 63)
            table[b] = np.uint8(bit & np.uint64(1))
    table[MISSING_CODE] = node.missing_left


@compiled(inner=True)
def mark_sides(data, node, left_set, table):
    """Write into data.goes_left which rows of a node go left; `table` is scratch."""
    slot = data.properties[node.feature].slot
    rows = data.lists[0]
    side = data.goes_left
    if slot >= 0:
        missing = np.uint8(node.missing_left)
        v = node.threshold
        x = data.x
        for i in range(node.start, node.stop):
            u = x[slot, rows[i]]
            side[rows[i]] = missing if np.isnan(u) else np.uint8(u <= v)
    else:
        codes = data.codes
        t, j = (-slot - 1) // codes.shape[2], (-slot - 1) % codes.shape[2]
        bytes_going_left(node, left_set, table)
        for i in range(node.start, node.stop):
            side[rows[i]] = table[codes[t, rows[i], j]]


@compiled(inner=True, inline="always")
def count_blocks(n):
    """Number of blocks of n rows."""
    return (n + BLOCK - 1) // BLOCK


@compiled(inner=True)
def partition_bytes(codes, j, table, rows, start, stop, left, right):
    """Rows that go left and rows that go right by byte, in order; how many go left.

    Every row is written on both sides, and the place on one of them moves on. Unsigned
    places save the test whether they count from the end.
    """
    flat = codes.reshape(-1)
    width = np.uint64(codes.shape[1])
    place = np.uint64(j)
    first, stop, ahead = np.uint64(start), np.uint64(stop), np.uint64(AHEAD)
    middle = stop - min(ahead, stop - first)
    a = np.uint64(0)
    b = np.uint64(0)
    for half in range(2):  # the last rows have none to look ahead to
        if half == 1:
            first, middle, ahead = middle, stop, np.uint64(0)
        for i in range(first, middle):
            prefetch(flat, np.intp(width * np.uint64(rows[i + ahead]) + place))
            r = rows[i]
            goes = np.uint64(table[flat[width * np.uint64(r) + place]])
            left[a] = r
            right[b] = r
            a += goes
            b += np.uint64(1) - goes
    return np.intp(a)


@compiled(inner=True)
def partition_block(fixed, data, node, k):
    """Block k of a node: its left rows and its right rows into the spare rows."""
    rows = data.lists[0]
    width = data.codes.shape[2]
    f = node.feature
    start = node.start + k * BLOCK
    stop = min(start + BLOCK, node.stop)
    left, right = fixed.spare_rows[0, start:stop], fixed.spare_rows[1, start:stop]
    fixed.left_counts[k] = partition_bytes(
        data.codes[f // width],
        f % width,
        fixed.byte_goes_left,
        rows,
        start,
        stop,
        left,
        right,
    )


@compiled(inner=True)
def move_block(fixed, data, node, k):
    """Block k of a node: its partitioned rows to where they belong."""
    rows = data.lists[0]
    begin = node.start
    counts = fixed.left_counts
    start = begin + k * BLOCK
    stop = min(start + BLOCK, node.stop)
    a = begin
    for i in range(k):
        a += counts[i]
    b = start + node.n_left - (a - begin)  # rights of earlier blocks, after all lefts
    for i in range(counts[k]):
        rows[a + i] = fixed.spare_rows[0, start + i]
    for i in range(stop - start - counts[k]):
        rows[b + i] = fixed.spare_rows[1, start + i]


@compiled(inner=True)
def partition_shared(fixed, data, nodes, p):
    """Partition the rows of node p by the bytes of its feature, on all threads."""
    node, work = nodes.node[p], fixed.work[0]
    n = node.stop - node.start
    m = count_blocks(n)
    bytes_going_left(node, nodes.left_set[p], fixed.byte_goes_left)
    if m > 1 and fixed.helpers:
        work.node = p
        for kind in range(PARTITION, MOVE + 1):
            work.kind = kind
            publish_items(fixed.board, m)
            k = take_item(fixed.board)
            while k >= 0:
                if kind == PARTITION:
                    partition_block(fixed, data, node, k)
                else:
                    move_block(fixed, data, node, k)
                finish_item(fixed.board)
                k = take_item(fixed.board)
            wait_until_finished(fixed.board)
        return
    rows = data.lists[0]
    width = data.codes.shape[2]
    f = node.feature
    start, stop = node.start, node.stop
    left, right = rows[start:stop], fixed.spare_rows[1, start:stop]
    cut = partition_bytes(
        data.codes[f // width],
        f % width,
        fixed.byte_goes_left,
        rows,
        start,
        stop,
        left,
        right,
    )
    for i in range(n - cut):
        rows[start + cut + i] = right[i]


@compiled(inner=True)
def count_part(fixed, data, at_root, d, k):
    """Piece k of the histograms of the rows work.start .. stop: a tile, a part."""
    work, width = fixed.work[0], data.codes.shape[2]
    m = work.parts
    n = work.stop - work.start
    t, i = k // m, k % m
    start, stop = work.start + n * i // m, work.start + n * (i + 1) // m
    lanes = min(width, d - t * width)
    count_tile(
        fixed.partial[t, i],
        data.codes[t],
        lanes,
        data.lists[0],
        start,
        stop,
        at_root,
        fixed.z,
        fixed.h,
        fixed.gathered,
    )


@compiled(inner=True, inline="always")
def rows_to_gather(nodes, progress):
    """The rows that the search of the pending nodes will count."""
    a, b = nodes.node[progress.first], nodes.node[progress.second]
    if progress.second < 0:
        return a.start, a.stop
    if progress.parent >= 0 and nodes.node[progress.parent].histogram >= 0:
        if a.stop - a.start <= b.stop - b.start:
            return a.start, a.stop
        return b.start, b.stop
    start, stop = a.start if a.is_open else b.start, b.stop if b.is_open else a.stop
    return start, stop


@compiled(inner=True, inline="always")
def following_piece(board, k, m, alone):
    """The piece after k (-1 at first) to work on, or -1 when all m are finished."""
    if alone:
        return k + 1 if k + 1 < m else -1
    if k < 0:
        publish_items(board, m)
    else:
        finish_item(board)
    k = take_item(board)
    if k < 0:
        wait_until_finished(board)
    return k


@compiled(inner=True)
def plan_search(fixed, nodes, progress, d, tiles):
    """Write down the pieces that the search of the pending nodes is made of."""
    start, stop = rows_to_gather(nodes, progress)
    alone = (stop - start + 256) * d < LEAST or not fixed.helpers
    at_root = progress.parent < 0
    ready = at_root and fixed.z.size <= fixed.gathered.shape[1]  # rows are in order
    one = progress.second < 0 or nodes.node[progress.parent].histogram >= 0
    parts = min(fixed.partial.shape[1], (stop - start) // BLOCK)
    parts = parts if one and not alone and parts > 1 else 0
    work = fixed.work[0]
    work.start = start
    work.stop = stop
    work.parts = parts
    work.alone = alone
    work.gather_pieces = 0 if ready else count_blocks(stop - start)
    work.count_pieces = tiles * parts
    work.tile_pieces = tiles
    work.kind = GATHER


@compiled(inner=True)
def next_piece(work, board, k, helper):
    """The piece to work on when k (-1 at first) is finished, or -1 when all are.

    What it is a piece of is in work.kind.
    """
    if helper:
        if k >= 0:
            finish_item(board)
        return wait_for_item(board)
    while True:
        m = work.gather_pieces if work.kind == GATHER else work.tile_pieces
        m = work.count_pieces if work.kind == COUNT else m
        k = following_piece(board, k, m, work.alone or m < 2)
        if k >= 0 or work.kind == TILE:
            return k
        work.kind += 1


@compiled(inner=True)
def prepare_rows(fixed, data, nodes, at_root, d, k):
    """Piece k of what is done to rows before the search."""
    work = fixed.work[0]
    if work.kind == PARTITION:
        partition_block(fixed, data, nodes.node[work.node], k)
    elif work.kind == MOVE:
        move_block(fixed, data, nodes.node[work.node], k)
    elif work.kind == GATHER:
        i = work.start + k * BLOCK
        gather_targets(
            data.lists[0],
            i,
            min(i + BLOCK, work.stop),
            fixed.z,
            fixed.h,
            fixed.gathered,
        )
    else:
        count_part(fixed, data, at_root, d, k)
