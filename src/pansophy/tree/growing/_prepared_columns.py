"""Compiled preparation of columns: radix sort, bin edges and byte codes.

Each column is sorted by a radix sort on the bits of its float32 values (NaN last).
"""

import numpy as np

from ...core.loops.compiled import compiled
from ._structures import MISSING_CODE

DIGIT = 11


@compiled(refcount=False)
def transpose_columns(X, x):
    """The columns of X as rows of x, in one walk over the memory of X."""
    for i in range(X.shape[0]):
        for f in range(X.shape[1]):
            x[f, i] = X[i, f] + np.float32(0.0)  # -0.0 becomes 0.0


@compiled(inner=True, inline="always")
def sortable_keys(bits, keys):
    """Unsigned keys in the order of the floats that have these bits, NaN highest."""
    for i in range(bits.size):
        b = bits[i]
        if (b & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000):
            keys[i] = np.uint32(0xFFFFFFFF)
        elif b >> np.uint32(31):
            keys[i] = ~b
        else:
            keys[i] = b | np.uint32(0x80000000)


@compiled(refcount=False)
def sort_column(bits, rows, keys, keys2, rows2, counts):
    """Rows in ascending order of their values; equal values keep their order.

    `counts` (3, 2^DIGIT) begins with zeros.
    """
    n = bits.size
    sortable_keys(bits, keys)
    size = 1 << DIGIT
    mask = np.uint32((1 << DIGIT) - 1)
    for i in range(n):
        for p in range(3):
            counts[p, (keys[i] >> np.uint32(p * DIGIT)) & mask] += 1
        rows[i] = i
    for p in range(3):
        shift = np.uint32(p * DIGIT)
        count = counts[p]
        total = 0
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


@compiled(refcount=False)
def count_present_and_distinct(v):
    """Numbers of present and of distinct values among the sorted ones."""
    n = v.size
    distinct = 0
    while n > 0 and np.isnan(v[n - 1]):
        n -= 1
    for i in range(n):
        if i == 0 or v[i] != v[i - 1]:
            distinct += 1
    return n, distinct


@compiled(refcount=False)
def bin_edges(v, w, n, distinct, most, low, high):
    """Bins of n sorted values: one per value, or of about equal weight.

    low and high receive the least and greatest value in each bin. Returns the
    number of bins.
    """
    left = 0.0
    for i in range(n):
        left += w[i] if w.size else 1.0
    b, filled = 0, 0.0
    for i in range(n):
        if i == 0:
            low[0] = v[0]
        elif v[i] != v[i - 1] and (
            distinct <= most or (b + 1 < most and filled >= left / (most - b))
        ):
            high[b] = v[i - 1]
            left -= filled
            filled = 0.0
            b += 1
            low[b] = v[i]
        filled += w[i] if w.size else 1.0
    high[b] = v[n - 1] if n else np.nan
    return b + 1


@compiled(inline="always")
def count_below(limits, x):
    """How many of 256 ascending numbers are below x, by eight steps of bisection."""
    k = 0
    k += 128 * (limits[k + 127] < x)
    k += 64 * (limits[k + 63] < x)
    k += 32 * (limits[k + 31] < x)
    k += 16 * (limits[k + 15] < x)
    k += 8 * (limits[k + 7] < x)
    k += 4 * (limits[k + 3] < x)
    k += 2 * (limits[k + 1] < x)
    k += limits[k] < x
    return k


@compiled(refcount=False)
def bin_codes(x, limits, codes):
    """The bin of each value: how many bins end below it.

    `limits` (256,) float32 are the greatest values that fall in the bins, infinity from
    the last one on.
    """
    for i in range(x.size):
        v = x[i]
        codes[i] = count_below(limits, v) if v == v else MISSING_CODE


@compiled(refcount=False)
def category_codes(x, codes):
    """Bytes of a column of codes. Returns how many there are, and if any is missing."""
    most, missing = -1, False
    for i in range(x.size):
        if np.isnan(x[i]):
            codes[i] = MISSING_CODE
            missing = True
        else:
            codes[i] = np.uint8(x[i])
            most = max(most, int(x[i]))
    return most + 1, missing


@compiled
def encode_block(X, limits, forms, codes, at, top, missing):
    """Codes of the rows of X, written from row `at` on.

    limits (d, 256) are those of `bin_codes`. A column with a form holds its codes. top
    and missing (d,) note the greatest code and whether a value is missing.
    """
    n, d = X.shape
    width = codes.shape[2]
    for i in range(n):
        for f in range(d):
            x = np.float32(X[i, f])
            c = np.uint8(MISSING_CODE)
            if x != x:
                missing[f] = 1
            elif forms[f]:
                c = np.uint8(x)
                top[f] = max(top[f], np.int64(c))
            else:
                c = np.uint8(count_below(limits[f], x))
            codes[f // width, at + i, f % width] = c
