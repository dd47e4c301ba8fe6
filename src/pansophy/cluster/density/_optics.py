"""Compiled loops of `optics.py`: the ordering, by the nearest row not visited yet."""

import numpy as np

from ...core.loops.compiled import FASTMATH_NO_NAN, compiled
from ...graphs._spanning_trees import POINT_CHUNK, accumulate_distances

SAME = 1 + 1e-12  # two ways to compute one distance differ by less


@compiled(fastmath=FASTMATH_NO_NAN)
def update_reachability(t, core_distance, limit, best, came, source):
    """Eq. (2) for a chunk of rows, where it is less than before; the least of best."""
    low = np.inf
    same = core_distance * SAME
    for j in range(len(best)):
        v = core_distance if t[j] <= same else t[j]
        nearer = (v < best[j]) & (t[j] <= limit)
        best[j] = v if nearer else best[j]
        came[j] = source if nearer else came[j]
    for j in range(len(best)):
        low = min(low, best[j])
    return low


@compiled
def next_row(best, ids, low, a, b, at):
    """The place of least best, of equals that with the lowest row number."""
    for j in range(a, b):
        if best[j] == low and (best[at] != low or ids[j] < ids[at]):
            at = j
    return at


@compiled
def ordering_loop(XT, core, kind, p, limit, order, height, source):
    """Rows in the order of eq. (3), their reachabilities and where they came from.

    XT is used up: the rows not visited yet are kept together.
    """
    d, n = XT.shape
    ids = np.arange(n)
    best = np.full(n, np.inf)
    came = np.full(n, -1)
    t = np.empty(POINT_CHUNK)
    x = np.empty(d)
    at = 0
    m = n
    for step in range(n):
        row = ids[at]
        order[step], height[row], source[row] = row, best[at], came[at]
        m -= 1  # the last row takes its place
        for c in range(d):
            x[c] = XT[c, at]
            XT[c, at] = XT[c, m]
        ids[at], best[at], came[at] = ids[m], best[m], came[m]
        low = np.inf
        at = 0
        for a in range(0, m, POINT_CHUNK):
            b = min(a + POINT_CHUNK, m)
            if core[row] < np.inf:
                accumulate_distances(XT, x, a, b, kind, p, t)
                least = update_reachability(
                    t, core[row], limit, best[a:b], came[a:b], row
                )
            else:
                least = best[a:b].min()
            if least <= low:
                low = least
                at = next_row(best, ids, low, a, b, at)
