"""Compiled selection of the largest entries of each row."""

import numpy as np

from ..core.loops.compiled import compiled


@compiled
def select_largest(S, n, codes, scores):
    """Fill codes and scores with the n largest of each row of S, best first.

    The picked ones are kept sorted; most entries fail against the least of them.
    """
    for row in range(len(S)):
        s, c, v = S[row], codes[row], scores[row]
        held = 0
        least_kept = -np.inf
        for j in range(len(s)):
            x = s[j]
            if not x > least_kept:
                continue
            slot = held if held < n else n - 1
            while slot > 0 and v[slot - 1] < x:
                v[slot], c[slot] = v[slot - 1], c[slot - 1]
                slot -= 1
            v[slot], c[slot] = x, j
            held = min(held + 1, n)
            if held == n:
                least_kept = v[n - 1]
