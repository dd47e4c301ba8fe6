"""DBSCAN: clusters of rows with enough neighbours, and the rows near them.

    core      sum of w_j over d(x_i, x_j) <= eps is at least min_samples (i counts)  (1)
    cluster   the core rows joined by steps of at most eps between core rows         (2)
    border    not core, but within eps of a core row: in the first such cluster      (3)
    noise     the rest: label -1

Clusters are numbered by their first core rows. A border row within reach of several
goes to the lowest number, so all labels follow from (1) to (3); which rows are core
and how they are grouped does not depend on the order of rows.

*Few columns* (at most three, euclidean): rows are sorted into cells of diagonal eps.
A cell's rows are all neighbours of each other, so a full cell is all core, and a cell
with core rows belongs to one cluster; only pairs of cells within reach that are not
joined yet are compared, and counting stops as soon as there are enough. *Many*
columns: the same with tiles of products, in `dbscan_tiles.py`. *Otherwise* neighbours
come in blocks from `distances.neighbor_search`. The rows of a block that turn out core
are joined with the core rows seen so far; a pair is seen from both ends, so none is
missed. The lists of rows that are not core, at most min_samples - 1 long without
weights, are kept for (3), and looked up again should they be too many.

Cost      grid: O(n) cells and comparisons for a bounded density; else one neighbour
          search. Memory O(n) plus a block, never the neighbours of all rows at once
Shapes    X (n, d)   w (n,)   labels (n,)
Refs      [Ester1996]; [Gunawan2013] cells; [Schubert2017]
"""

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import product
from typing import Literal

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances

from ...base import Clusterer, Estimator
from ...core.loops import threads
from ...distances import neighbor_search
from ...params import Count, Jobs, NonNegative, Positive
from ...persist.saved_state import IntArray, saved_state
from . import _dbscan as loops
from .dbscan_tiles import dbscan_by_tiles

CELLS = 3  # columns up to which cells are used
FINE = 2.0**20  # most cells along an axis: beyond it rounding could misplace rows
KEPT = 1 << 25  # entries of lists kept for border rows
BLOCK = 1 << 23  # distances of a block computed at once
FAST = {"euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "minkowski"}


def dbscan_labels(X, eps, min_samples, w=None, *, neighbor_blocks=None):
    """(labels, core) by eqs (1) to (3).

    Parameters
    ----------
    X : array of shape (n, d)
    eps : float
    min_samples : float
        Weight that makes a row core, its own included.
    w : array of shape (n,), optional
    neighbor_blocks : callable, optional
        neighbor_blocks(rows) gives (rows, indptr, indices) of neighbours in blocks, for
        all rows if `rows` is None. None searches by euclidean distance.

    Examples
    --------
    >>> X = np.array([[0.0], [0.5], [1.0], [1.55], [5.0]])
    >>> dbscan_labels(X, 0.6, 3)
    (array([ 0,  0,  0,  0, -1]), array([False,  True,  True, False, False]))
    """
    if neighbor_blocks is None:
        if fits_grid(X, eps):
            return dbscan_by_cells(X, eps, min_samples, w)
        if not neighbor_search.tree_is_faster(*X.shape):
            return dbscan_by_tiles(X, eps, min_samples, w)
        neighbor_blocks = partial(
            index_neighbor_blocks, neighbor_search.build_index(X), X, eps
        )
    return dbscan_by_neighbor_lists(neighbor_blocks, X.shape[0], min_samples, w)


def fits_grid(X, eps):
    """Whether cells of diagonal eps can be numbered without rounding errors."""
    if X.shape[1] > CELLS or eps <= 0:
        return False
    span = np.ptp(X, axis=0).max(initial=0.0)
    return np.isfinite(span) and span / cell_side(eps, X.shape[1]) < FINE


def cell_side(eps, d):
    """The side of a cell: a little less than eps / sqrt(d), to allow for rounding."""
    return float(eps) / np.sqrt(d) * (1 - 1e-6)


def dbscan_by_cells(X, eps, min_weight, w):
    """Eqs (1) to (3) on a grid."""
    n, d = X.shape
    reach = int(np.ceil(np.sqrt(d) * (1 + 1e-5)))
    place = np.floor((X - X.min(axis=0)) / cell_side(eps, d)).astype(np.int64)
    width = np.cumprod([1, *(place.max(axis=0)[:0:-1] + 2 * reach + 1)])[::-1]
    key = place @ width
    order = np.argsort(key, kind="stable")
    keys, start = np.unique(key[order], return_index=True)
    start = np.append(start, n)
    P = np.ascontiguousarray(X[order], np.float64)
    v = np.empty(0) if w is None else np.ascontiguousarray(w[order], np.float64)
    moves = product(range(-reach, reach + 1), repeat=d - 1)
    steps = np.array([int(np.dot(m, width[:-1])) for m in moves], np.int64)
    lo, hi = np.empty((2, len(keys), d))
    loops.cell_boxes(P, start, lo, hi)
    limit = float(eps) ** 2
    grid = (start, lo, hi, keys, steps, reach, limit)
    core, labels = np.empty(n, np.bool_), np.empty(n, np.int64)
    cuts = [(a, min(a + 2048, len(keys))) for a in range(0, len(keys), 2048)]
    run_in_threads(loops.find_core_points, (P, v, grid, float(min_weight)), cuts, core)
    parent = np.arange(len(keys))
    loops.union_cells(P, core, grid, parent)
    name = cluster_numbers_of_cells(parent, core, start, order)
    run_in_threads(loops.label_borders, (P, core, grid, name), cuts, labels)
    back = np.empty(n, np.int64)
    back[order] = np.arange(n)
    return labels[back], core[back]


def run_in_threads(loop, fixed, cuts, out):
    """loop(*fixed, a, b, out) for every cut."""
    for _ in threads.run_tasks(partial(loop, *fixed, a, b, out) for a, b in cuts):
        pass


def cluster_numbers_of_cells(parent, core, start, order):
    """The cluster number of every cell, by first core rows; -1 without a core row."""
    cell = np.repeat(np.arange(len(parent)), np.diff(start))[core]
    name = np.full(len(parent), -1)
    if len(cell) == 0:
        return name
    while (parent != parent[parent]).any():
        parent = parent[parent]
    first = np.full(len(parent), len(order))
    np.minimum.at(first, parent[cell], order[core])
    tops = np.flatnonzero(first < len(order))
    number = np.full(len(parent), -1)
    number[tops[np.argsort(first[tops])]] = np.arange(len(tops))
    name[cell] = number[parent[cell]]
    return name


def dbscan_by_neighbor_lists(neighbor_blocks, n, min_weight, w):
    """Eqs (1) to (3) from lists of neighbours in blocks."""
    core, known = np.zeros((2, n), np.bool_)
    parent = np.arange(n)
    kept = []  # lists of rows that are not core
    n_kept = 0  # and their entries
    missed = []  # rows whose lists were too many to keep
    for rows, indptr, indices in neighbor_blocks(None):
        counts = np.diff(indptr)
        if w is not None:
            total = np.concatenate([[0.0], np.cumsum(w[indices], dtype=np.float64)])
            counts = total[indptr[1:]] - total[indptr[:-1]]
        core[rows] = counts >= min_weight
        known[rows] = True
        loops.union_neighbor_lists(rows, indptr, indices, core, known, parent)
        rest = np.flatnonzero(counts < min_weight)
        size = int(np.sum(np.diff(indptr)[rest]))
        if n_kept + size <= KEPT:
            n_kept += size
            kept.append((rows[rest], *select_lists(indptr, indices, rest)))
        else:
            missed.append(rows[rest])
    while (parent != parent[parent]).any():
        parent = parent[parent]
    labels = np.full(n, -1)
    labels[core] = np.unique(parent[core], return_inverse=True)[1]
    for lists in kept:
        loops.lowest_core_label(*lists, core, labels)
    if missed:
        for lists in neighbor_blocks(np.concatenate(missed)):
            loops.lowest_core_label(*lists, core, labels)
    return labels, core


def select_lists(indptr, indices, rows):
    """(indptr, indices) of some of the lists."""
    counts = np.diff(indptr)
    keep = np.zeros(len(counts), np.bool_)
    keep[rows] = True
    ends = np.concatenate([[0], np.cumsum(counts[rows])])
    return ends, indices[np.repeat(keep, counts)]


def index_neighbor_blocks(index, X, eps, rows):
    """Neighbours of all rows, or of some, from a search index."""
    numbers = np.arange(X.shape[0]) if rows is None else rows
    queries = None if rows is None else X[rows]
    result = neighbor_search.rows_within_radius(index, queries, eps)
    for cut, indptr, indices, _ in result:
        yield numbers[cut], indptr, indices


def metric_neighbor_blocks(X, eps, metric, params, rows):
    """Blocks of neighbours by any metric of scikit-learn, dense or sparse rows."""
    numbers = np.arange(X.shape[0]) if rows is None else rows
    step = max(1, BLOCK // X.shape[0])
    for a in range(0, len(numbers), step):
        cut = numbers[a : a + step]
        near = pairwise_distances(X[cut], X, metric=metric, **params) <= eps
        near[np.arange(len(cut)), cut] = True  # d(x, x) = 0, whatever rounding says
        ends = np.concatenate([[0], np.cumsum(near.sum(axis=1))])
        yield cut, ends, np.nonzero(near)[1]


def precomputed_neighbor_blocks(D, eps, rows):
    """Blocks of neighbours from distances; pairs that a sparse matrix lacks are far."""
    numbers = np.arange(D.shape[0]) if rows is None else rows
    step = max(1, BLOCK // D.shape[0])
    for a in range(0, len(numbers), step):
        cut = numbers[a : a + step]
        part = D[cut]
        if sp.issparse(part):
            part = sp.csr_array(part)
            i = np.repeat(np.arange(len(cut)), np.diff(part.indptr))
            j = part.indices
            keep = (part.data <= eps) & (cut[i] != part.indices)
            i = np.concatenate([i[keep], np.arange(len(cut))])
            j = np.concatenate([j[keep], cut])
            order = np.argsort(i, kind="stable")
            i, j = i[order], j[order]
        else:
            i, j = np.nonzero(part <= eps)
        ends = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=len(cut)))])
        yield cut, ends, j.astype(np.int64)


@saved_state(core_sample_indices_=IntArray("core", low=0))
@dataclass(eq=False, repr=False)
class DBSCAN(Clusterer, Estimator):
    """Density-based clusters of any shape, and noise; the module text gives the method.

    Parameters
    ----------
    eps : float, default 0.5
        How far apart neighbours may be.
    min_samples : int, default 5
        Neighbours (their weight), the row itself included, that make a row core.
    metric : str or callable, default "euclidean"
        Any metric of scikit-learn, a function of two rows, or "precomputed": X is
        then a matrix of distances, of which a sparse one may leave out far pairs.
    metric_params : dict or None
        Further arguments of the metric.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}
        How neighbours are searched for; the labels are the same. "auto" takes cells
        for up to three columns, then a k-d tree or brute force by shape; either tree
        means a k-d tree.
    leaf_size : int, default 30
        Rows of a leaf of the tree.
    p : float or None
        Power of the "minkowski" metric; None is 2.
    n_jobs : int or None
        Most threads; None or -1 for all.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Cluster numbers, -1 for noise.
    core_sample_indices_ : array
        The core rows.
    components_ : array of shape (core rows, d)
        Copies of them.

    Examples
    --------
    >>> from pansophy.cluster import DBSCAN
    >>> model = DBSCAN(eps=0.6, min_samples=3).fit([[0.0], [0.5], [1.0], [1.55], [5.0]])
    >>> model.labels_, model.core_sample_indices_
    (array([ 0,  0,  0,  0, -1]), array([1, 2]))
    """

    eps: Positive = 0.5
    _: KW_ONLY
    min_samples: Count = 5
    metric: str | Callable = "euclidean"
    metric_params: dict | None = None
    algorithm: Literal["auto", "ball_tree", "kd_tree", "brute"] = "auto"
    leaf_size: Count = 30
    p: NonNegative | None = None
    n_jobs: Jobs = None

    _tensors = False

    def fit(self, X, y=None, sample_weight=None):
        """Find clusters.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or (n, n) distances
        y : None
            Not used.
        sample_weight : array of shape (n,), optional
            What each row counts as a neighbour: k is the same as k equal rows.
        """
        X, w = self._check_training_data(
            X, sample_weight=sample_weight, accept_sparse="csr"
        )
        with threads.limit_threads(self.n_jobs):
            blocks = self._blocks(X)
            labels, core = dbscan_labels(
                X, self.eps, self.min_samples, w, neighbor_blocks=blocks
            )
        self.labels_ = labels
        self.core_sample_indices_ = np.flatnonzero(core)
        self.components_ = X[self.core_sample_indices_].copy()
        return self

    def fit_predict(self, X, y=None, sample_weight=None):
        """`fit`, then the labels of the same rows."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def _blocks(self, X):
        """Source of the neighbours; None for euclidean cells or search."""
        params = dict(self.metric_params or {})
        if "p" in params and self.p is not None:
            warnings.warn(
                "Parameter p is found in metric_params. The corresponding parameter "
                "from __init__ is ignored.",
                SyntaxWarning,
                stacklevel=3,
            )
        p = params.pop("p", 2.0 if self.p is None else self.p)
        plain = isinstance(self.metric, str) and self.metric in FAST and not params
        if self.metric == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"distances must be a square matrix, got {X.shape}.")
            return partial(precomputed_neighbor_blocks, X, self.eps)
        if sp.issparse(X) or not plain or (self.metric == "minkowski" and p < 1):
            if self.metric == "minkowski":
                params["p"] = p
            return partial(metric_neighbor_blocks, X, self.eps, self.metric, params)
        euclidean = self.metric in ("euclidean", "l2") or (
            self.metric == "minkowski" and p == 2
        )
        if euclidean and self.algorithm == "auto":
            return None
        method = self.algorithm.replace("ball", "kd")
        index = neighbor_search.build_index(
            X, metric=self.metric, p=p, method=method, leaf_size=self.leaf_size
        )
        return partial(index_neighbor_blocks, index, X, self.eps)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = True
        return tags
