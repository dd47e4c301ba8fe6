"""Neighbours read from a sparse graph of distances instead of from rows.

Row i of a CSR matrix (m, n) stores the distances from query i to some of n fitted rows.
What is stored is a neighbour, even at distance 0; what is not stored is farther than
all that is. Stored zeros therefore matter, so formats that drop or add them (DOK, BSR,
DIA) are refused.

Shapes    graph (m, n), e entries
Cost      O(e log e) to sort
"""

import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import EfficiencyWarning

FORMATS = ("csr", "csc", "coo", "lil")


def as_csr(X):
    """A sparse X in CSR format with its stored zeros; other X as they are."""
    if not sparse.issparse(X):
        return X
    if X.format not in FORMATS:
        raise TypeError(
            f"Sparse matrix in {X.format!r} format is not supported due to its "
            "handling of explicit zeros."
        )
    return X.tocsr()


def sort_by_distance(graph):
    """The graph with the entries of each row in ascending order, lower rows first.

    Warns if that takes a copy.
    """
    if graph.nnz and graph.data.min() < 0:
        raise ValueError(
            "Negative values in data passed to precomputed distance matrix."
        )
    row = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    same_row = row[1:] == row[:-1]
    if not (same_row & (graph.data[1:] < graph.data[:-1])).any():
        return graph
    warnings.warn(
        "Precomputed sparse input was not sorted by row values: a sorted copy is made.",
        EfficiencyWarning,
        stacklevel=4,
    )
    order = np.lexsort((graph.indices, graph.data, row))
    parts = graph.data[order], graph.indices[order], graph.indptr
    return type(graph)(parts, shape=graph.shape)


def without_own_entries(graph):
    """The graph without its diagonal: (data, columns, ends)."""
    row = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    other = graph.indices != row
    ends = np.append(0, np.cumsum(other))[graph.indptr]
    return graph.data[other], graph.indices[other], ends


def k_nearest_of_graph(graph, k, of_fitted):
    """The first k entries of each row of a sorted graph: (D, J), each (m, k).

    With `of_fitted` the queries are the fitted rows, and no row finds itself.
    """
    data, columns, ends = graph.data, graph.indices, graph.indptr
    if of_fitted:
        data, columns, ends = without_own_entries(graph)
    counts = np.diff(ends)
    if len(counts) and counts.min() < k:
        stored = int(np.diff(graph.indptr)[counts < k].min())
        raise ValueError(
            f"{k + of_fitted} neighbors per samples are required, but some samples "
            f"have only {stored} neighbors in precomputed graph matrix"
            f"{', itself counted' if of_fitted else ''}. Decrease number of neighbors "
            "used or recompute the graph with more neighbors."
        )
    at = ends[:-1, None] + np.arange(k)
    return data[at], columns[at].astype(np.int64)


def radius_lists_of_graph(graph, radius, of_fitted):
    """(ends, columns, distances) of the entries within the radii (m,)."""
    data, columns, ends = graph.data, graph.indices, graph.indptr
    if of_fitted:
        data, columns, ends = without_own_entries(graph)
    near = data <= np.repeat(radius, np.diff(ends))
    return np.append(0, np.cumsum(near))[ends], columns[near], data[near]
