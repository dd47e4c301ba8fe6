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
        least = -np.inf
        for j in range(len(s)):
            x = s[j]
            if not x > least:
                continue
            at = held if held < n else n - 1
            while at > 0 and v[at - 1] < x:
                v[at], c[at] = v[at - 1], c[at - 1]
                at -= 1
            v[at], c[at] = x, j
            held = min(held + 1, n)
            if held == n:
                least = v[n - 1]
