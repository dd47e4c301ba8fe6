"""Lloyd iterations of k-means: labels and cluster sums over every kind of rows.

Letters and equations are those of `kmeans.py`. An assignment keeps the labels z of the
rows between iterations. Its `assign` gives new labels and the sums of eq. (2), its
`costs` J of eq. (1) for each cluster, and its `farthest` the row to put into an empty
cluster. `CompiledAssignment` serves NumPy rows, in memory or block by block from a
table on disk, with compiled loops and the bounds of eq. (4). `TensorAssignment`
(`tensor_assignment.py`) serves torch tensors, `ArrayAssignment` other arrays and sparse
rows with array mathematics. Centres are float64 NumPy arrays on the
host, k by d, whatever holds the rows.

Also here: what prediction and the relatives of k-means need of centres, namely the
nearest one (`nearest_centers`) and the distances to all (`center_distances`).
"""

from contextlib import nullcontext
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ...core.arrays import arrays, rows
from ...core.arrays.cluster_rows import ClusterRows
from ...core.loops import threads
from . import _kmeans as loops
from .initialization import (
    array_rows_per_block,
    comparison_nanoseconds,
    rows_per_block,
)
from .tensor_assignment import TensorAssignment, nearest_tensor_centers

# Nanoseconds of a comparison below which bounds are never kept, and above which they
# are never suspended: checking all of them takes little of an iteration then.
CHEAP, DEAR = 12, 400


class ClusterSums(NamedTuple):
    """Sums per cluster, eq. (2), relative to the origin m, and row counts."""

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
    c2: np.ndarray  # |c_j|^2
    p: np.ndarray  # how far each centre moved
    s: np.ndarray  # half the distance to the nearest other centre
    drop: np.ndarray  # how far any other centre moved


def empty_center_terms(k, d, dtype) -> CenterTerms:
    """Arrays for `center_terms` to fill."""
    A = np.zeros(loops.padded_shape(k, d), dtype)
    c2 = np.full(len(A), np.inf, dtype)
    p, s, drop = np.empty((3, k), dtype)
    return CenterTerms(np.empty(d, dtype), np.empty((k, d), dtype), A, c2, p, s, drop)


def center_terms(C, previous, m, dtype, with_bounds=True, into=None) -> CenterTerms:
    """Prepare one iteration; the bounds belong to the centres `previous`."""
    terms = into or empty_center_terms(len(C), C.shape[1], dtype)
    terms.m[:] = m
    eps = np.finfo(dtype).eps
    loops.prepare_centers(C, previous, m, with_bounds, *terms[1:], eps)
    return terms


def single_threaded_products(k, d):
    """BLAS on one thread while rows meet centres in products, even in one block."""
    wide = loops.uses_matrix_product(k, d) and threads.usable_threads() > 1
    return threads.single_blas() if wide else nullcontext()


class CompiledAssignment:
    """Assigns NumPy rows to centres with compiled loops and the bounds of eq. (4).

    `keep_bounds` is whether to keep bounds; None is while they pay. That depends on the
    shape, and on how far the centres still move: bounds that clear too few rows are
    suspended for some iterations, each time for longer.
    """

    def __init__(self, X, w, k, *, keep_bounds=None):
        n, d = X.shape
        cost = comparison_nanoseconds(d, k)
        self.on_cluster = isinstance(X, ClusterRows)
        if self.on_cluster:
            keep_bounds = False  # they would travel with every iteration
        if keep_bounds is None and not CHEAP <= cost <= DEAR:
            keep_bounds = cost > DEAR
        self.dtype = X.dtype
        self.keep_bounds = keep_bounds
        self.labels = np.full(n, -1, np.int32)
        bounded = keep_bounds is not False
        self.upper, self.lower = np.empty((2, n if bounded else 0), X.dtype)
        aligned = (self.upper, self.lower) if bounded else (None, None)
        block = rows_per_block(d, k, n)
        self.rows = rows.as_rows(X, w, self.labels, *aligned, block=block)
        self.terms = empty_center_terms(k, d, X.dtype)
        self.sums = _zero_sums(k, d)
        self.workspaces: list = []  # of blocks that are done, to be used again
        self.tighten = False
        # The share of rows that bounds must clear to pay, and the share of suspects
        # that the distance to the own centre must clear to be worth measuring first.
        self.max_suspect = max(0.0, cost - 5) / (cost + 5) if k > 1 else 0.0
        self.min_spared = (5 + d / 8) / cost
        self.have_bounds = False
        self.suspended = 0 if keep_bounds or self.max_suspect > 0.8 else 1
        self.next_suspension = 2

    def assign(self, C, previous, m):
        """Labels for centres C; only rows that eq. (4) cannot clear are compared."""
        mode = self._mode()
        previous = C if previous is None else previous
        with_bounds = mode == loops.USE_BOUNDS
        terms = center_terms(C, previous, m, self.dtype, with_bounds, self.terms)
        centers = tuple(terms)
        eps = np.finfo(self.dtype).eps
        assign_block = partial(
            _assign_rows,
            mode=mode,
            tighten=self.tighten,
            centers=centers,
            eps=eps,
            workspaces=None if self.on_cluster else self.workspaces,
        )

        total = np.zeros(3, np.int64)
        with single_threaded_products(*C.shape):
            for workspace, counts in self.rows.each(assign_block, blas=False):
                total += counts
                if counts[0]:
                    for whole, part in zip(self.sums, workspace[0], strict=True):
                        whole += part
                        part[...] = 0
                if not self.on_cluster:
                    self.workspaces.append(workspace)
        moved, suspect, spared = total.tolist()
        if mode == loops.USE_BOUNDS:
            self._judge_bounds(suspect, spared)
        return self.labels, ClusterSums(*self.sums, moved)

    def _mode(self):
        """How the next iteration uses bounds."""
        if self.keep_bounds is False or self.suspended > 0:
            self.suspended -= 1
            return loops.WITHOUT_BOUNDS
        mode = loops.USE_BOUNDS if self.have_bounds else loops.MAKE_BOUNDS
        self.have_bounds = True
        return mode

    def _judge_bounds(self, suspect, spared):
        """Whether bounds were worth it, and whether the own centre comes first."""
        self.tighten = spared > self.min_spared * suspect
        if self.keep_bounds is None and suspect > self.max_suspect * len(self.labels):
            self.have_bounds = False
            self.suspended = self.next_suspension
            self.next_suspension *= 2

    def costs(self, C, m):
        """J of eq. (1) at the labels kept, from differences, for each cluster."""
        c = (C - m).astype(self.dtype)
        m = m.astype(self.dtype)

        def block(X, w, z, *_):
            cost = np.zeros(len(c))
            loops.block_costs(X, w, z, m, c, cost)
            return cost

        return self.rows.sum(block, blas=False)

    def farthest(self, C, m, placed):
        """The row farthest from its centre and from the rows `placed`.

        Returns the squared distance and the row.
        """
        c = (C - m).astype(self.dtype)
        m = m.astype(self.dtype)
        P = (np.reshape(placed, (-1, len(m))) - m).astype(self.dtype)

        def block(X, w, z, *_):
            i, far = loops.farthest_row(X, w, z, m, c, P)
            return far, X[i].astype(np.float64)

        return max(self.rows.each(block, blas=False), key=lambda found: found[0])


def _zero_sums(k, d):
    """Sums of the rows, their weights, squares and numbers of k clusters, all 0."""
    return np.zeros((k, d)), np.zeros(k), np.zeros(k), np.zeros(k, np.int64)


def _assign_rows(X, w, z, u, low, *, mode, tighten, centers, eps, workspaces):
    """Assign a block to `centers`; its sums, in a workspace, and counts of rows.

    `workspaces` are sums of zeros and scratch arrays of blocks that are done; None on a
    cluster, where the scratch arrays stay.
    """
    try:
        workspace = workspaces.pop() if workspaces else None
    except IndexError:  # another thread was quicker
        workspace = None
    if workspace is None:
        k, d = centers[1].shape
        workspace = _zero_sums(k, d), loops.nearest_workspace(k, d, X.dtype)
    sums, work = workspace
    bounds = (np.empty(0, X.dtype), np.empty(0, X.dtype)) if u is None else (u, low)
    counts = loops.assign_block(
        X, w, z, bounds, mode, tighten, centers, sums, work, eps
    )
    return (sums, None) if workspaces is None else workspace, counts


class ArrayAssignment:
    """Assigns arrays of the array API and CSR rows with array mathematics."""

    def __init__(self, X, w, k):
        self.X = X
        self.w = w
        self.labels = None
        self.block = array_rows_per_block(X, k)

    def rows(self, *aligned):
        """The rows and their weights in blocks, with further columns beside them."""
        return rows.Rows(self.X, self.w, *aligned, block=self.block)

    def assign(self, C, previous, m):
        """Labels for centres C, from all distances."""
        xp = arrays.namespace(self.w)
        k = len(C)
        clusters = xp.arange(k, device=arrays.device(self.w))

        def assign_block(X, w):
            D, x2 = squared_distance_terms(X, C, m)
            z = xp.argmin(D, axis=1)
            hot = xp.astype(z[:, None] == clusters, w.dtype) * w[:, None]
            if sparse.issparse(X):
                S = (sparse.csr_array(hot.T) @ X).toarray()
            else:
                S = xp.matrix_transpose(hot) @ (X - arrays.asarray(m, like=X))
            N = xp.sum(xp.astype(hot > 0, w.dtype), axis=0)
            parts = (S, xp.sum(hot, axis=0), xp.matrix_transpose(hot) @ x2, N)
            host = (arrays.to_numpy(a).astype(np.float64) for a in parts)
            return z, ClusterSums(*host, moved=0)

        results = list(self.rows().each(assign_block))
        z = rows.concatenate_blocks([labels for labels, _ in results])
        old = self.labels
        self.labels = z
        moved = z.shape[0] if old is None else int(xp.count_nonzero(z != old))
        return z, rows.sum_statistics(c for _, c in results)._replace(moved=moved)

    def squared_distances(self, C, m):
        """|x_i - c_{z_i}|^2 for each row."""
        xp = arrays.namespace(self.w)

        def block(X, w, z):
            if sparse.issparse(X):
                D, x2 = squared_distance_terms(X, C, m)
                return np.maximum(D[np.arange(len(z)), z] + x2, 0)
            c = arrays.asarray(C - m, like=X)
            gap = X - arrays.asarray(m, like=X) - xp.take(c, z, axis=0)
            return xp.sum(gap * gap, axis=1)

        return self.rows(self.labels).map(block)

    def costs(self, C, m):
        """J of eq. (1) at the labels kept, for each cluster."""
        parts = (self.labels, self.w, self.squared_distances(C, m))
        z, w, D2 = (arrays.to_numpy(a) for a in parts)
        return np.bincount(z, w.astype(np.float64) * D2, len(C))

    def farthest(self, C, m, placed):
        """The row farthest from its centre and from the rows `placed`.

        Returns the squared distance and the row.
        """
        xp = arrays.namespace(self.w)
        far = self.squared_distances(C, m)
        for c in placed:
            D, x2 = squared_distance_terms(self.X, c[None, :], m)
            far = xp.minimum(far, D[:, 0] + x2)
        far = xp.where(self.w > 0, far, -xp.ones_like(far))
        i = int(xp.argmax(far))
        row = self.X[[i]].toarray()[0] if sparse.issparse(self.X) else self.X[i, :]
        return float(far[i]), arrays.to_numpy(row).astype(np.float64)


def assignment_for(X, w, k, *, keep_bounds=None):
    """The right kind of assignment for whatever holds the rows."""
    if is_compiled(X):
        return CompiledAssignment(X, w, k, keep_bounds=keep_bounds)
    return (TensorAssignment if arrays.is_torch(X) else ArrayAssignment)(X, w, k)


def is_compiled(X) -> bool:
    """Whether compiled loops take these rows: a NumPy array, or a table on disk."""
    return arrays.is_numpy(X) or isinstance(X, rows.DatasetRows)


def squared_distance_terms(X, C, m):
    """|x_i - c_j|^2 less |x_i - m|^2, and that. m is 0 for sparse rows."""
    if sparse.issparse(X):
        c = C.astype(X.dtype)
        x2 = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        return np.sum(c * c, axis=1) - 2 * (X @ c.T), x2
    xp = arrays.namespace(X)
    c = arrays.asarray(C - m, like=X)
    X = X - arrays.asarray(m, like=X)
    D = xp.sum(c * c, axis=1) - 2 * (X @ xp.matrix_transpose(c))
    return D, xp.sum(X * X, axis=1)


def center_distances(X, C):
    """|x_i - c_j|, taken from differences where the short form would lose digits."""
    m = reference_point(C, X)
    return rows.as_rows(X).map(lambda X: center_distances_block(X, C, m))


def center_distances_block(X, C, m):
    """`center_distances` of one block, computed relative to m."""
    if arrays.is_foreign(X):
        xp = arrays.namespace(X)
        c = arrays.asarray(C, like=X)
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
    assignment = assignment_for(X, w, len(C), keep_bounds=False)
    m = reference_point(C, X)
    z, _ = assignment.assign(C, None, m)
    return z, float(np.sum(assignment.costs(C, m)))


def kmeans_cost(X, w, C):
    """J of eq. (1), each row at its nearest centre."""
    return labels_and_cost(X, w, C)[1]


def nearest_centers(X, C):
    """The label of each row: what `predict` gives, and the last iteration of a fit."""
    m = reference_point(C, X)
    if arrays.is_torch(X):
        return nearest_tensor_centers(X, C, m)
    if not is_compiled(X):
        block = rows.Rows(X, block=array_rows_per_block(X, len(C)))
        xp = arrays.namespace(X)
        return block.map(
            lambda X: xp.argmin(squared_distance_terms(X, C, m)[0], axis=1)
        )
    terms = center_terms(C, C, m, X.dtype, with_bounds=False)
    z = np.empty(X.shape[0], np.int32)

    def label_block(X, z):
        work = loops.nearest_workspace(len(C), C.shape[1], X.dtype)
        loops.nearest_center_block(X, terms.m, terms.A, terms.c2, z, work)

    block = rows_per_block(X.shape[1], len(C), X.shape[0])
    with single_threaded_products(*C.shape):
        for _ in rows.as_rows(X, z, block=block).each(label_block, blas=False):
            pass
    return z


def reference_point(C, X):
    """A point amid the centres, from which rows are measured; 0 if X is sparse."""
    zero = sparse.issparse(X)
    return np.zeros(C.shape[1]) if zero else rounded_to_dtype(np.mean(C, axis=0), X)


def stored_centers(C, X):
    """Centres in the library and dtype of X."""
    like = X if arrays.is_foreign(X) else np.empty(0, X.dtype)
    return arrays.asarray(C, like=like)


def rounded_to_dtype(a, X):
    """float64 numbers rounded to the dtype of X, as float64 on the host."""
    return arrays.to_numpy(stored_centers(a, X)).astype(np.float64)


def row_mean_and_variance(X, w):
    """Weighted mean of the rows, and the mean over columns of their variance."""
    if sparse.issparse(X):
        W = w.sum()
        mean = (X.T @ w) / W
        return np.zeros(X.shape[1]), float(np.mean(X.multiply(X).T @ w / W - mean**2))
    if arrays.is_foreign(X):
        xp = arrays.namespace(X)
        if arrays.is_torch(X) and bool((w == 1).all()):
            variance, mean = xp.var_mean(X, dim=0, correction=0)
            return arrays.to_numpy(mean).astype(float), float(variance.mean())
        W = xp.sum(w)
        mean = w @ X / W
        parts = rows.Rows(X, w).sum(lambda X, w: w @ ((X - mean) * (X - mean)))
        return arrays.to_numpy(mean).astype(float), float(xp.mean(parts / W))
    x0 = X.take([0])[0] if isinstance(X, rows.DatasetRows) else X[0].copy()
    block = rows_per_block(X.shape[1], n=X.shape[0])

    def stats(X, w):
        s1, s2 = np.zeros((2, X.shape[1]))
        return loops.shifted_moments(X, w, x0, s1, s2), s1, s2

    W, s1, s2 = rows.as_rows(X, w, block=block).sum(stats, blas=False)
    if not np.all(np.isfinite(s2)):
        raise ValueError(unusable_column_message(X, s2))
    return x0 + s1 / W, float(np.mean(s2 / W - (s1 / W) ** 2))


def unusable_column_message(X, s2):
    """Error message that names the column of a table that cannot be clustered."""
    name = getattr(X, "columns", range(X.shape[1]))[int(np.argmin(np.isfinite(s2)))]
    return f"column {name!r} contains NaN, infinity or values too large to square."
