"""Compiled minimum spanning trees: Prim over points, Kruskal over edges."""

import numpy as np

from ..core.loops.compiled import FASTMATH_NO_NAN, compiled

EUCLIDEAN, MANHATTAN, CHEBYSHEV, MINKOWSKI = range(4)
POINT_CHUNK = 512  # points whose distances are computed at a time
# no distance is NaN; infinities keep their meaning


@compiled(fastmath=FASTMATH_NO_NAN)
def accumulate_distances(XT, x, a, b, kind, p, out):
    """out[j] = distance (before the root) from x to points a .. b, by columns."""
    d = XT.shape[0]
    m = b - a
    out[:m] = 0.0
    c = 0
    if kind == EUCLIDEAN:
        while c + 3 < d:
            x0, x1, x2, x3 = x[c], x[c + 1], x[c + 2], x[c + 3]
            r0, r1 = XT[c, a:b], XT[c + 1, a:b]
            r2, r3 = XT[c + 2, a:b], XT[c + 3, a:b]
            for j in range(m):
                e0, e1, e2, e3 = r0[j] - x0, r1[j] - x1, r2[j] - x2, r3[j] - x3
                out[j] += (e0 * e0 + e1 * e1) + (e2 * e2 + e3 * e3)
            c += 4
        while c < d:
            row, v = XT[c, a:b], x[c]
            for j in range(m):
                out[j] += (row[j] - v) * (row[j] - v)
            c += 1
        return
    for c in range(d):
        row, v = XT[c, a:b], x[c]
        if kind == MANHATTAN:
            for j in range(m):
                out[j] += abs(row[j] - v)
        elif kind == CHEBYSHEV:
            for j in range(m):
                out[j] = max(out[j], abs(row[j] - v))
        else:
            for j in range(m):
                out[j] += abs(row[j] - v) ** p


@compiled(fastmath=FASTMATH_NO_NAN)
def _relax_edges(t, core, source_core, best, parent, source, a, b):
    """Update the best lengths with those of a new source; the smallest of best[a:b]."""
    m = b - a
    best_part = best[a:b]
    parent_part = parent[a:b]
    smallest = np.inf
    if len(core):
        c = core[a:b]
        for j in range(m):
            t[j] = max(max(t[j], source_core), c[j])
    for j in range(m):
        shorter = t[j] < best_part[j]
        best_part[j] = t[j] if shorter else best_part[j]
        parent_part[j] = source if shorter else parent_part[j]
    for j in range(m):
        smallest = min(smallest, best_part[j])
    return smallest


@compiled
def prim_points(XT, core, kind, p, left, right, weight):
    """Edges of a minimum spanning tree in the order in which Prim adds them.

    XT and core are overwritten: the points outside the tree are kept contiguous.
    """
    d, n = XT.shape
    ids = np.arange(n)
    best = np.full(n, np.inf)
    parent = np.zeros(n, np.int64)
    t, x = np.empty(POINT_CHUNK), np.empty(d)
    last_added = 0
    m = n
    for step in range(n - 1):
        source = ids[last_added]
        source_core = core[last_added] if len(core) else 0.0
        m -= 1  # the point `last_added` joins the tree; the last one takes its place
        for c in range(d):
            x[c] = XT[c, last_added]
            XT[c, last_added] = XT[c, m]
        ids[last_added], best[last_added], parent[last_added] = (
            ids[m],
            best[m],
            parent[m],
        )
        if len(core):
            core[last_added] = core[m]
        lowest = np.inf
        last_added = 0
        for a in range(0, m, POINT_CHUNK):
            b = min(a + POINT_CHUNK, m)
            accumulate_distances(XT, x, a, b, kind, p, t)
            smallest = _relax_edges(t, core, source_core, best, parent, source, a, b)
            if smallest <= lowest:
                for j in range(a, b):  # ties go to the lowest row
                    if best[j] == smallest and (
                        smallest < lowest or ids[j] < ids[last_added]
                    ):
                        lowest, last_added = smallest, j
        left[step] = parent[last_added]
        right[step] = ids[last_added]
        weight[step] = best[last_added]


@compiled
def prim_matrix(D, left, right, weight):
    """`prim_points` for a matrix of distances."""
    n = len(D)
    best = np.full(n, np.inf)
    parent = np.zeros(n, np.int64)
    in_tree = np.zeros(n, np.bool_)
    last_added = 0
    for step in range(n - 1):
        in_tree[last_added] = True
        low = np.inf
        nearest = -1
        row = D[last_added]
        for j in range(n):
            if in_tree[j]:
                continue
            if row[j] < best[j]:
                best[j], parent[j] = row[j], last_added
            if best[j] < low or nearest < 0:
                low = best[j]
                nearest = j
        left[step] = parent[nearest]
        right[step] = nearest
        weight[step] = low
        last_added = nearest


@compiled
def find_root(parent, i):
    """The representative of the set of i, with path halving (union-find)."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@compiled
def kruskal_edges(order, row, column, n, kept):
    """Edges that join two components, in the given order; returns their number."""
    parent = np.arange(n)
    count = 0
    for e in order:
        a, b = find_root(parent, row[e]), find_root(parent, column[e])
        if a != b:
            parent[max(a, b)] = min(a, b)
            kept[count] = e
            count += 1
            if count == n - 1:
                break
    return count
