"""Hierarchical linkage: n - 1 merges of the two closest clusters.

How far apart clusters A and B are, from the distances d of their rows:

    single      min d          complete   max d          average   mean d        (1)
    weighted    (d(A1, B) + d(A2, B)) / 2 for A made of A1 and A2                (2)
    ward        sqrt(2 |A| |B| / (|A| + |B|)) |mean of A - mean of B|            (3)
    centroid    |mean of A - mean of B|                                          (4)
    median      |m_A - m_B|, m_A = (m_A1 + m_A2) / 2 for A made of A1 and A2     (5)

(3) squared and halved is by how much the sum of squares within clusters grows.

*Single linkage* is the minimum spanning tree of the rows, its edges by rising length
[GowerRoss1969]. *The others* are reducible: the union of two clusters that are each
other's nearest is no closer to a third than the nearer of them was. So such pairs may
be merged in any order and sorted by height afterwards. A chain goes from a cluster to
its nearest, on to the nearest of that, and so on; distances along it fall, so it ends
at such a pair. Each cluster enters and leaves the chain once, which makes at most 3 n
searches. Ward's searches need the centroids only. For the others a matrix is kept;
the row of a new cluster is written, its column is not: the newer cluster of a pair
holds their distance, and a row is brought up to date when it is read next.

(4) and (5) are not reducible: a union can be closer to a third cluster than its parts
were, so heights may fall (an inversion). The closest pair of all is merged each time,
and merges stay in that order; a cut at a height takes the highest merge below a node
as its height.

Cost      time O(n^2 d) for all; single of many rows in few columns takes about n log n
          queries of a k-d tree (`boruvka.py`). Memory beyond the rows: single and Ward
          O(n d), the others n^2 numbers (of 4 bytes for float32 rows, else 8: 3.2 GB
          for 20 000 rows; 8 always for centroid and median); with metric="precomputed"
          the matrix is copied
Shapes    X (n, d)   D (n, n)   Z (n - 1, 4): two cluster numbers, height, size.
          Cluster n + t is the one made by merge t, as in SciPy.
Refs      [Mullner2011] the chain and Z; [Murtagh1985]; [GowerRoss1969]; [Ward1963];
          [LanceWilliams1967]
"""

from functools import partial

import numpy as np
from sklearn.metrics import pairwise_distances

from ...core.arrays.arrays import all_finite
from ...core.loops import threads
from ...distances import pairwise
from ...distances.pairwise_metrics import unit_length_rows
from ...graphs.spanning_trees import METRIC_KINDS, point_spanning_tree
from . import _linkage as loops
from .boruvka import boruvka_is_faster, boruvka_tree

METHODS = ("single", "complete", "average", "weighted", "ward", "centroid", "median")
NOT_REDUCIBLE = {"centroid": loops.CENTROID, "median": loops.MEDIAN}
OURS = {"euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "cosine"}
EUCLIDEAN = {"euclidean", "l2"}
FEW = 64  # columns up to which sums over columns beat a matrix product
BLOCK = 64  # rows that a thread fills at a time
UPDATES = {
    "complete": loops.COMPLETE,
    "average": loops.AVERAGE,
    "weighted": loops.WEIGHTED,
    "ward": loops.WARD,
}


def linkage_matrix(X, method="ward", *, metric="euclidean"):
    """The tree of merges, eqs (1) to (5), in SciPy's form.

    Parameters
    ----------
    X : array of shape (n, d), or (n, n) with metric="precomputed"
    method : {"single", "complete", "average", "weighted", "ward", "centroid", "median"}
    metric : str or callable
        A metric of `pansophy.distances` or scikit-learn, "precomputed", or a function
        of X that returns the (n, n) distances. Ward's method, "centroid" and "median"
        need "euclidean", or distances that are.

    Returns
    -------
    Z : array of shape (n - 1, 4)

    Examples
    --------
    >>> linkage_matrix([[0.0], [1.0], [3.0], [7.0], [8.5]], "single")[:, 2]
    array([1. , 1.5, 2. , 4. ])
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}.")
    X = as_float_matrix(X)
    n = len(X)
    if callable(metric):
        X = as_float_matrix(metric(X))
        metric = "precomputed"
    if metric == "precomputed":
        check_square_distances(X)
    if n < 2:
        return np.empty((0, 4))
    of_means = method == "ward" or method in NOT_REDUCIBLE
    if of_means and metric not in ("precomputed", *EUCLIDEAN):
        raise ValueError(f"{method} needs the euclidean metric, got {metric!r}.")
    X, scale = scaled_for_squares(X) if metric in OURS - {"cosine"} else (X, 1.0)
    merges = tuple(np.empty(n - 1, t) for t in (np.int64, np.int64, np.float64))
    if method == "single":
        merges = single_linkage_edges(X, metric)
    elif method in NOT_REDUCIBLE:
        D = distance_matrix(X, metric, squared=True).astype(np.float64, copy=False)
        loops.closest_pair_merges(D, NOT_REDUCIBLE[method], *merges)
        height = np.sqrt(np.maximum(merges[2], 0.0)) / scale
        return linkage_in_order(merges[0], merges[1], height, n)
    elif method == "ward" and metric != "precomputed":
        loops.ward_chain(X.T.astype(np.float64, order="C"), *merges)
        merges = (*merges[:2], np.sqrt(merges[2]))
    else:
        squared = method == "ward" or (method == "complete" and metric in EUCLIDEAN)
        D = distance_matrix(X, metric, squared=squared)
        np.fill_diagonal(D, np.inf)
        loops.nearest_neighbor_chain(D, UPDATES[method], *merges)
        if squared:
            merges = (*merges[:2], np.sqrt(np.maximum(merges[2], 0.0)))
    left, right, height = merges
    return linkage_from_edges(left, right, height / scale, n)


def scaled_for_squares(X):
    """X and 1, or X times a power of 2 and that, if squares would overflow."""
    top = float(np.abs(X).max(initial=0.0))
    safe = np.finfo(X.dtype).max ** 0.3
    if top == 0 or 1 / safe <= top <= safe:
        return X, 1.0
    scale = 2.0 ** -round(np.log2(top))
    return X * X.dtype.type(scale), scale


def single_linkage_edges(X, metric):
    """The edges of the spanning tree as merges."""
    if boruvka_is_faster(X.shape, metric):
        return boruvka_tree(X, metric=metric)
    if metric == "precomputed" or metric in METRIC_KINDS:
        return point_spanning_tree(X, metric=metric)
    return point_spanning_tree(
        pairwise_distances(X, metric=metric), metric="precomputed"
    )


def linkage_from_edges(left, right, height, n):
    """Z from merges named by any row of each side, in any order."""
    order = np.argsort(height, kind="stable")
    return linkage_in_order(left[order], right[order], height[order], n)


def linkage_in_order(left, right, height, n, *, lower_first=True):
    """Z from merges named by any row of each side, in the order given."""
    Z = np.empty((len(height), 4))
    Z[:, 2] = height
    loops.number_clusters(left, right, n, lower_first, Z)
    return Z


def highest_merges(children, height):
    """For each merge the greatest height of it and of all merges below it."""
    top = np.array(height, np.float64)
    n = len(top) + 1
    if (np.diff(top) >= 0).all():
        return top
    for t, (a, b) in enumerate(children):
        top[t] = max(top[t], *(top[c - n] for c in (a, b) if c >= n), -np.inf)
    return top


def labels_of_merges(children, kept):
    """Labels of the rows after the merges `kept` (m,), a set closed downwards."""
    n = len(children) + 1
    root = np.arange(n + len(children))
    for t in np.flatnonzero(kept):
        root[children[t]] = n + t
    for node in range(n + len(children) - 1, -1, -1):  # parents come before children
        root[node] = root[root[node]]
    first = {}
    return np.array([first.setdefault(int(r), len(first)) for r in root[:n]])


def distance_matrix(X, metric, *, squared=False):
    """All distances (squared on demand), in a new array."""
    if metric == "precomputed":
        return X * X if squared else X.copy()
    if metric in OURS and X.shape[1] <= FEW:
        return distance_matrix_by_columns(X, metric, squared)
    if squared:
        return pairwise(X, metric="squared_euclidean")
    if metric == "cosine":
        return 0.5 * pairwise(unit_length_rows(X), metric="squared_euclidean")
    if metric in OURS:
        return pairwise(X, metric=metric)
    D = pairwise_distances(X, metric=metric)
    return D if D.flags.writeable and D.dtype.kind == "f" else np.array(D, float)


def distance_matrix_by_columns(X, metric, squared):
    """One half from differences of columns, the other as its mirror image."""
    n = len(X)
    XT = np.ascontiguousarray(
        (unit_length_rows(X) if metric == "cosine" else X).T, np.float64
    )
    D = np.empty((n, n), X.dtype)
    root = metric in EUCLIDEAN and not squared
    fill = partial(loops.fill_distances, XT)
    rest = (METRIC_KINDS[metric], 2.0, root, D)
    cuts = [(a, min(a + BLOCK, n), *rest) for a in range(0, n, BLOCK)]
    for _ in threads.run_tasks(partial(fill, *cut) for cut in cuts):
        pass
    if metric == "cosine":
        D *= 0.5
    return D


def cut_tree(Z, k=None, *, height=None):
    """Labels of the rows when the tree is cut into k clusters, or at a height.

    A height keeps the merges of at most that height, with none above it among those
    below them. Clusters are numbered by their first rows; cuts of the same tree are
    nested.

    Examples
    --------
    >>> Z = linkage_matrix([[0.0], [1.0], [3.0], [7.0], [8.5]], "single")
    >>> cut_tree(Z, 2), cut_tree(Z, height=1.5)
    (array([0, 0, 0, 1, 1]), array([0, 0, 1, 2, 2]))
    """
    Z = np.asarray(Z)
    n = len(Z) + 1
    if (k is None) == (height is None):
        raise ValueError("give either k or height to cut at.")
    if k is None:
        top = highest_merges(linkage_children(Z), Z[:, 2])
        if not (np.diff(top) >= 0).all():
            return labels_of_merges(linkage_children(Z), top <= height)
        merges = int(np.searchsorted(top, height, side="right"))
    elif 1 <= k <= n:
        merges = n - int(k)
    else:
        raise ValueError(f"k must be from 1 to the {n} rows, got {k}.")
    return loops.labels_after_merges(linkage_children(Z), n, merges)


def linkage_children(Z):
    """The two clusters of each merge as whole numbers."""
    return np.ascontiguousarray(Z[:, :2].astype(np.int64))


def leaf_order(Z):
    """Rows from left to right such that no two branches cross."""
    return loops.leaf_sequence(linkage_children(np.asarray(Z)), len(Z) + 1)


def cophenetic(Z):
    """For each pair of rows i < j the height at which they meet, condensed.

    An ultrametric: of the three pairs of three rows, the two largest are equal.

    Examples
    --------
    >>> cophenetic(linkage_matrix([[0.0], [1.0], [3.0]], "complete"))
    array([1., 3., 3.])
    """
    Z = np.asarray(Z, dtype=np.float64)
    n = len(Z) + 1
    out = np.empty(n * (n - 1) // 2)
    order = leaf_order(Z) if n > 1 else np.zeros(1, np.int64)
    loops.fill_cophenetic(
        linkage_children(Z), np.ascontiguousarray(Z[:, 2]), order, n, out
    )
    return out


def as_float_matrix(X):
    """X as a float matrix; float32 stays."""
    X = np.asarray(X)
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    if X.ndim != 2:
        raise ValueError(f"expected rows in 2 dimensions, got {X.ndim}.")
    if not all_finite(X):
        raise ValueError("the rows contain NaN or infinity.")
    return X


def check_square_distances(D):
    if D.shape[0] != D.shape[1]:
        raise ValueError(
            f"Distance matrix should be square, got matrix of shape {D.shape}."
        )
