"""Compiled loops of `dbscan_tiles.py`: pairs within eps, from products where sure."""

import numpy as np

from ...core.loops.compiled import FASTMATH, compiled
from ...graphs._spanning_trees import find_root
from ._dbscan import box_gap, within_radius

STEP = 64  # entries of a tile looked at together
SLACK = 1 + 1e-12  # of distances of boxes, for rounding


@compiled
def box_gaps(low, high, lo, hi):
    """Squared distances from one box to many."""
    out = np.empty(len(lo))
    for u in range(len(lo)):
        total = 0.0
        for c in range(len(low)):
            g = max(max(low[c] - hi[u, c], lo[u, c] - high[c]), 0.0)
            total += g * g
        out[u] = total
    return out


@compiled
def tiles_in_reach(lo, hi, away, limit):
    """The tiles t whose box is within the radius of that of t - away."""
    out = np.empty(len(lo), np.int64)
    count = 0
    for t in range(away, len(lo)):
        out[count] = t
        count += not (box_gap(lo, hi, t, t - away) > limit * SLACK)
    return out[:count]


@compiled
def count_tiles_in_reach(lo, hi, limit):
    """The number of tiles within the radius, for each difference of tile numbers."""
    return np.array([len(tiles_in_reach(lo, hi, a, limit)) for a in range(len(lo))])


@compiled(fastmath=FASTMATH)
def rows_in_reach(P, rows, lo, hi, limit):
    """The rows that are within the radius of a box."""
    out = np.empty(len(rows), np.int64)
    count = 0
    for i in rows:
        x = P[i]
        total = 0.0
        for c in range(len(lo)):
            g, h = lo[c] - x[c], x[c] - hi[c]
            g = g if g > h else h
            g = g if g > 0.0 else 0.0
            total += g * g
        out[count] = i
        count += not (total > limit * SLACK)
    return out[:count]


@compiled(fastmath=FASTMATH)
def project_onto_direction(P, rows, g):
    """Products of rows with a direction, and the largest sum of absolute terms."""
    out = np.empty(len(rows))
    top = 0.0
    for k in range(len(rows)):
        x = P[rows[k]]
        total = 0.0
        size = 0.0
        for c in range(len(g)):
            total += x[c] * g[c]
            size += abs(x[c] * g[c])
        out[k] = total
        top = max(top, size)
    return out, top


@compiled
def facing_masks(P, a, b, start, stop, limit):
    """Masks of the rows of a and of b that may be within reach, seen along a line."""
    g = stop - start
    size = 0.0
    for c in range(len(g)):
        size += g[c] * g[c]
    (p, most), (q, more) = (
        project_onto_direction(P, a, g),
        project_onto_direction(P, b, g),
    )
    last, first = -np.inf, np.inf
    for v in p:
        last = max(last, v)
    for v in q:
        first = min(first, v)
    far = np.sqrt(limit * size) * SLACK + 1e-15 * len(g) * (most + more)
    return ~(first - p > far), ~(q - last > far)


@compiled
def count_at_most(line, limit):
    """Number of entries that are at most the limit."""
    count = 0
    for j in range(len(line)):
        count += line[j] <= limit
    return count


@compiled
def any_not_above(line, start, stop, limit):
    """Whether any entry is not above the limit; one that is not a number may be."""
    result = np.int32(0)
    a = line[start:stop]
    for j in range(stop - start):
        result |= np.int32(not (a[j] > limit))
    return result != 0


@compiled
def add_neighbor(i, j, w, total, n_listed, lists):
    """Row j is within reach of row i."""
    total[i] += w[j] if len(w) else 1.0
    if n_listed[i] < lists.shape[1]:
        lists[i, n_listed[i]] = j
    n_listed[i] += 1


@compiled
def count_tile_neighbors(
    S, sure, a, b, both, P, limit, min_weight, w, total, n_listed, lists
):
    """Neighbours, among rows b, of those rows a that lack some; if both, vice versa.

    S are products, at most sure[0] for rows in reach and above sure[1] for others.
    """
    m = len(b)
    lacking = 0
    for j in b:
        lacking += both and total[j] < min_weight
    for r in range(len(a)):
        i, line, low, high = a[r], S[r], sure[0, r], sure[1, r]
        mine = total[i] < min_weight
        if mine and len(w) == 0 and total[i] + count_at_most(line, low) >= min_weight:
            total[i] = min_weight
            mine = False
            for k in range(m):
                if n_listed[i] >= lists.shape[1]:
                    break
                if line[k] <= low:
                    lists[i, n_listed[i]] = b[k]
                    n_listed[i] += 1
        if not (mine or lacking):
            continue
        for start in range(0, m, STEP):
            stop = min(start + STEP, m)
            if not any_not_above(line, start, stop, high):
                continue
            for k in range(start, stop):
                j = b[k]
                theirs = both and total[j] < min_weight
                if line[k] > high or not (mine or theirs):
                    continue
                if line[k] <= low or within_radius(P, i, j, limit):
                    if mine:
                        add_neighbor(i, j, w, total, n_listed, lists)
                    if theirs:
                        add_neighbor(j, i, w, total, n_listed, lists)
                        lacking -= total[j] >= min_weight


@compiled
def tile_joining_pairs(S, sure, P, a, b, limit, names):
    """Pairs of rows (of a, of b) within reach that join pieces, as (pairs, 2).

    names are the numbers of the pieces of the rows of a, then of b.
    """
    count, m = S.shape
    up = np.arange(names.max() + 1)
    pairs = np.empty((len(up), 2), np.int64)
    used = 0
    for i in range(count):
        line, low, high = S[i], sure[0, i], sure[1, i]
        u = find_root(up, names[i])
        for start in range(0, m, STEP):
            stop = min(start + STEP, m)
            if not any_not_above(line, start, stop, high):
                continue
            for j in range(start, stop):
                if line[j] > high:
                    continue
                v = find_root(up, names[count + j])
                if u != v and (line[j] <= low or within_radius(P, a[i], b[j], limit)):
                    pairs[used, 0], pairs[used, 1] = a[i], b[j]
                    used += 1
                    up[max(u, v)] = min(u, v)
                    u = min(u, v)
    return pairs[:used]


@compiled
def lowest_label_in_tile(S, sure, P, rows, others, limit, labels, lowest):
    """The lowest label of a core row in reach, or what was found before."""
    for i in range(len(rows)):
        for j in range(len(others)):
            name = labels[others[j]]
            if S[i, j] > sure[1, i] or (0 <= lowest[i] <= name):
                continue
            if S[i, j] <= sure[0, i] or within_radius(P, rows[i], others[j], limit):
                lowest[i] = name


@compiled
def lowest_listed_label(rows, n_listed, lists, core, labels):
    """The lowest label of a core row in the list of each row."""
    for i in rows:
        best = -1
        for j in lists[i, : n_listed[i]]:
            if core[j] and (best < 0 or labels[j] < best):
                best = labels[j]
        labels[i] = best


@compiled
def union_listed(n_listed, lists, core, parent):
    """Union of core rows with the core rows in their lists."""
    for i in range(len(core)):
        if core[i]:
            u = find_root(parent, i)
            for j in lists[i, : n_listed[i]]:
                if core[j]:
                    v = find_root(parent, j)
                    parent[max(u, v)] = min(u, v)
                    u = min(u, v)


@compiled
def union_pairs(pairs, parent):
    """Union of the two rows of each pair."""
    for e in range(len(pairs)):
        u, v = find_root(parent, pairs[e, 0]), find_root(parent, pairs[e, 1])
        parent[max(u, v)] = min(u, v)


@compiled
def component_roots(parent, rows):
    """The representatives of rows; paths are made shorter."""
    out = np.empty(len(rows), np.int64)
    for k in range(len(rows)):
        out[k] = find_root(parent, rows[k])
    return out


@compiled
def component_roots_readonly(parent, rows):
    """Roots of the components without path compression, so that threads may share."""
    out = np.empty(len(rows), np.int64)
    for k in range(len(rows)):
        i = rows[k]
        while parent[i] != i:
            i = parent[i]
        out[k] = i
    return out
