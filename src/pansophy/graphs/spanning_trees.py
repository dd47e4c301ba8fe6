"""Minimum spanning trees of graphs (Kruskal) and of points (Prim).

By the cut property, the lightest edge that leaves any set of rows belongs to a minimum
spanning tree. Kruskal's algorithm takes the edges of a graph by increasing weight and
keeps those that join two components. Prim's algorithm grows one component, keeping for
each point outside only

    b_j = min_{i in component} w_ij,   w_ij = max(d(x_i, x_j), c_i, c_j)         (1)

so that points need O(n) additional memory and no matrix of distances; c = 0 gives
distances, c_i the distance to the k-th neighbour gives mutual reachability.

Removing the k - 1 heaviest edges leaves the k clusters of single linkage.

Cost      graph: O(edges log edges); points: O(n^2 d) time, O(n d) memory
Shapes    G (n, n) CSR   X (n, d)   left, right, weight (n - 1,)
Refs      [Kruskal1956]; [Prim1957]; [GowerRoss1969]
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..distances.pairwise_metrics import unit_length_rows
from . import _spanning_trees as loops

METRIC_KINDS = {
    "euclidean": loops.EUCLIDEAN,
    "l2": loops.EUCLIDEAN,
    "sqeuclidean": loops.EUCLIDEAN,
    "manhattan": loops.MANHATTAN,
    "l1": loops.MANHATTAN,
    "cityblock": loops.MANHATTAN,
    "chebyshev": loops.CHEBYSHEV,
    "infinity": loops.CHEBYSHEV,
    "minkowski": loops.MINKOWSKI,
    "p": loops.MINKOWSKI,
    "cosine": loops.EUCLIDEAN,
}


class SpanningTree(NamedTuple):
    """Edges left[e] - right[e], by increasing weight."""

    left: np.ndarray  # (m,)
    right: np.ndarray  # (m,)
    weight: np.ndarray  # (m,)


def minimum_spanning_tree(G) -> SpanningTree:
    """Minimum spanning tree of a graph, or forest if it has several components.

    Directions are ignored, the lighter one counts if both are stored; a stored zero is
    an edge.

    Examples
    --------
    >>> from pansophy.graphs import knn_graph
    >>> minimum_spanning_tree(knn_graph([[0.0], [1.0], [3.0], [7.0]], 2)).weight
    array([1., 2., 4.])
    """
    G = sp.coo_array(G)
    n = G.shape[0]
    order = np.argsort(G.data, kind="stable")
    kept = np.empty(max(n - 1, 0), np.int64)
    row = G.row.astype(np.int64)
    column = G.col.astype(np.int64)
    kept = kept[: loops.kruskal_edges(order, row, column, n, kept)]
    return SpanningTree(row[kept], column[kept], G.data[kept].astype(np.float64))


def point_spanning_tree(
    X, *, metric="euclidean", p=2.0, core=None, sort=True
) -> SpanningTree:
    """Minimum spanning tree of points, eq. (1), without a matrix of distances.

    Parameters
    ----------
    X : array of shape (n, d), or (n, n) with metric="precomputed"
    metric : str
        "euclidean", "sqeuclidean", "manhattan", "chebyshev", "minkowski", "cosine",
        one of their aliases, or "precomputed".
    p : float
        Power of "minkowski".
    core : array of shape (n,), optional
        c: no edge of i is shorter than c_i.
    sort : bool, default=True
        Whether edges are sorted by weight; otherwise they come as Prim's algorithm
        finds them from row 0 on, the new row second.

    Examples
    --------
    >>> point_spanning_tree([[0.0], [1.0], [3.0], [7.0], [8.5]]).weight
    array([1. , 1.5, 2. , 4. ])
    """
    X = np.asarray(X, dtype=np.float64)
    n = len(X)
    tree = SpanningTree(
        *(np.empty(max(n - 1, 0), t) for t in (np.int64, np.int64, float))
    )
    c = np.empty(0) if core is None else np.asarray(core, np.float64)
    if n < 2:
        return tree
    if metric == "precomputed":
        D = X if core is None else np.maximum(np.maximum(X, c), c[:, None])
        loops.prim_matrix(np.ascontiguousarray(D), *tree)
        return sort_edges(tree, lambda w: w) if sort else tree
    if metric not in METRIC_KINDS:
        known = ", ".join(METRIC_KINDS)
        raise ValueError(f"metric must be one of {known} or precomputed: {metric!r}.")
    shorten, lengthen = comparison_scales(metric, p)
    XT = unit_length_rows(X).T.copy() if metric == "cosine" else X.T.copy()
    loops.prim_points(XT, shorten(c), METRIC_KINDS[metric], float(p), *tree)
    if not sort:
        return tree._replace(weight=lengthen(tree.weight))
    return sort_edges(tree, lengthen)


def comparison_scales(metric, p):
    """Functions from distances to the scale that the loops compare, and back."""
    if metric in ("euclidean", "l2"):
        return np.square, np.sqrt
    if metric == "cosine":  # half the squared chord
        return (lambda c: 2.0 * c), (lambda w: 0.5 * w)
    if metric in ("minkowski", "p"):
        return (lambda c: c**p), (lambda w: w ** (1.0 / p))
    return np.copy, (lambda w: w)


def sort_edges(tree, lengthen):
    """Edges by increasing weight, ties in the order in which they were found."""
    order = np.argsort(tree.weight, kind="stable")
    return SpanningTree(
        tree.left[order], tree.right[order], lengthen(tree.weight[order])
    )
