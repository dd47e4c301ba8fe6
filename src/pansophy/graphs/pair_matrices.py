"""Matrices of distances or similarities as weighted graphs, and as lists of edges.

A matrix A over all pairs of n nodes is an undirected graph with weights A_ij. What it
has to fulfil, and what `graph_from_matrix` enforces, is

    A_ij = A_ji      A_ii = 0 for distances, 1 for similarities                  (1)

A deviation of rounding size is removed, by the mean of both sides; a larger one is an
error. The list of edges (i, j, A_ij), i < j, holds the same numbers: matrix to list and
back is exact. A threshold t makes a graph of ones,

    an edge if A_ij <= t for distances, if A_ij >= t for similarities            (2)

Shapes    A (n, n)   edges (m,), m = n (n - 1) / 2 for all pairs
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

ROUNDING = 1e-10  # relative difference of two sides that is removed
DIAGONAL = {"distance": 0.0, "similarity": 1.0}


class EdgeList(NamedTuple):
    """The edges of an undirected graph, each once."""

    first: np.ndarray  # (m,), the lower node of each edge
    second: np.ndarray  # (m,), the higher one
    weight: np.ndarray  # (m,)
    n_nodes: int


def symmetric_pair_matrix(A, kind="distance"):
    """A as a float matrix that fulfils eq. (1) exactly, or why it cannot.

    Examples
    --------
    >>> symmetric_pair_matrix([[0, 2], [2, 0]])
    array([[0., 2.],
           [2., 0.]])
    """
    if kind not in DIAGONAL:
        raise ValueError(f"kind must be one of {', '.join(DIAGONAL)}, got {kind!r}.")
    A = np.array(A, np.float64)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"a matrix of pairs must be square, got shape {A.shape}.")
    if np.isnan(A).any():
        raise ValueError("a matrix of pairs must not contain NaN.")
    if kind == "distance" and (A < 0).any():
        raise ValueError("a distance is negative.")
    finite = A[np.isfinite(A)]
    slack = ROUNDING * float(np.abs(finite).max(initial=0.0))
    with np.errstate(invalid="ignore"):
        apart = np.where(A == A.T, 0.0, np.abs(A - A.T))
    if (apart > slack).any():
        i, j = np.unravel_index(int(np.argmax(apart)), A.shape)
        raise ValueError(
            f"a matrix of pairs must be symmetric: ({i}, {j}) holds {A[i, j]:.6g}, "
            f"({j}, {i}) holds {A[j, i]:.6g}."
        )
    deviation = np.abs(np.diag(A) - DIAGONAL[kind])
    if not (deviation <= max(slack, ROUNDING)).all():
        i = int(np.argmax(deviation))
        raise ValueError(
            f"the diagonal of a {kind} matrix must be {DIAGONAL[kind]:g}: entry {i} is "
            f"{A[i, i]:.6g}."
        )
    A = np.where(A == A.T, A, 0.5 * (A + A.T))
    np.fill_diagonal(A, DIAGONAL[kind])
    return A


def graph_from_matrix(A, *, kind="distance", threshold=None):
    """The weighted graph of a matrix of pairs, or its 0/1 graph, eq. (2).

    Parameters
    ----------
    A : array of shape (n, n)
    kind : {"distance", "similarity"}, default="distance"
    threshold : float or None, default=None
        t; None keeps every pair with its weight, also a weight of 0.

    Returns
    -------
    G : CSR array of shape (n, n)
        Without a diagonal.

    Examples
    --------
    >>> D = [[0, 1, 4], [1, 0, 3], [4, 3, 0]]
    >>> graph_from_matrix(D, threshold=3).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    A = symmetric_pair_matrix(A, kind)
    pairs = ~np.eye(len(A), dtype=bool)
    if threshold is not None:
        pairs &= threshold >= A if kind == "distance" else threshold <= A
    i, j = np.nonzero(pairs)
    weight = A[i, j] if threshold is None else np.ones(len(i))
    return sp.csr_array((weight, (i, j)), shape=A.shape)


def edge_list(G) -> EdgeList:
    """The edges of a symmetric graph, each once: all pairs of a dense matrix.

    Examples
    --------
    >>> edge_list([[0.0, 2.0], [2.0, 0.0]])
    EdgeList(first=array([0]), second=array([1]), weight=array([2.]), n_nodes=2)
    """
    if sp.issparse(G):
        C = sp.coo_array(G)
        if abs(C - C.T).max() != 0:
            raise ValueError("the graph must be symmetric: each edge is listed once.")
        is_upper = C.row < C.col
        order = np.lexsort((C.col[is_upper], C.row[is_upper]))
        i, j = (a[is_upper][order].astype(np.int64) for a in (C.row, C.col))
        return EdgeList(i, j, C.data[is_upper][order], C.shape[0])
    A = np.asarray(G, np.float64)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not np.array_equal(A, A.T):
        raise ValueError("the graph must be a symmetric matrix.")
    i, j = np.triu_indices(len(A), 1)
    return EdgeList(i, j, A[i, j], len(A))


def matrix_from_edges(edges, *, kind="distance", missing=None):
    """The matrix (n, n) of a list of edges; the inverse of `edge_list`.

    Parameters
    ----------
    edges : EdgeList, or (first, second, weight, n_nodes)
    kind : {"distance", "similarity"}, default="distance"
        Its diagonal is 0 or 1.
    missing : float or None, default=None
        What a pair without an edge gets; None is inf for distances, 0 for
        similarities.

    Examples
    --------
    >>> matrix_from_edges(([0], [1], [2.0], 2))
    array([[0., 2.],
           [2., 0.]])
    """
    edges = EdgeList(*edges)
    if kind not in DIAGONAL:
        raise ValueError(f"kind must be one of {', '.join(DIAGONAL)}, got {kind!r}.")
    i, j = (np.asarray(a, np.int64) for a in (edges.first, edges.second))
    w = np.asarray(edges.weight, np.float64)
    n = int(edges.n_nodes)
    if not len(i) == len(j) == len(w):
        raise ValueError("an edge list needs two nodes and a weight for every edge.")
    ends = np.concatenate([i, j])
    if len(ends) and not (ends.min() >= 0 and ends.max() < n and (i != j).all()):
        raise ValueError(f"edges must join two different nodes from 0 to {n - 1}.")
    pairs = np.minimum(i, j) * n + np.maximum(i, j)
    if len(np.unique(pairs)) < len(pairs):
        raise ValueError("a pair of nodes is listed twice.")
    if missing is None:
        missing = np.inf if kind == "distance" else 0.0
    A = np.full((n, n), float(missing))
    A[i, j] = A[j, i] = w
    np.fill_diagonal(A, DIAGONAL[kind])
    return A
