"""One turn of k-means over each kind of rows; letters and equations of `kmeans.py`.

`CompiledAssignment` serves NumPy rows, in memory or block by block from a table on disk, with the
compiled loops and the bounds of eq. (4). `ArrayAssignment` serves tensors and sparse rows with
array mathematics. Both keep the labels z, and answer `turn` with z and the sums of eq.
(2). Centres are float64 NumPy arrays on the host, k by d, whatever holds the rows.
"""

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..core import arrays, rows, threads
from . import _kmeans as loops
from ._tiles import nearest_workspace, uses_matrix_product, padded_shape
from .initialization import rows_per_block, array_rows_per_block, comparison_nanoseconds

# Nanoseconds of `row_cost` below which bounds are not kept, and above which they are
# not laid aside: to look at all of them takes little of a turn then.
CHEAP, DEAR = 12, 400


class ClusterSums(NamedTuple):
    """Sums per cell, eq. (2), relative to the origin m, and row counts."""

    sums: np.ndarray  # S
    mass: np.ndarray  # M
    squares: np.ndarray  # Q
    count: np.ndarray  # rows of positive weight
    moved: int  # labels that changed


class CenterTerms(NamedTuple):
    """Centres as the loops want them: padded, relative to m, with what bounds need."""

    m: np.ndarray
    C: np.ndarray
    A: np.ndarray  # -2 C
    c2: np.ndarray
    p: np.ndarray
    s: np.ndarray
    drop: np.ndarray  # how far any other centre moved


def empty_center_terms(k, d, dtype) -> CenterTerms:
    """Room for a `CenterTerms`."""
    A = np.zeros(padded_shape(k, d), dtype)
    c2 = np.full(len(A), np.inf, dtype)
    p, s, drop = np.empty((3, k), dtype)
    return CenterTerms(np.empty(d, dtype), np.empty((k, d), dtype), A, c2, p, s, drop)


def center_terms(C, before, m, dtype, keep=True, into=None) -> CenterTerms:
    """Prepare one turn; `before` are the centres that the bounds belong to."""
    shape = into or empty_center_terms(len(C), C.shape[1], dtype)
    shape.m[:] = m
    loops.prepare_centers(C, before, m, keep, *shape[1:], np.finfo(dtype).eps)
    return shape


def single_threaded_products(k, d):
    """BLAS on one thread while rows meet centres in products, also in a lone block."""
    wide = uses_matrix_product(k, d) and threads.free() > 1
    return threads.single_blas() if wide else nullcontext()


class CompiledAssignment:
    """Turns over NumPy rows with compiled loops and the bounds of eq. (4).

    `keep` is whether to keep bounds; None is while they pay. That depends on the
    shape, and on how far the centres still move: bounds that clear too few rows are
    laid aside for some turns, each time for longer.
    """

    def __init__(self, X, w, k, *, keep=None):
        n, d = X.shape
        cost = comparison_nanoseconds(d, k)
        if keep is None and not CHEAP <= cost <= DEAR:
            keep = cost > DEAR
        self.dtype, self.keep = X.dtype, keep
        self.z = np.full(n, -1, np.int32)
        self.u, self.low = np.empty((2, 0 if keep is False else n), X.dtype)
        aligned = (None, None) if keep is False else (self.u, self.low)
        self.R = rows.rows(X, w, self.z, *aligned, block=rows_per_block(d, k, n))
        self.shape, self.spare = empty_center_terms(k, d, X.dtype), []
        self.cells, self.tight = self._cells(), False
        # What share of rows the bounds, or only the way to the own centre, must spare
        # to be worth it.
        self.most = max(0.0, cost - 5) / (cost + 5) if k > 1 else 0.0
        self.least = (5 + d / 8) / cost
        soon = keep or self.most > 0.8
        self.noted, self.rest, self.pause = False, 0 if soon else 1, 2

    def _cells(self):
        k, d = self.shape.C.shape
        return np.zeros((k, d)), np.zeros(k), np.zeros(k), np.zeros(k, np.int64)

    def _room(self):
        """Cells of zeros and a desk for one block, used again when it is done."""
        try:
            return self.spare.pop()
        except IndexError:
            return self._cells(), nearest_workspace(
                len(self.shape.C), self.shape.C.shape[1], self.dtype
            )

    def turn(self, C, before, m):
        """Labels for centres C; only rows that eq. (4) cannot clear are looked at."""
        keep = self._keep()
        before = C if before is None else before
        shape = center_terms(C, before, m, self.dtype, keep == 2, self.shape)
        eps, tight, nothing = np.finfo(self.dtype).eps, self.tight, self.u[:0]

        def stats(X, w, z, u, low):
            room = cells, table = self._room()
            bounds = (nothing, nothing) if u is None else (u, low)
            how = (keep, tight, *shape, *cells, table, eps)
            return room, loops.assign_block(X, w, z, *bounds, *how)

        tally = np.zeros(3, np.int64)
        with single_threaded_products(*C.shape):
            for room, seen in self.R.each(stats, blas=False):
                tally += seen
                if seen[0]:
                    for whole, part in zip(self.cells, room[0], strict=True):
                        whole += part
                        part[...] = 0
                self.spare.append(room)
        moved, suspect, spared = tally.tolist()
        if keep == 2:
            self._judge(suspect, spared)
        return self.z, ClusterSums(*self.cells, moved)

    def _keep(self):
        """0: look at every row; 1: and note bounds; 2: use them."""
        if self.keep is False or self.rest > 0:
            self.rest -= 1
            return 0
        noted, self.noted = self.noted, True
        return 2 if noted else 1

    def _judge(self, suspect, spared):
        """Whether bounds were worth it, and whether the own centre comes first."""
        self.tight = spared > self.least * suspect
        if self.keep is None and suspect > self.most * len(self.z):
            self.noted, self.rest, self.pause = False, self.pause, 2 * self.pause

    def costs(self, C, m):
        """J of eq. (1) at the labels kept, from differences, for each cell."""
        c, m = (C - m).astype(self.dtype), m.astype(self.dtype)
        one = lambda X, w, z, *_: loops.block_costs(X, w, z, m, c)
        return self.R.sum(one, blas=False)

    def farthest(self, C, m, placed):
        """The row that is farthest from its centre and from the rows `placed`."""
        c, m = (C - m).astype(self.dtype), m.astype(self.dtype)
        P = (np.reshape(placed, (-1, len(m))) - m).astype(self.dtype)

        def one(X, w, z, *_):
            i, far = loops.farthest_row(X, w, z, m, c, P)
            return far, X[i].astype(np.float64)

        return max(self.R.each(one, blas=False), key=lambda found: found[0])[1]


class ArrayAssignment:
    """Turns over tensors (on their device) and CSR rows, with array mathematics."""

    def __init__(self, X, w, k):
        self.X, self.w, self.z = X, w, None
        self.block = array_rows_per_block(X, k)

    def rows(self, *aligned):
        return rows.Rows(self.X, self.w, *aligned, block=self.block)

    def turn(self, C, before, m):
        """Labels for centres C from all distances."""
        xp, k = arrays.namespace(self.w), len(C)
        cells = xp.arange(k, device=arrays.device(self.w))

        def stats(X, w):
            D, x2 = squared_distance_terms(X, C, m)
            z = xp.argmin(D, axis=1)
            hot = xp.astype(z[:, None] == cells, w.dtype) * w[:, None]
            if sparse.issparse(X):
                S = (sparse.csr_array(hot.T) @ X).toarray()
            else:
                S = xp.matrix_transpose(hot) @ (X - arrays.asarray(m, like=X))
            N = xp.sum(xp.astype(hot > 0, w.dtype), axis=0)
            parts = (S, xp.sum(hot, axis=0), xp.matrix_transpose(hot) @ x2, N)
            host = (arrays.to_numpy(a).astype(np.float64) for a in parts)
            return z, ClusterSums(*host, moved=0)

        found = list(self.rows().each(stats))
        z = rows.concat([labels for labels, _ in found])
        old, self.z = self.z, z
        moved = z.shape[0] if old is None else int(xp.count_nonzero(z != old))
        return z, rows.total(c for _, c in found)._replace(moved=moved)

    def own(self, C, m):
        """|x_i - c_{z_i}|^2 for each row."""
        xp = arrays.namespace(self.w)

        def one(X, w, z):
            if sparse.issparse(X):
                D, x2 = squared_distance_terms(X, C, m)
                return np.maximum(D[np.arange(len(z)), z] + x2, 0)
            c = arrays.asarray(C - m, like=X)
            gap = X - arrays.asarray(m, like=X) - xp.take(c, z, axis=0)
            return xp.sum(gap * gap, axis=1)

        return self.rows(self.z).map(one)

    def costs(self, C, m):
        host = [arrays.to_numpy(a) for a in (self.z, self.w, self.own(C, m))]
        return np.bincount(host[0], host[1].astype(np.float64) * host[2], len(C))

    def farthest(self, C, m, placed):
        xp = arrays.namespace(self.w)
        far = self.own(C, m)
        for c in placed:
            D, x2 = squared_distance_terms(self.X, c[None, :], m)
            far = xp.minimum(far, D[:, 0] + x2)
        far = xp.where(self.w > 0, far, -xp.ones_like(far))
        i = int(xp.argmax(far))
        row = self.X[[i]].toarray()[0] if sparse.issparse(self.X) else self.X[i, :]
        return arrays.to_numpy(row).astype(np.float64)


def squared_distance_terms(X, C, m):
    """|x_i - c_j|^2 less |x_i - m|^2, and that. m is 0 for sparse rows."""
    if sparse.issparse(X):
        c = C.astype(X.dtype)
        x2 = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        return np.sum(c * c, axis=1) - 2 * (X @ c.T), x2
    xp = arrays.namespace(X)
    c, X = arrays.asarray(C - m, like=X), X - arrays.asarray(m, like=X)
    D = xp.sum(c * c, axis=1) - 2 * (X @ xp.matrix_transpose(c))
    return D, xp.sum(X * X, axis=1)


def center_distances(X, C):
    """|x_i - c_j|, taken from differences where the short form would lose digits."""
    m = reference_point(C, X)
    return rows.rows(X).map(lambda X: center_distances_block(X, C, m))


def center_distances_block(X, C, m):
    """`center_distances` of one block, computed relative to m."""
    if arrays.is_foreign(X):
        xp, c = arrays.namespace(X), arrays.asarray(C, like=X)
        gaps = (X - c[j, :] for j in range(len(C)))
        return xp.stack([xp.sqrt(xp.sum(g * g, axis=1)) for g in gaps], axis=1)
    D, x2 = squared_distance_terms(X, C, m)
    D = np.maximum(D + x2[:, None], 0)
    if not sparse.issparse(X):
        i, j = np.nonzero(np.less(D, x2[:, None] * np.finfo(D.dtype).eps ** 0.5))
        D[i, j] = np.sum((X[i] - C[j]) ** 2, axis=1)
    return np.sqrt(D)


def labels_and_cost(X, w, C):
    """The nearest centre of each row, and J of eq. (1)."""
    turns, m = assignment_for(X, w, len(C), keep_bounds=False), reference_point(C, X)
    z, _ = turns.turn(C, None, m)
    return z, float(np.sum(turns.costs(C, m)))


def kmeans_cost(X, w, C):
    """J of eq. (1), each row at its nearest centre."""
    return labels_and_cost(X, w, C)[1]


def nearest_centers(X, C):
    """The label of each row: what `predict` gives, and the last turn of a fit."""
    m = reference_point(C, X)
    if not (arrays.is_numpy(X) or isinstance(X, rows.DatasetRows)):
        block = rows.Rows(X, block=array_rows_per_block(X, len(C)))
        xp = arrays.namespace(X)
        return block.map(lambda X: xp.argmin(squared_distance_terms(X, C, m)[0], axis=1))
    shape = center_terms(C, C, m, X.dtype, keep=False)
    z = np.empty(X.shape[0], np.int32)

    def step(X, z):
        table = nearest_workspace(len(C), C.shape[1], X.dtype)
        loops.nearest_center_block(X, shape.m, shape.A, shape.c2, z, table)

    block = rows_per_block(X.shape[1], len(C), X.shape[0])
    with single_threaded_products(*C.shape):
        for _ in rows.rows(X, z, block=block).each(step, blas=False):
            pass
    return z


def reference_point(C, X):
    """A point amid the centres, from which rows are measured; 0 if X is sparse."""
    zero = sparse.issparse(X)
    return np.zeros(C.shape[1]) if zero else rounded_to_dtype(np.mean(C, axis=0), X)


def stored_centers(a, X):
    """Centres in the library and dtype of X."""
    like = X if arrays.is_foreign(X) else np.empty(0, X.dtype)
    return arrays.asarray(a, like=like)


def rounded_to_dtype(a, X):
    """What is left of float64 numbers in the dtype of X, as float64 on the host."""
    return arrays.to_numpy(stored_centers(a, X)).astype(np.float64)


def assignment_for(X, w, k, *, keep_bounds=None):
    """The right kind of turns for whatever holds the rows."""
    dense = arrays.is_numpy(X) or isinstance(X, rows.DatasetRows)
    return CompiledAssignment(X, w, k, keep=keep_bounds) if dense else ArrayAssignment(X, w, k)


def row_mean_and_variance(X, w):
    """Weighted mean of the rows, and the mean over columns of their variance."""
    if sparse.issparse(X):
        W = w.sum()
        mean = (X.T @ w) / W
        return np.zeros(X.shape[1]), float(np.mean(X.multiply(X).T @ w / W - mean**2))
    if arrays.is_foreign(X):
        xp = arrays.namespace(X)
        W = xp.sum(w)
        mean = w @ X / W
        parts = rows.Rows(X, w).sum(lambda X, w: w @ ((X - mean) * (X - mean)))
        return arrays.to_numpy(mean).astype(float), float(xp.mean(parts / W))
    x0 = X.take([0])[0] if isinstance(X, rows.DatasetRows) else X[0].copy()
    R = rows.rows(X, w, block=rows_per_block(X.shape[1], n=X.shape[0]))

    def stats(X, w):
        s1, s2 = np.zeros((2, X.shape[1]))
        return loops.shifted_moments(X, w, x0, s1, s2), s1, s2

    W, s1, s2 = R.sum(stats, blas=False)
    if not np.all(np.isfinite(s2)):
        raise ValueError(unusable_column_message(X, s2))
    return x0 + s1 / W, float(np.mean(s2 / W - (s1 / W) ** 2))


def unusable_column_message(X, s2):
    """Which column of a table holds what cannot be clustered."""
    name = getattr(X, "columns", range(X.shape[1]))[int(np.argmin(np.isfinite(s2)))]
    return f"column {name!r} contains NaN, infinity or values too large to square."
