"""Nearest neighbours under any metric of scikit-learn.

`distances.neighbor_search` serves dense rows and its metrics. Sparse rows, precomputed
distances, functions of two rows and other metrics go to scikit-learn.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..distances.neighbor_search import KINDS, build_index, k_nearest
from ..graphs import knn_graph, radius_graph


class NeighborSearch(NamedTuple):
    """The metric and search parameters that the estimators share."""

    metric: Any = "euclidean"
    p: float = 2.0
    metric_params: dict | None = None
    n_jobs: int | None = None
    method: str = "auto"  # "ball_tree" answers as "kd_tree" does

    def has_index(self, X):
        """Whether `distances.neighbor_search` takes these rows and this metric."""
        known = isinstance(self.metric, str) and self.metric in KINDS
        return known and not self.metric_params and not sparse.issparse(X)

    def index_of(self, X):
        method = "kd_tree" if self.method == "ball_tree" else self.method
        X = np.ascontiguousarray(X)
        return build_index(X, metric=self.metric, p=self.p, method=method)

    def sklearn_model(self, k=None, radius=None):
        from sklearn.neighbors import NearestNeighbors

        return NearestNeighbors(
            n_neighbors=k,
            radius=radius,
            algorithm=self.method,
            metric=self.metric,
            p=self.p,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
        )


def upcast_if_squares_overflow(X):
    """X in float64 if it is an array of float32 whose squares float32 cannot hold."""
    if not isinstance(X, np.ndarray) or X.dtype != np.float32:
        return X
    size = float(np.max(np.abs(X)))
    return X if size == 0 or 1e-15 < size < 1e15 else X.astype(np.float64)


def neighbors_of_rows(X, k, search=NeighborSearch()):
    """Distances and row numbers (n, k) of the k rows nearest to each, itself left out.

    With metric="precomputed" X holds distances; a sparse X holds those that matter.
    """
    if search.has_index(X):
        return k_nearest(search.index_of(X), None, k)
    D, rows = search.sklearn_model(k).fit(X).kneighbors()
    return np.ascontiguousarray(D), rows


def neighbors_of_queries(Q, X, k, search=NeighborSearch()):
    """Distances and row numbers (m, k) of the k rows of X nearest to each of Q."""
    if sparse.issparse(Q) and not sparse.issparse(X):
        Q = Q.toarray()
    if search.has_index(X):
        return k_nearest(search.index_of(X), Q, k)
    if sparse.issparse(X) and not sparse.issparse(Q):
        Q = sparse.csr_array(Q)
    return search.sklearn_model(k).fit(X).kneighbors(Q)


def neighbor_distance_graph(X, k, radius, search=NeighborSearch()):
    """The graph of the k nearest, or of rows within a radius, as CSR distances."""
    if not search.has_index(X):
        model = search.sklearn_model(k, radius).fit(X)
        if k is None:
            return sparse.csr_array(model.radius_neighbors_graph(mode="distance"))
        return sparse.csr_array(model.kneighbors_graph(mode="distance"))
    index = search.index_of(X)
    if k is None:
        return radius_graph(X, radius, index=index)
    return knn_graph(X, k, index=index)
