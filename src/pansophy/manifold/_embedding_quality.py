"""Compiled loop of trustworthiness: ranks of rows among the neighbours of another."""

from ..core.loops.compiled import compiled


@compiled
def excess_ranks(D, first, near, k):
    """Sum over rows and their neighbours on the map of how far ranks exceed k.

    D (b, n) are distances from rows first, first + 1, ... to all rows, near (b, k) the
    numbers of their neighbours on the map. Of equals the lower number is nearer.
    """
    b, n = D.shape
    total = 0
    for i in range(b):
        row = D[i]
        for s in range(k):
            j = near[i, s]
            d = row[j]
            rank = 0
            for t in range(n):
                rank += row[t] < d
            for t in range(j):
                rank += row[t] == d
            if row[first + i] < d or (row[first + i] == d and first + i < j):
                rank -= 1
            total += max(0, rank + 1 - k)
    return total
