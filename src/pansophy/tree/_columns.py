"""Compiled preparation of columns: sort once, then bytes where the values fit.

Each column is sorted by a radix sort on the bits of its float32 values (NaN last).
"""

import numpy as np
from numba import njit

from ._layout import NO_BYTE

DIGIT = 11


@njit(cache=True, nogil=True, error_model="numpy")
def transpose(X, x):
    """The columns of X as rows of x, in one walk over the memory of X."""
    for i in range(X.shape[0]):
        for f in range(X.shape[1]):
            x[f, i] = X[i, f] + np.float32(0.0)  # -0.0 becomes 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def sort_keys(bits, keys):
    """Unsigned keys in the order of the floats that have these bits, NaN highest."""
    for i in range(bits.size):
        b = bits[i]
        if (b & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000):
            keys[i] = np.uint32(0xFFFFFFFF)
        elif b >> np.uint32(31):
            keys[i] = ~b
        else:
            keys[i] = b | np.uint32(0x80000000)


@njit(cache=True, nogil=True, error_model="numpy")
def sort_column(bits, rows, keys, keys2, rows2):
    """Rows in ascending order of their values; equal values keep their order."""
    n = bits.size
    sort_keys(bits, keys)
    size, mask = 1 << DIGIT, np.uint32((1 << DIGIT) - 1)
    counts = np.zeros((3, size), np.int32)
    for i in range(n):
        for p in range(3):
            counts[p, (keys[i] >> np.uint32(p * DIGIT)) & mask] += 1
        rows[i] = i
    for p in range(3):
        shift = np.uint32(p * DIGIT)
        count, total = counts[p], 0
        for b in range(size):
            count[b], total = total, total + count[b]
        for i in range(n):
            b = (keys[i] >> shift) & mask
            at = count[b]
            count[b] = at + 1
            keys2[at], rows2[at] = keys[i], rows[i]
        keys, keys2 = keys2, keys
        rows, rows2 = rows2, rows
    for i in range(n):  # three passes end in the second buffer
        rows2[i] = rows[i]


@njit(cache=True, nogil=True, error_model="numpy")
def survey(x, rows):
    """How many values are present and how many of them differ."""
    n, distinct = x.size, 0
    while n > 0 and np.isnan(x[rows[n - 1]]):
        n -= 1
    for i in range(n):
        if i == 0 or x[rows[i]] != x[rows[i - 1]]:
            distinct += 1
    return n, distinct


@njit(cache=True, nogil=True, error_model="numpy")
def bin_column(x, rows, w, n, distinct, most, codes, low, high):
    """Bytes of one sorted column: one bin per value, or bins of about equal weight.

    low and high receive the least and greatest value in each bin. Returns the
    number of bins.
    """
    left = 0.0
    for i in range(n):
        left += w[rows[i]] if w.size else 1.0
    b, filled = 0, 0.0
    for i in range(n):
        v = x[rows[i]]
        if i == 0:
            low[0] = v
        elif v != x[rows[i - 1]] and (
            distinct <= most or (b + 1 < most and filled >= left / (most - b))
        ):
            high[b] = x[rows[i - 1]]
            left -= filled
            filled = 0.0
            b += 1
            low[b] = v
        filled += w[rows[i]] if w.size else 1.0
        codes[rows[i]] = b
    high[b] = x[rows[n - 1]] if n else np.nan
    for i in range(n, x.size):
        codes[rows[i]] = NO_BYTE
    return b + 1
