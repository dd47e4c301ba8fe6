"""Neighbour graphs of rows: k nearest neighbours, radius and threshold graphs.

    k nearest     i -> j  if x_j is among the k rows nearest to x_i             (1)
    radius        i - j   if d(x_i, x_j) <= r                                   (2)
    threshold     (2) for a precomputed matrix of distances                     (3)

(1) is not symmetric; `symmetric` says what happens to an edge that exists in one
direction only: "either" keeps it, "mutual" drops it, "mean" halves it. (2) and (3) are
symmetric. The components of (2) are the single-linkage clusters of height r.

An edge has its distance as weight, or 1 with mode="connectivity". Equal rows have an
edge with an explicitly stored 0, which counts as an edge.

Cost      one neighbour search; memory O(edges)
Shapes    X (n, d)   result CSR (n, n)
"""

import numpy as np
import scipy.sparse as sp

from ..distances.neighbor_search import build_index, k_nearest, rows_within_radius

EDGE_MODES = ("distance", "connectivity")


def knn_graph(
    X,
    k,
    *,
    mode="distance",
    symmetric=None,
    include_self=False,
    metric="euclidean",
    p=2.0,
    index=None,
):
    """k-nearest-neighbour graph, eq. (1), as a CSR matrix sorted by distance.

    Parameters
    ----------
    X : array of shape (n, d)
    k : int
        Number of neighbours of each row, including itself if `include_self`.
    mode : {"distance", "connectivity"}
        Weight of an edge: its distance, or 1.
    symmetric : None, "either", "mutual" or "mean"
        What to do with edges in one direction only; None keeps them as they are.
    include_self : bool
        Whether a row is its own first neighbour.
    metric, p
        As in `pansophy.distances.neighbor_search.build_index`.
    index : Index, optional
        A search index of X, if there is one already.

    Examples
    --------
    >>> knn_graph([[0.0], [1.0], [3.0]], 1).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    """
    _check_edge_mode(mode)
    index = (
        build_index(_contiguous_floats(X), metric=metric, p=p)
        if index is None
        else index
    )
    n = len(X)
    n_self = int(bool(include_self))
    if not n_self <= k <= n - 1 + n_self:
        raise ValueError(f"k must be from {n_self} to {n - 1 + n_self} here, got {k}.")
    d, i = np.empty((n, k)), np.empty((n, k), np.int64)
    if n_self:
        d[:, 0] = 0.0
        i[:, 0] = np.arange(n)
    if k > n_self:
        d[:, n_self:], i[:, n_self:] = k_nearest(index, None, k - n_self)
    data = d.ravel() if mode == "distance" else np.ones(n * k)
    G = sp.csr_array((data, i.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return G if symmetric is None else symmetrize_graph(G, symmetric)


def radius_graph(
    X, r, *, mode="distance", include_self=False, metric="euclidean", p=2.0, index=None
):
    """Radius graph, eq. (2), as a CSR matrix.

    Examples
    --------
    >>> radius_graph([[0.0], [1.0], [3.0]], 1.5, mode="connectivity").toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    _check_edge_mode(mode)
    index = (
        build_index(_contiguous_floats(X), metric=metric, p=p)
        if index is None
        else index
    )
    n = len(X)
    counts = []
    neighbors = []
    lengths = []
    for rows, indptr, indices, dist in rows_within_radius(index, None, r):
        numbers = np.arange(n)[rows] if isinstance(rows, slice) else np.asarray(rows)
        n_neighbors = np.diff(indptr)
        if not include_self:
            row_of_edge = np.repeat(numbers, n_neighbors)
            is_edge = indices != row_of_edge
            n_neighbors = n_neighbors - np.bincount(
                np.repeat(np.arange(len(n_neighbors)), n_neighbors)[~is_edge],
                minlength=len(n_neighbors),
            )
            indices, dist = indices[is_edge], dist[is_edge]
        counts.append(n_neighbors)
        neighbors.append(indices)
        lengths.append(dist)
    return _assemble_csr(counts, neighbors, lengths, n, mode)


def threshold_graph(X, t, *, mode="connectivity", metric="euclidean", p=2.0):
    """Pairs of rows at a distance of at most t, eqs (2) and (3).

    With metric="precomputed" X is a matrix of distances (dense, or sparse, where pairs
    that are not stored are infinitely far).

    Examples
    --------
    >>> from pansophy.graphs import connected_components
    >>> G = threshold_graph([[0.0], [1.0], [3.0], [7.0], [8.5]], 2.0)
    >>> connected_components(G)
    (2, array([0, 0, 0, 1, 1]))
    """
    if metric != "precomputed":
        return radius_graph(X, t, mode=mode, metric=metric, p=p)
    _check_edge_mode(mode)
    if sp.issparse(X):
        G = sp.coo_array(X)
        is_edge = (G.data <= t) & (G.row != G.col)
        i = G.row[is_edge]
        j = G.col[is_edge]
        d = G.data[is_edge]
    else:
        D = np.asarray(X)
        if D.ndim != 2 or D.shape[0] != D.shape[1]:
            raise ValueError(f"distances must be a square matrix, got {D.shape}.")
        i, j = np.nonzero(t >= D)
        i, j = i[i != j], j[i != j]
        d = D[i, j]
    data = d if mode == "distance" else np.ones(len(d))
    return sp.csr_array((data, (i, j)), shape=X.shape)


def symmetrize_graph(G, method):
    """A symmetric graph from G: "either", "mutual" or "mean", see the module text."""
    G = sp.csr_array(G)
    if method == "mean":
        return sp.csr_array(0.5 * (G + G.T))
    if method not in ("either", "mutual"):
        raise ValueError(
            f"symmetric must be None, 'either', 'mutual' or 'mean', got {method!r}."
        )
    n = G.shape[0]
    row = np.repeat(np.arange(n), np.diff(G.indptr))
    pair_keys = np.minimum(row, G.indices) * np.int64(n) + np.maximum(row, G.indices)
    pairs, first, times = np.unique(pair_keys, return_index=True, return_counts=True)
    self_edge = pairs // n == pairs % n
    if method == "mutual":
        is_kept = (times == 2) | self_edge
        pairs = pairs[is_kept]
        first = first[is_kept]
        self_edge = self_edge[is_kept]
    i = pairs // n
    j = pairs % n
    v = G.data[first]
    not_loop = ~self_edge
    data = np.concatenate([v, v[not_loop]])
    indices = (np.concatenate([i, j[not_loop]]), np.concatenate([j, i[not_loop]]))
    return sp.csr_array((data, indices), shape=G.shape)


def _assemble_csr(counts, neighbors, lengths, n, mode):
    """The CSR matrix of a blocked neighbour search."""
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    indices = np.concatenate(neighbors)
    data = np.concatenate(lengths) if mode == "distance" else np.ones(len(indices))
    return sp.csr_array((data, indices, indptr), shape=(n, n))


def _contiguous_floats(X):
    """X as a C-ordered float matrix."""
    X = np.asarray(X)
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    return np.ascontiguousarray(X)


def _check_edge_mode(mode):
    """Raise if a mode is unknown."""
    if mode not in EDGE_MODES:
        raise ValueError(f"mode must be 'distance' or 'connectivity', got {mode!r}.")
