"""Compiled loops of `linkage.py`: nearest-neighbour chains, merges to a tree, cuts."""

import numpy as np

from ...core.loops.compiled import FASTMATH_NO_NAN, compiled
from ...graphs._spanning_trees import (
    EUCLIDEAN,
    POINT_CHUNK,
    accumulate_distances,
    find_root,
)

COMPLETE, AVERAGE, WEIGHTED, WARD, CENTROID, MEDIAN = 0, 1, 2, 3, 4, 5
LANES = 64


@compiled
def fill_distances(XT, start, stop, kind, p, rooted, D):
    """Rows start .. stop of D from their own block on, and their mirror image."""
    d, n = XT.shape
    t, x = np.empty(POINT_CHUNK), np.empty(d)
    for a in range(start, n, POINT_CHUNK):
        b = min(a + POINT_CHUNK, n)
        for i in range(start, stop):
            x[:] = XT[:, i]
            accumulate_distances(XT, x, a, b, kind, p, t)
            if rooted:
                for j in range(b - a):
                    t[j] = np.sqrt(t[j])
            D[i, a:b] = t[: b - a]
        for j in range(a, b):
            D[j, start:stop] = D[start:stop, j]


@compiled(fastmath=FASTMATH_NO_NAN)
def masked_minimum(row, gone):
    """min over j of row[j] + gone[j]; gone is infinite for clusters that were merged.

    In LANES minima side by side, since the compiler does not split one by itself.
    """
    n = len(row)
    low = row[0] + gone[0]
    whole = n - n % LANES
    lanes = np.full(LANES, low)
    for a in range(0, whole, LANES):
        r, g = row[a : a + LANES], gone[a : a + LANES]
        for j in range(LANES):
            v = r[j] + g[j]
            lanes[j] = v if v < lanes[j] else lanes[j]
    for j in range(LANES):
        low = min(low, lanes[j])
    for j in range(whole, n):
        low = min(low, row[j] + gone[j])
    return low


@compiled
def refresh_row(D, k, fresh, created, stamp, gone, t):
    """Bring row k up to date with the clusters made since it was last looked at.

    The newer of two clusters holds their distance in its own row.
    """
    for e in range(fresh[k], t):
        c = created[e]
        if stamp[c] == e + 1 and gone[c] == 0.0:
            D[k, c] = D[c, k]
    fresh[k] = t


@compiled(fastmath=FASTMATH_NO_NAN)
def lance_williams_update(da, db, dab, size, na, nb, kind):
    """Distances of the union of a and b from those of a and b, written to db."""
    total = na + nb
    for j in range(len(da)):
        if kind == COMPLETE:
            db[j] = max(da[j], db[j])
        elif kind == AVERAGE:
            db[j] = (na * da[j] + nb * db[j]) / total
        elif kind == WEIGHTED:
            db[j] = 0.5 * (da[j] + db[j])
        else:
            nk = size[j]
            up = (na + nk) * da[j] + (nb + nk) * db[j] - nk * dab
            db[j] = up / (total + nk)


@compiled
def nearest_neighbor_chain(D, kind, left, right, height):
    """Merges on a square matrix of distances, which is used up; infinite diagonal.

    Row b becomes the union of a and b. Columns are not written: rows are brought up
    to date when they are read.
    """
    n = len(D)
    gone = np.zeros(n, D.dtype)
    size = np.ones(n)
    fresh, stamp = np.zeros(n, np.int64), np.zeros(n, np.int64)
    made, chain = np.empty(n, np.int64), np.empty(n, np.int64)
    length = 0
    first = 0
    inf = D.dtype.type(np.inf)
    for t in range(n - 1):
        if length == 0:
            while gone[first] != 0.0:
                first += 1
            chain[0] = first
            length = 1
        while True:
            k = chain[length - 1]
            refresh_row(D, k, fresh, made, stamp, gone, t)
            low = masked_minimum(D[k], gone)
            j = 0
            if length > 1 and D[k, chain[length - 2]] <= low:
                j = chain[length - 2]
                break
            while j < n - 1 and (D[k, j] != low or gone[j] != 0.0 or j == k):
                j += 1
            chain[length] = j
            length += 1
        length -= 2
        a = min(k, j)
        b = max(k, j)
        refresh_row(D, a, fresh, made, stamp, gone, t)
        refresh_row(D, b, fresh, made, stamp, gone, t)
        left[t] = a
        right[t] = b
        height[t] = D[a, b]
        lance_williams_update(D[a], D[b], D[a, b], size, size[a], size[b], kind)
        size[b] += size[a]
        gone[a] = D[b, b] = inf
        made[t], stamp[b], fresh[b] = b, t + 1, t + 1


@compiled
def nearest_later_cluster(D, alive, i):
    """The cluster j > i nearest to i, the lowest of equals, and its distance."""
    best = np.inf
    at = -1
    for j in range(i + 1, len(D)):
        if alive[j] and D[i, j] < best:
            best = D[i, j]
            at = j
    return at, best


@compiled
def closest_pair_merges(D, kind, left, right, height):
    """n - 1 merges of the closest two clusters, on squared distances, used up.

    For linkages that are not reducible: each cluster keeps its nearest later one, and
    looks for it again when that has changed. Row and column b become the union.
    """
    n = len(D)
    alive = np.ones(n, np.bool_)
    size = np.ones(n)
    near, gap = np.empty(n, np.int64), np.empty(n)
    for i in range(n):
        near[i], gap[i] = nearest_later_cluster(D, alive, i)
    for t in range(n - 1):
        a = -1
        for i in range(n):
            if alive[i] and near[i] >= 0 and (a < 0 or gap[i] < gap[a]):
                a = i
        b = near[a]
        between = D[a, b]
        left[t], right[t], height[t] = a, b, between
        na, nb = size[a], size[b]
        alive[a] = False
        share = na / (na + nb) if kind == CENTROID else 0.5
        for j in range(n):
            if alive[j] and j != b:
                far = share * D[a, j] + (1 - share) * D[b, j]
                D[b, j] = D[j, b] = far - share * (1 - share) * between
        size[b] = na + nb
        near[b], gap[b] = nearest_later_cluster(D, alive, b)
        for i in range(b):
            if not alive[i]:
                continue
            if near[i] == a or near[i] == b:
                near[i], gap[i] = nearest_later_cluster(D, alive, i)
            elif D[i, b] < gap[i] or (D[i, b] == gap[i] and b < near[i]):
                near[i], gap[i] = b, D[i, b]


@compiled(fastmath=FASTMATH_NO_NAN)
def ward_chunk(t, size, own_size, a, b, skip):
    """t[j] *= 2 s s_j / (s + s_j), the cluster itself infinitely far; the least."""
    low = np.inf
    for j in range(b - a):
        s = size[a + j]
        t[j] *= 2.0 * own_size * s / (own_size + s)
    if a <= skip < b:
        t[skip - a] = np.inf
    for j in range(b - a):
        low = min(low, t[j])
    return low


@compiled
def ward_nearest(XT, size, k, m, x, t, keep):
    """The least of Ward's distances from slot k to the others, and its slot.

    keep (length m) is filled with the distances.
    """
    low = np.inf
    home = 0
    x[:] = XT[:, k]
    for a in range(0, m, POINT_CHUNK):
        b = min(a + POINT_CHUNK, m)
        accumulate_distances(XT, x, a, b, EUCLIDEAN, 2.0, t)
        chunk_low = ward_chunk(t, size, size[k], a, b, k)
        keep[a:b] = t[: b - a]
        if chunk_low < low:
            low, home = chunk_low, a
    j = home
    while j < m - 1 and (keep[j] != low or j == k):
        j += 1
    return low, j


@compiled
def ward_chain(XT, left, right, height):
    """Ward's merges from centroids, which XT becomes; squared heights."""
    d, n = XT.shape
    size = np.ones(n)
    rep = np.arange(n)
    slot = np.arange(n)
    x, t, keep = np.empty(d), np.empty(POINT_CHUNK), np.empty(n)
    chain = np.empty(n, np.int64)
    length = 0
    m = n  # of representatives
    for step in range(n - 1):
        if length == 0:
            chain[0] = rep[0]
            length = 1
        while True:
            k = slot[chain[length - 1]]
            low, j = ward_nearest(XT, size, k, m, x, t, keep)
            if length > 1 and keep[slot[chain[length - 2]]] <= low:
                j = slot[chain[length - 2]]
                break
            chain[length] = rep[j]
            length += 1
        length -= 2
        left[step] = rep[k]
        right[step] = rep[j]
        height[step] = low
        share = size[k] / (size[k] + size[j])
        size[j] += size[k]
        m -= 1  # slot k is taken by the last one
        for c in range(d):
            XT[c, j] += share * (XT[c, k] - XT[c, j])
            XT[c, k] = XT[c, m]
        size[k], rep[k] = size[m], rep[m]
        slot[rep[m]] = k


@compiled
def number_clusters(left, right, n, lower_first, Z):
    """Merges in their order, named by any of their rows, to cluster numbers.

    Columns 0, 1 and 3 of Z: the two clusters, in the order given or the lower number
    first, and the size.
    """
    parent = np.arange(n)
    size = np.ones(n)
    name = np.arange(n)
    for t in range(len(left)):
        a, b = find_root(parent, left[t]), find_root(parent, right[t])
        swap = lower_first and name[a] > name[b]
        Z[t, 0] = name[b] if swap else name[a]
        Z[t, 1] = name[a] if swap else name[b]
        if size[a] < size[b]:
            a, b = b, a
        parent[b] = a
        size[a] += size[b]
        name[a] = n + t
        Z[t, 3] = size[a]


@compiled
def labels_after_merges(children, n, merges):
    """Cluster of each row after the first merges, numbered by their first rows."""
    parent = np.arange(n + merges)
    for t in range(merges):
        parent[children[t, 0]] = parent[children[t, 1]] = n + t
    name = np.full(n + merges, -1)
    labels = np.empty(n, np.int64)
    count = 0
    for node in range(n + merges - 1, -1, -1):
        parent[node] = parent[parent[node]]
    for i in range(n):
        top = parent[i]
        if name[top] < 0:
            name[top] = count
            count += 1
        labels[i] = name[top]
    return labels


@compiled
def leaf_sequence(children, n):
    """Rows from left to right such that no two branches of the tree cross."""
    order = np.empty(n, np.int64)
    stack = np.empty(n + 1, np.int64)
    top = 1
    count = 0
    stack[0] = n + len(children) - 1
    while top:
        top -= 1
        node = stack[top]
        if node < n:
            order[count] = node
            count += 1
        else:
            stack[top] = children[node - n, 1]
            stack[top + 1] = children[node - n, 0]
            top += 2
    return order


@compiled
def fill_cophenetic(children, height, order, n, out):
    """out[i, j] condensed: the height at which rows i and j are first together."""
    start = np.empty(2 * n - 1, np.int64)
    size = np.ones(2 * n - 1, np.int64)
    for place in range(n):
        start[order[place]] = place
    for t in range(n - 1):
        a, b = children[t, 0], children[t, 1]
        start[n + t], size[n + t] = min(start[a], start[b]), size[a] + size[b]
        for u in order[start[a] : start[a] + size[a]]:
            for v in order[start[b] : start[b] + size[b]]:
                i = min(u, v)
                j = max(u, v)
                out[n * i - i * (i + 1) // 2 + j - i - 1] = height[t]
