"""Compiled parting of a node's rows: who goes left, and moving them there."""

import numpy as np
from numba import njit

from ._structures import CODE, INNER, MISSING_LEFT, NO_BYTE, START, STOP, THRESHOLD


@njit(**INNER)
def part(rows, start, stop, side, spare):
    """Part a slice by side (1: left), keeping the order on both sides."""
    i, j = start, 0
    for k in range(start, stop):
        r = rows[k]
        left = np.intp(side[r])
        rows[i] = r
        spare[j] = r
        i += left
        j += 1 - left
    for k in range(j):
        rows[i + k] = spare[k]


@njit(**INNER)
def goes_left(node, N, S, table):
    """By byte: whether rows with it go left at a node."""
    by_set, code = S[node, 0] | S[node, 1] | S[node, 2] | S[node, 3], N[node, CODE]
    for b in range(NO_BYTE):
        table[b] = b <= code
    if by_set:
        for b in range(NO_BYTE):
            bit = S[node, b >> 6] >> np.uint64(b & 63)
            table[b] = np.uint8(bit & np.uint64(1))
    table[NO_BYTE] = N[node, MISSING_LEFT]


@njit(**INNER)
def mark(x, codes, rows, side, slot, node, N, R, S):
    """Write into `side` which rows of a node go left."""
    start, stop = N[node, START], N[node, STOP]
    if slot >= 0:
        missing, v = np.uint8(N[node, MISSING_LEFT]), R[node, THRESHOLD]
        for i in range(start, stop):
            u = x[slot, rows[i]]
            side[rows[i]] = missing if np.isnan(u) else np.uint8(u <= v)
    else:
        width, table = codes.shape[2], np.empty(256, np.uint8)
        t, j = (-slot - 1) // width, (-slot - 1) % width
        goes_left(node, N, S, table)
        for i in range(start, stop):
            side[rows[i]] = table[codes[t, rows[i], j]]
