"""Graphs of rows: who is among whose nearest, who is within a distance of whom.

    k nearest     i -> j  if x_j is among the k rows nearest to x_i             (1)
    radius        i - j   if d(x_i, x_j) <= r                                   (2)
    threshold     the same on a matrix of distances given as it is              (3)

(1) is not symmetric; `symmetric` says what becomes of a pair that only one side has:
"either" keeps it, "mutual" drops it, "mean" halves it. (2) and (3) are symmetric. The
components of (2) are the single-linkage clusters of height r.

An edge holds its distance, or 1 with mode="connectivity". Rows that coincide have an
edge of stored value 0, which is an edge all the same: nothing here drops it.

Cost      one neighbour search; memory O(edges)
Shapes    X (n, d)   result CSR (n, n)
"""

import numpy as np
import scipy.sparse as sp

from ..distances.neighbor_search import build_index, k_nearest, rows_within_radius

MODES = ("distance", "connectivity")


def knn_graph(
    X, k, *, mode="distance", symmetric=None, include_self=False, metric="euclidean",
    p=2.0, index=None,
):  # fmt: skip
    """Eq. (1) as a CSR matrix, edges of a row by rising distance.

    Parameters
    ----------
    X : array of shape (n, d)
    k : int
        Neighbours of each row, itself counted if `include_self`.
    mode : {"distance", "connectivity"}
        What an edge holds: its length, or 1.
    symmetric : None, "either", "mutual" or "mean"
        What to do about pairs that one side alone has. None leaves them.
    include_self : bool
        Whether a row is its own first neighbour.
    metric, p
        As in `pansophy.distances.neighbor_search.build_index`.
    index : Index, optional
        A search index of X that exists already.

    Examples
    --------
    >>> knn_graph([[0.0], [1.0], [3.0]], 1).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    """
    check_mode(mode)
    index = build_index(rows_of(X), metric=metric, p=p) if index is None else index
    n, own = len(X), int(bool(include_self))
    if not own <= k <= n - 1 + own:
        raise ValueError(f"k must be from {own} to {n - 1 + own} here, got {k}.")
    d, i = np.empty((n, k)), np.empty((n, k), np.int64)
    if own:
        d[:, 0], i[:, 0] = 0.0, np.arange(n)
    if k > own:
        d[:, own:], i[:, own:] = k_nearest(index, None, k - own)
    data = d.ravel() if mode == "distance" else np.ones(n * k)
    G = sp.csr_array((data, i.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return G if symmetric is None else symmetrised(G, symmetric)


def radius_graph(X, r, *, mode="distance", include_self=False, metric="euclidean",
                 p=2.0, index=None):  # fmt: skip
    """Eq. (2) as a CSR matrix.

    Examples
    --------
    >>> radius_graph([[0.0], [1.0], [3.0]], 1.5, mode="connectivity").toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    check_mode(mode)
    index = build_index(rows_of(X), metric=metric, p=p) if index is None else index
    n, counts, found, lengths = len(X), [], [], []
    for rows, indptr, indices, dist in rows_within_radius(index, None, r):
        numbers = np.arange(n)[rows] if isinstance(rows, slice) else np.asarray(rows)
        each = np.diff(indptr)
        if not include_self:
            of = np.repeat(numbers, each)
            keep = indices != of
            each = each - np.bincount(
                np.repeat(np.arange(len(each)), each)[~keep], minlength=len(each)
            )
            indices, dist = indices[keep], dist[keep]
        counts.append(each)
        found.append(indices)
        lengths.append(dist)
    return assembled(counts, found, lengths, n, mode)


def threshold_graph(X, t, *, mode="connectivity", metric="euclidean", p=2.0):
    """Pairs of rows at a distance of at most t, eqs (2) and (3).

    With metric="precomputed" X is a matrix of distances (dense, or sparse with the
    pairs that are not stored taken as infinitely far).

    Examples
    --------
    >>> from pansophy.graphs import connected_components
    >>> G = threshold_graph([[0.0], [1.0], [3.0], [7.0], [8.5]], 2.0)
    >>> connected_components(G)
    (2, array([0, 0, 0, 1, 1]))
    """
    if metric != "precomputed":
        return radius_graph(X, t, mode=mode, metric=metric, p=p)
    check_mode(mode)
    if sp.issparse(X):
        G = sp.coo_array(X)
        keep = (G.data <= t) & (G.row != G.col)
        i, j, d = G.row[keep], G.col[keep], G.data[keep]
    else:
        D = np.asarray(X)
        if D.ndim != 2 or D.shape[0] != D.shape[1]:
            raise ValueError(f"distances must be a square matrix, got {D.shape}.")
        i, j = np.nonzero(t >= D)
        i, j = i[i != j], j[i != j]
        d = D[i, j]
    data = d if mode == "distance" else np.ones(len(d))
    return sp.csr_array((data, (i, j)), shape=X.shape)


def symmetrised(G, how):
    """A graph with G's edges in both directions: "either", "mutual" or "mean"."""
    G = sp.csr_array(G)
    if how == "mean":
        return sp.csr_array(0.5 * (G + G.T))
    if how not in ("either", "mutual"):
        raise ValueError(
            f"symmetric must be None, 'either', 'mutual' or 'mean', got {how!r}."
        )
    n = G.shape[0]
    row = np.repeat(np.arange(n), np.diff(G.indptr))
    one = np.minimum(row, G.indices) * np.int64(n) + np.maximum(row, G.indices)
    pairs, first, seen = np.unique(one, return_index=True, return_counts=True)
    self_edge = pairs // n == pairs % n
    if how == "mutual":
        keep = (seen == 2) | self_edge
        pairs, first, self_edge = pairs[keep], first[keep], self_edge[keep]
    i, j, v = pairs // n, pairs % n, G.data[first]
    other = ~self_edge
    data = np.concatenate([v, v[other]])
    at = (np.concatenate([i, j[other]]), np.concatenate([j, i[other]]))
    return sp.csr_array((data, at), shape=G.shape)


def assembled(counts, found, lengths, n, mode):
    """CSR from the pieces of a blocked search."""
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    indices = np.concatenate(found)
    data = np.concatenate(lengths) if mode == "distance" else np.ones(len(indices))
    return sp.csr_array((data, indices, indptr), shape=(n, n))


def rows_of(X):
    """X as a float matrix in C order."""
    X = np.asarray(X)
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    return np.ascontiguousarray(X)


def check_mode(mode):
    if mode not in MODES:
        raise ValueError(f"mode must be 'distance' or 'connectivity', got {mode!r}.")
