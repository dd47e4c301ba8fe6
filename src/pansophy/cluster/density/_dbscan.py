"""Compiled loops of `dbscan.py`: the grid of cells, and unions from neighbour lists.

`grid` is (start, lo, hi, keys, steps, reach, limit): where the points of each cell
begin and the box around them, the sorted numbers of the cells, the steps from a cell to
its neighbours, how many cells away the last coordinate may be, and eps squared.
"""

import numpy as np

from ...core.loops.compiled import compiled
from ...graphs._spanning_trees import find_root


@compiled
def lower_bound(keys, value, low, high):
    """The first place in sorted keys[low:high] that is not below the value."""
    while low < high:
        mid = (low + high) // 2
        if keys[mid] < value:
            low = mid + 1
        else:
            high = mid
    return low


@compiled
def neighbor_cell_ranges(keys, places, steps, reach, a, b, out):
    """out[c - a, s]: the cells from key + step - reach to key + step + reach.

    Cells that differ in the last coordinate alone are neighbours in `keys`, so each
    step over the other coordinates is one range. Cells come by rising key, so each
    range only moves on.
    """
    n = len(keys)
    for s in range(len(steps)):
        first = lower_bound(keys, keys[a] + steps[s] - reach, 0, n)
        last = first
        for c in range(a, b):
            low, high = keys[c] + steps[s] - reach, keys[c] + steps[s] + reach
            while first < n and keys[first] < low:
                first += 1
            last = max(last, first)
            while last < n and keys[last] <= high:
                last += 1
            out[c - a, s, 0], out[c - a, s, 1] = first, last


@compiled
def within_radius(X, i, j, limit):
    total = 0.0
    for c in range(X.shape[1]):
        total += (X[i, c] - X[j, c]) ** 2
    return total <= limit


@compiled
def box_gap(lo, hi, a, b):
    """Squared distance of the boxes of two cells."""
    total = 0.0
    for c in range(lo.shape[1]):
        g = max(max(lo[a, c] - hi[b, c], lo[b, c] - hi[a, c]), 0.0)
        total += g * g
    return total


@compiled
def point_box_gap(X, i, lo, hi, b):
    """Squared distance of a point from the box of a cell."""
    total = 0.0
    for c in range(lo.shape[1]):
        g = max(max(lo[b, c] - X[i, c], X[i, c] - hi[b, c]), 0.0)
        total += g * g
    return total


@compiled
def cell_boxes(X, start, lo, hi):
    """The smallest and largest coordinates of the points of each cell."""
    for c in range(len(start) - 1):
        lo[c], hi[c] = X[start[c]], X[start[c]]
        for i in range(start[c] + 1, start[c + 1]):
            for j in range(X.shape[1]):
                lo[c, j], hi[c, j] = min(lo[c, j], X[i, j]), max(hi[c, j], X[i, j])


@compiled
def find_core_points(X, w, grid, min_weight, a, b, core):
    """Mask of the core points among cells a .. b: enough weight within the radius.

    All points of a cell are within the radius of each other; counting ends as soon
    as there is enough.
    """
    start, lo, hi, keys, steps, reach, limit = grid
    around = np.empty((b - a, len(steps), 2), np.int64)
    neighbor_cell_ranges(keys, start, steps, reach, a, b, around)
    for cell in range(a, b):
        own = 0.0
        for i in range(start[cell], start[cell + 1]):
            own += w[i] if len(w) else 1.0
        for i in range(start[cell], start[cell + 1]):
            total = own
            for s in range(len(steps)):
                if total >= min_weight:
                    break
                for other in range(around[cell - a, s, 0], around[cell - a, s, 1]):
                    if other == cell or point_box_gap(X, i, lo, hi, other) > limit:
                        continue
                    for j in range(start[other], start[other + 1]):
                        if within_radius(X, i, j, limit):
                            total += w[j] if len(w) else 1.0
                    if total >= min_weight:
                        break
            core[i] = total >= min_weight


@compiled
def cells_touch(X, core, start, a, b, limit):
    """Whether a core point of one cell is within the radius of one of the other."""
    for i in range(start[a], start[a + 1]):
        if core[i]:
            for j in range(start[b], start[b + 1]):
                if core[j] and within_radius(X, i, j, limit):
                    return True
    return False


@compiled
def union_cells(X, core, grid, parent):
    """Union of the cells whose core points touch; cells without one stay alone."""
    start, lo, hi, keys, steps, reach, limit = grid
    cells = len(start) - 1
    has = np.zeros(cells, np.bool_)
    for c in range(cells):
        for i in range(start[c], start[c + 1]):
            has[c] = has[c] or core[i]
    size = min(cells, 4096)
    around = np.empty((size, len(steps), 2), np.int64)
    for a in range(0, cells, size):
        b = min(a + size, cells)
        neighbor_cell_ranges(keys, start, steps, reach, a, b, around)
        for cell in range(a, b):
            if not has[cell]:
                continue
            for s in range(len(steps)):
                for other in range(around[cell - a, s, 0], around[cell - a, s, 1]):
                    if other <= cell or not has[other]:
                        continue
                    u, v = find_root(parent, cell), find_root(parent, other)
                    if u == v or box_gap(lo, hi, cell, other) > limit:
                        continue
                    if cells_touch(X, core, start, cell, other, limit):
                        parent[max(u, v)] = min(u, v)


@compiled
def label_borders(X, core, grid, name, a, b, labels):
    """Points of cells a .. b that are not core: the first cluster in reach, or -1.

    name[c] is the cluster of the core points of cell c.
    """
    start, lo, hi, keys, steps, reach, limit = grid
    around = np.empty((b - a, len(steps), 2), np.int64)
    neighbor_cell_ranges(keys, start, steps, reach, a, b, around)
    for cell in range(a, b):
        for i in range(start[cell], start[cell + 1]):
            if core[i]:
                labels[i] = name[cell]
                continue
            best = -1
            for s in range(len(steps)):
                for other in range(around[cell - a, s, 0], around[cell - a, s, 1]):
                    c = name[other]
                    if c < 0 or (best >= 0 and c >= best):
                        continue
                    if point_box_gap(X, i, lo, hi, other) > limit:
                        continue
                    for j in range(start[other], start[other + 1]):
                        if core[j] and within_radius(X, i, j, limit):
                            best = c
                            break
            labels[i] = best


@compiled
def union_neighbor_lists(rows, indptr, indices, core, known, parent):
    """Union of core rows with their core neighbours among the rows seen so far."""
    for k in range(len(rows)):
        i = rows[k]
        if not core[i]:
            continue
        u = find_root(parent, i)
        for e in range(indptr[k], indptr[k + 1]):
            j = indices[e]
            if known[j] and core[j]:
                v = find_root(parent, j)
                if u != v:
                    parent[max(u, v)] = min(u, v)
                    u = min(u, v)


@compiled
def lowest_core_label(rows, indptr, indices, core, labels):
    """Rows that are not core: the lowest label of a core neighbour."""
    for k in range(len(rows)):
        best = -1
        for e in range(indptr[k], indptr[k + 1]):
            j = indices[e]
            if core[j] and (best < 0 or labels[j] < best):
                best = labels[j]
        labels[rows[k]] = best
