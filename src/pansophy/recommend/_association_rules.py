"""Compiled intersections of transaction sets, stored as bits, 64 to a word."""

import numpy as np

from ..core.loops.compiled import compiled


@compiled
def _bits_set_in_word(x):
    """Number of bits of a word that are 1."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    low = x & np.uint64(0x3333333333333333)
    x = low + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled
def pack_transactions(indptr, indices, n_items):
    """The transactions that hold each item: bit t of row i of the result."""
    n = len(indptr) - 1
    bits = np.zeros((n_items, (n + 63) // 64), np.uint64)
    for t in range(n):
        for j in range(indptr[t], indptr[t + 1]):
            bits[indices[j], t // 64] |= np.uint64(1) << np.uint64(t % 64)
    return bits


@compiled
def frequent_extensions(bits, a, least):
    """Later rows that share at least `least` transactions with row a.

    Returns their numbers, how many they share, and the shared ones as bits.
    """
    n, words = bits.shape
    rows = np.empty(n - a - 1, np.int64)
    counts = np.empty(n - a - 1, np.int64)
    m = 0
    for b in range(a + 1, n):
        shared = np.uint64(0)
        for t in range(words):
            shared += _bits_set_in_word(bits[a, t] & bits[b, t])
        if np.int64(shared) >= least:
            rows[m], counts[m] = b, shared
            m += 1
    out = np.empty((m, words), np.uint64)
    for j in range(m):
        for t in range(words):
            out[j, t] = bits[a, t] & bits[rows[j], t]
    return rows[:m], counts[:m], out
