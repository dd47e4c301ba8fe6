"""DBSCAN for many columns: tiles of distances by matrix products, most left out.

Rows are ordered by the nearest of HUBS rows and cut into tiles of TILE rows that lie
together. Products about the middle of a tile, in float32, decide for most pairs whether
they are within eps; `distances/brute_force.py` says how far such a product may be off,
and only pairs that are that close to eps are computed from their differences.

*Core rows.* Tiles whose boxes are in reach are compared, those of one hub first. A row
that has enough neighbours is not compared further; the first few neighbours are listed.
*Clusters.* Core rows are joined with the rows in their lists, and should that leave
many pieces, with a few core rows spread over all. Pieces then make tiles of
their own: two tiles of one piece are not compared, nor two whose boxes are out of
reach, and of others only rows of different pieces. Each comparison is reduced to the
few joins it makes. *Border rows* use their lists.

Cost      at most n^2 / 2 products for the clusters and n times the rows that aren't
          core; memory O(n d) and one tile for each thread
Shapes    X (n, d)   w (n,)   labels (n,)
Refs      [Ester1996]
"""

from functools import partial
from itertools import pairwise
from threading import local
from typing import NamedTuple

import numpy as np

from ...core.loops import threads
from ...distances.brute_force import center_for_products, query_block
from . import _dbscan_tiles as loops

TILE = 512  # rows of a tile
SMALL = 64  # rows from which a piece has tiles of its own
PIVOTS = 256  # core rows that all the others are joined with first
HUBS = 64  # rows that the others are gathered around
FEWEST, LISTED = 8, 64  # least and most neighbours in the list of a row
thread_buffers = local()  # memory for products, kept by each thread


class TiledRows(NamedTuple):
    """Rows cut into tiles."""

    P: np.ndarray  # (n, d) in the order of the tiles
    ends: np.ndarray  # (t + 1,)
    lo: np.ndarray  # (t, d), the box of each tile
    hi: np.ndarray
    tiles: list  # what products need of each

    @property
    def size(self):
        return len(self.tiles)

    def rows(self, t):
        return np.arange(self.ends[t], self.ends[t + 1])


def tile_rows(P, ends) -> TiledRows:
    lo = np.minimum.reduceat(P, ends[:-1], axis=0)
    hi = np.maximum.reduceat(P, ends[:-1], axis=0)
    return TiledRows(
        P, ends, lo, hi, [center_for_products(P[a:b]) for a, b in pairwise(ends)]
    )


def facing_rows(P, a, b, tile, start, limit):
    """Rows of a and b that may be within reach of the others, and the tile of b.

    Along the line from `start` to the middle of the tile no pair is farther apart
    than it is; the first row of b on that line and the last of a leave out the rest.
    """
    keep, kept = loops.facing_masks(P, a, b, start, tile.center, limit)
    if kept.all():
        return a[keep], b, tile
    return a[keep], b[kept], tile._replace(rows=tile.rows[kept])


def tile_products(tile, Q, limit):
    """The tile of products of some rows, and what they are surely below and above."""
    ask = query_block(tile, Q)
    m, k = len(Q), len(tile.rows)
    if getattr(thread_buffers, "size", 0) < m * k:
        thread_buffers.size = max(m * k, TILE * TILE)
        thread_buffers.array = np.empty(thread_buffers.size, np.float32)
    S = thread_buffers.array[: m * k].reshape(m, k)
    np.matmul(ask.rows, tile.rows.T, out=S)
    half = np.empty((2, m), np.float32)
    half[0] = (limit - ask.norms - ask.slack) / 2
    half[1] = (limit - ask.norms + ask.slack) / 2
    return S, half


@np.errstate(over="ignore", invalid="ignore")
def dbscan_by_tiles(X, eps, min_weight, w):
    """(labels, core) by eqs (1) to (3) of `dbscan.py`."""
    n = len(X)
    scale = 2.0 ** -np.round(np.log2(float(eps)))  # exact, and eps is about 1
    limit = (float(eps) * scale) ** 2
    order, ends = order_by_hubs(X * scale)
    P = np.ascontiguousarray(X[order], np.float64) * scale
    v = np.empty(0) if w is None else np.ascontiguousarray(w[order], np.float64)
    size = int(min(max(np.ceil(min_weight), FEWEST), LISTED, n))
    with threads.single_blas():
        total, n_listed, lists = count_neighbors(
            tile_rows(P, ends), limit, min_weight, v, size
        )
    core = total >= min_weight
    parent = np.arange(n)
    loops.union_listed(n_listed, lists, core, parent)
    union_core_rows(P, core, limit, parent)
    labels = number_by_first_row(parent, core, order)
    rest = np.flatnonzero(~core & (n_listed > 0))
    listed = rest[n_listed[rest] <= size]
    loops.lowest_listed_label(listed, n_listed, lists, core, labels)
    unlisted = rest[n_listed[rest] > size]
    if len(unlisted):
        label_unlisted_borders(P, core, labels, unlisted, limit)
    back = np.empty(n, np.int64)
    back[order] = np.arange(n)
    return labels[back], core[back]


def order_by_hubs(X):
    """Rows in order of the nearest of HUBS rows, and where to cut them into tiles."""
    hubs = center_for_products(X[:: max(1, len(X) // HUBS)])
    nearest = []
    for cut in range(0, len(X), TILE):
        S = hubs.rows @ query_block(hubs, X[cut : cut + TILE]).rows.T
        nearest.append(np.argmin(S, axis=0))
    nearest = np.concatenate(nearest)
    order = np.argsort(nearest, kind="stable")
    return order, tile_ends(nearest[order])


def count_neighbors(tiles, limit, min_weight, w, list_size):
    """Weight within reach of each row, as far as it matters, and neighbours.

    Rows with total below `min_weight` have their first `list_size` neighbours in lists.
    A pair of tiles serves the rows of both; those run at once share no tile. As soon as
    that is less work, the rows that lack some are gathered and start anew.
    """
    n = len(tiles.P)
    total, n_listed = np.zeros(n), np.zeros(n, np.int64)
    lists = np.empty((n, list_size), np.int64)
    out = limit, float(min_weight), w, total, n_listed, lists
    left = loops.count_tiles_in_reach(tiles.lo, tiles.hi, limit)
    full = 2 * left.sum() / n
    for away in range(tiles.size):
        lacking = np.flatnonzero(total < min_weight)
        if len(lacking) * full < left[away:].sum():
            total[lacking] = n_listed[lacking] = 0
            cuts = [lacking[a : a + TILE] for a in range(0, len(lacking), TILE)]
            run_all(partial(count_rows_against_tiles, tiles, cut, *out) for cut in cuts)
            break
        meet = loops.tiles_in_reach(tiles.lo, tiles.hi, away, limit)
        half = meet // max(away, 1) % 2  # pairs of one half share no tile
        for pairs in (meet[half == 1], meet[half == 0]) if away else (meet,):
            run_all(partial(count_tile_pair, tiles, t, t - away, *out) for t in pairs)
    return total, n_listed, lists


def run_all(tasks):
    """Run tasks in threads for what they do."""
    for _ in threads.run_tasks(tasks):
        pass


def count_tile_pair(tiles, t, u, limit, min_weight, w, total, n_listed, lists):
    """Neighbours of the rows of two tiles that do not have enough yet."""
    P = tiles.P
    a = tiles.rows(t)
    b = tiles.rows(u)
    lack = (total[a] < min_weight).any(), t != u and (total[b] < min_weight).any()
    if not any(lack):
        return
    if lack == (False, True):
        t, u, a, b = u, t, b, a
    if not all(lack):
        a = a[total[a] < min_weight]
    a = loops.rows_in_reach(P, a, tiles.lo[u], tiles.hi[u], limit)
    a, b, tile = facing_rows(P, a, b, tiles.tiles[u], tiles.tiles[t].center, limit)
    if len(a) and len(b):
        S, sure = tile_products(tile, P[a], limit)
        rest = P, limit, min_weight, w, total, n_listed, lists
        loops.count_tile_neighbors(S, sure, a, b, all(lack), *rest)


def count_rows_against_tiles(tiles, rows, limit, min_weight, w, total, n_listed, lists):
    """Neighbours of some rows, the nearest tiles first."""
    P, lo, hi = tiles.P, tiles.lo, tiles.hi
    gap = loops.box_gaps(P[rows].min(axis=0), P[rows].max(axis=0), lo, hi)
    near = np.flatnonzero(~(gap > limit * loops.SLACK))
    for u in near[np.argsort(gap[near], kind="stable")]:
        left = loops.rows_in_reach(P, rows, lo[u], hi[u], limit)
        if len(left):
            S, sure = tile_products(tiles.tiles[u], P[left], limit)
            rest = P, limit, min_weight, w, total, n_listed, lists
            loops.count_tile_neighbors(S, sure, left, tiles.rows(u), False, *rest)
            rows = rows[total[rows] < min_weight]


def union_core_rows(P, core, limit, parent):
    """Union of the core rows within reach of each other."""
    rows = np.flatnonzero(core)
    piece = loops.component_roots(parent, rows)
    if len(np.unique(piece)) < 2:
        return
    if len(np.unique(piece)) > len(rows) // TILE:
        pivots = rows[:: max(1, len(rows) // PIVOTS)]
        tile = center_for_products(P[pivots])
        cuts = [rows[a : a + TILE] for a in range(0, len(rows), TILE)]
        tasks = (
            partial(joining_pairs, P, cut, pivots, tile, limit, parent) for cut in cuts
        )
        for pairs in threads.run_tasks(tasks, blas=True):
            loops.union_pairs(pairs, parent)
        piece = loops.component_roots(parent, rows)
    order = np.argsort(piece, kind="stable")
    rows, piece = rows[order], piece[order]
    parts = tile_rows(P[rows], tile_ends(piece))
    for pairs in threads.run_tasks(
        pending_comparisons(parts, P, rows, limit, parent), blas=True
    ):
        loops.union_pairs(pairs, parent)


def tile_ends(piece):
    """Cuts of sorted rows: at every large piece, and at TILE rows at most."""
    starts = np.flatnonzero(np.diff(piece, prepend=-1))
    sizes = np.diff(np.append(starts, len(piece)))
    ends = [0]
    for a, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        if (size >= SMALL or a - ends[-1] >= TILE - SMALL) and a > ends[-1]:
            ends.append(a)
        while a + size - ends[-1] > TILE:
            ends.append(ends[-1] + TILE)
        if size >= SMALL:
            ends.append(a + size)
    return np.unique([*ends, len(piece)])


def pending_comparisons(parts, P, rows, limit, parent):
    """Comparisons of tiles in reach of each other that are not one piece by then."""
    for t in range(parts.size):
        gap = loops.box_gaps(parts.lo[t], parts.hi[t], parts.lo, parts.hi)
        for u in np.flatnonzero(~(gap[: t + 1] > limit * loops.SLACK)):
            a, b = rows[parts.rows(t)], rows[parts.rows(u)]
            mine, others = (
                loops.component_roots(parent, a),
                loops.component_roots(parent, b),
            )
            if (others == others[0]).all():
                a = a[mine != others[0]]
            a = loops.rows_in_reach(P, a, parts.lo[u], parts.hi[u], limit)
            if len(a) == 0:
                continue
            start = parts.tiles[t].center
            a, b, tile = facing_rows(P, a, b, parts.tiles[u], start, limit)
            if len(a) and len(b):
                yield partial(joining_pairs, P, a, b, tile, limit, parent)


def joining_pairs(P, a, b, tile, limit, parent):
    """Pairs of rows (of a, of b) that join pieces, none twice."""
    names = np.concatenate(
        [
            loops.component_roots_readonly(parent, a),
            loops.component_roots_readonly(parent, b),
        ]
    )
    names = np.unique(names, return_inverse=True)[1]
    S, sure = tile_products(tile, P[a], limit)
    return loops.tile_joining_pairs(S, sure, P, a, b, limit, names)


def number_by_first_row(parent, core, order):
    """Numbers of clusters by their first rows, -1 for rows that are not core."""
    labels = np.full(len(core), -1)
    rows = np.flatnonzero(core)
    if len(rows):
        _, z = np.unique(loops.component_roots(parent, rows), return_inverse=True)
        first = np.full(z.max() + 1, len(core))
        np.minimum.at(first, z, order[rows])
        labels[rows] = np.argsort(np.argsort(first))[z]
    return labels


def label_unlisted_borders(P, core, labels, rows, limit):
    """The lowest cluster in reach of rows whose lists are incomplete."""
    inside = np.flatnonzero(core)
    cuts = [inside[a : a + TILE] for a in range(0, len(inside), TILE)]
    result = labels[rows]

    def label_block(a, tiles):
        for cut, tile in zip(cuts, tiles, strict=True):
            S, sure = tile_products(tile, P[rows[a : a + TILE]], limit)
            loops.lowest_label_in_tile(
                S, sure, P, rows[a : a + TILE], cut, limit, labels, result[a : a + TILE]
            )

    tiles = [center_for_products(P[cut]) for cut in cuts]
    tasks = (partial(label_block, a, tiles) for a in range(0, len(rows), TILE))
    for _ in threads.run_tasks(tasks, blas=True):
        pass
    labels[rows] = result
