"""Compiled loops of `boruvka.py`, in its letters; rows are numbered in tree order."""

import numpy as np

from ...core.loops.compiled import compiled
from ...distances._kd_tree import distances_to_rows, min_distance_to_box
from ...graphs._spanning_trees import find_root


@compiled
def boruvka_rounds(tree, c, metric, left, right, weight):
    """Fill in the edges of the lightest tree; how many were found.

    `tree` is (XT, lo, hi, levels) of a `KDTree`, `metric` is (kind, p).
    """
    XT, lo, levels = tree[0], tree[1], tree[3]
    n = len(c)
    group, parent = np.arange(n), np.arange(n)
    mate = np.full(n, -1)
    floor = c.copy()
    least, single = np.empty(len(lo)), np.empty(len(lo), np.int64)
    best, away, start = np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
    work = (np.empty(99, np.int64), np.empty(99), np.empty(len(XT[0])))
    count = 0
    while count < n - 1:
        summarise_nodes(levels, c, group, least, single)
        parts = (group, least, single)
        best[:] = np.inf
        for i in range(n):  # what was found before and is still outside
            g = group[i]
            if mate[i] >= 0 and group[mate[i]] != g and floor[i] < best[g]:
                best[g] = floor[i]
                start[g] = i
                away[g] = mate[i]
        for i in range(n):
            g = group[i]
            if floor[i] < best[g]:
                best[g], j = nearest_in_other_component(
                    tree, c, metric, i, parts, best[g], work
                )
                mate[i] = j
                floor[i] = best[g]
                if j >= 0:
                    start[g], away[g] = i, j
        before = count
        for g in range(n):
            if best[g] < np.inf:
                a, b = find_root(parent, start[g]), find_root(parent, away[g])
                if a != b:
                    parent[max(a, b)] = min(a, b)
                    left[count], right[count] = start[g], away[g]
                    weight[count] = best[g]
                    count += 1
        if count == before:
            break
        for i in range(n):
            group[i] = find_root(parent, i)
    return count


@compiled
def summarise_nodes(levels, c, group, least, single):
    """The least c in every node, and the part that all its rows are in, or -1."""
    n = len(c)
    leaves = 1 << levels
    for j in range(leaves):
        node, first = leaves - 1 + j, (n * j) >> levels
        least[node], single[node] = c[first], group[first]
        for i in range(first + 1, (n * (j + 1)) >> levels):
            least[node] = min(least[node], c[i])
            if group[i] != single[node]:
                single[node] = -1
    for node in range(leaves - 2, -1, -1):
        a, b = 2 * node + 1, 2 * node + 2
        least[node] = min(least[a], least[b])
        single[node] = single[a] if single[a] == single[b] else -1


@compiled
def nearest_in_other_component(tree, c, metric, i, parts, best, work):
    """The nearest row to row i in another part, if nearer than `best`: (m, row or -1).

    Nearer nodes come first; a node is left out if its box or its c is too far, or if
    all its rows are in i's part. No m is below c_i, so the first to reach it ends the
    search.
    """
    XT, lo, hi, levels = tree
    kind, p = metric
    group, least, single = parts
    nodes, gaps, out = work
    n = len(c)
    leaves = 1 << levels
    g = group[i]
    nearest = -1
    nodes[0], gaps[0], depth = 0, 0.0, 1
    while depth:
        depth -= 1
        node = nodes[depth]
        if gaps[depth] >= best or least[node] >= best or single[node] == g:
            continue
        if node < leaves - 1:
            a, b = 2 * node + 1, 2 * node + 2
            x = min_distance_to_box(XT, i, lo[a], hi[a], kind, p)
            y = min_distance_to_box(XT, i, lo[b], hi[b], kind, p)
            if x < y:
                a, b, x, y = b, a, y, x
            nodes[depth], gaps[depth] = a, x
            nodes[depth + 1], gaps[depth + 1] = b, y
            depth += 2
            continue
        j = node - (leaves - 1)
        first, last = (n * j) >> levels, (n * (j + 1)) >> levels
        distances_to_rows(XT, first, last - first, XT, i, kind, p, out)
        for t in range(first, last):
            m = max(out[t - first], c[i], c[t])
            if m < best and group[t] != g:
                best, nearest = m, t
        if best <= c[i]:
            break
    return best, nearest
