"""Compiled loops of the string kernels: arrays of codes in, numbers out."""

import numpy as np

from ..core.loops.compiled import compiled


@compiled
def subsequence_kernel(codes, start, other, other_start, length, decay, out):
    """The gap-weighted subsequence kernel of all pairs of strings, into `out`."""
    n, m = out.shape
    longest = 0
    for j in range(m):
        longest = max(longest, other_start[j + 1] - other_start[j])
    table = np.empty((length, longest + 1))
    for i in range(n):
        s = codes[start[i] : start[i + 1]]
        for j in range(m):
            t = other[other_start[j] : other_start[j + 1]]
            out[i, j] = _shared_subsequences(s, t, length, decay, table)


@compiled
def _shared_subsequences(s, t, length, decay, table):
    """sum over shared subsequences of decay^(spans), by dynamic programming.

    table[q, j] is K'_q of the part of s read so far and the first j symbols of t:
    subsequences of q symbols, weighted from their start to the ends of both parts.
    """
    n = len(t)
    total = 0.0
    table[0, : n + 1] = 1.0
    table[1:, : n + 1] = 0.0
    for a in s:
        for j in range(n):
            if t[j] == a:
                total += decay * decay * table[length - 1, j]
        for q in range(length - 1, 0, -1):
            running = 0.0  # K''_q
            for j in range(n):
                running *= decay
                if t[j] == a:
                    running += decay * decay * table[q - 1, j]
                table[q, j + 1] = decay * table[q, j + 1] + running
    return total
