"""Linkage with connectivity constraints: merges along the edges of a graph.

The graph's edges have the distances of their rows as lengths. The cheapest edge is
taken from a heap, its two clusters become one, and the edges of both lead to the
union: where both had one to the same cluster, complete linkage takes the longer,
average linkage the mean weighted by sizes; Ward's cost comes from the centroids.
Single linkage is the minimum spanning tree of the graph. A graph in several parts is
completed first: for each two parts, the shortest edge between them is added.

Cost      O(edges log edges) for a graph of bounded degree; memory O(edges)
Shapes    X (n, d)   G (n, n) sparse   children (m, 2)   heights (m,)
"""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import paired_distances

from ...graphs import connected_components, minimum_spanning_tree
from . import _constrained_linkage as loops
from .linkage import METHODS, UPDATES, as_float_matrix, linkage_from_edges

PAIRED = {"euclidean", "l2", "l1", "manhattan", "cityblock", "cosine"}


def constrained_merges(X, G, method="ward", *, metric="euclidean", merges=None):
    """(children, heights, components): merges along the edges of G.

    Parameters
    ----------
    X : array of shape (n, d), or (n, n) with metric="precomputed"
    G : array or sparse matrix of shape (n, n)
        Which rows are connected: any entry but 0, in either direction.
    method : {"single", "complete", "average", "ward"}
    metric : str or callable
        As in `linkage_matrix`.
    merges : int, optional
        How many to make; n - 1 if None.

    Examples
    --------
    >>> G = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> constrained_merges([[0.0], [5.0], [0.1]], G, "single")[1]
    array([4.9, 5. ])
    """
    if method not in METHODS or method == "weighted":
        raise ValueError(f"no merges along a graph by {method!r} linkage.")
    X = as_float_matrix(X)
    n = len(X)
    merges = n - 1 if merges is None else merges
    if callable(metric):
        X = as_float_matrix(metric(X))
        metric = "precomputed"
    G, parts = connected_graph(X, G, metric)
    row, column = (a.astype(np.int64) for a in sp.triu(G, 1, format="coo").coords)
    length = np.zeros(0)
    if method != "ward":
        length = edge_lengths(X, row, column, metric)
    if method == "single":
        pairs = np.minimum(row, column), np.maximum(row, column)
        tree = minimum_spanning_tree(sp.coo_array((length, pairs), shape=(n, n)))
        Z = linkage_from_edges(*tree, n)[:merges]
        return Z[:, :2].astype(np.int64), Z[:, 2], parts
    children, height = np.empty((merges, 2), np.int64), np.empty(merges)
    C = np.zeros((n + merges, X.shape[1] if method == "ward" else 0))
    if method == "ward":
        C[:n] = X
    kind = UPDATES[method]
    loops.merge_along_edges(row, column, length, C, n, merges, kind, children, height)
    return children, np.sqrt(2.0 * height) if method == "ward" else height, parts


def connected_graph(X, G, metric):
    """G made symmetric and connected, and its number of components before."""
    G = sp.csr_array(G)
    n = len(X)
    if G.shape != (n, n):
        raise ValueError(
            f"Wrong shape for connectivity matrix: {G.shape} when X is {X.shape}"
        )
    G = sp.csr_array(((G != 0) + (G.T != 0)).astype(np.int8))
    count, labels = connected_components(G)
    if count == 1:
        return G, 1
    warnings.warn(
        "the number of connected components of the connectivity matrix is "
        f"{count} > 1. Completing it to avoid stopping the tree early: the shortest "
        "edge between each two of them was added.",
        UserWarning,
        stacklevel=2,
    )
    parts = [np.flatnonzero(labels == c) for c in range(count)]
    ends = [
        closest_pair(X, parts[a], parts[b], metric)
        for a in range(count)
        for b in range(a)
    ]
    i, j = np.array(ends).T
    E = sp.coo_array((np.ones(len(i), np.int8), (i, j)), shape=(n, n))
    return sp.csr_array(G + E + E.T), count


def closest_pair(X, a, b, metric):
    """The nearest pair of a row of part a and one of part b."""
    if metric == "precomputed":
        D = X[np.ix_(a, b)]
    else:
        D = pairwise_distances(X[a], X[b], metric=metric)
    i, j = divmod(int(np.argmin(D)), len(b))
    return a[i], b[j]


def edge_lengths(X, row, column, metric, block=1 << 16):
    """The distance of the two rows of each edge, in float64."""
    if metric == "precomputed":
        return X[row, column].astype(np.float64)
    out = np.empty(len(row))
    for a in range(0, len(row), block):
        i, j = row[a : a + block], column[a : a + block]
        if metric in PAIRED:
            out[a : a + block] = paired_distances(X[i], X[j], metric=metric)
        else:
            pairs = zip(X[i], X[j], strict=True)
            out[a : a + block] = [
                pairwise_distances(u[None], v[None], metric=metric)[0, 0]
                for u, v in pairs
            ]
    return out
