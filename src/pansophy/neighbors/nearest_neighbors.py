"""Nearest neighbours: exact search for the k nearest rows, or all within a radius.

The queries and metrics are those of `neighbor_queries.py`; the search is exact, by a
k-d tree for few columns and by matrix products for many (`distances.neighbor_search`).

Cost      fit O(d n log n); a query O(log n) for few columns, O(n d) for many
Shapes    X (n, d)   queries (m, d)
Refs      [Bentley1975]; [Friedman1977]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from ..core.loops import threads
from ..distances import neighbor_search
from ..distances._kd_tree_queries import restore_query_order
from ..params import Count, Infinite, Jobs, NonNegative
from . import precomputed_graph
from .neighbor_queries import AbstractNeighbors, Metric, Power, edge_weights


@dataclass(eq=False, repr=False)
class NearestNeighbors(AbstractNeighbors):
    """Finds the rows nearest to a query, or all within a radius of it.

    Parameters
    ----------
    n_neighbors : int or None, default=5
        Number of neighbours of `kneighbors`; None if every query gives its own.
    radius : float or None, default=1.0
        Radius of `radius_neighbors`; None if every query gives its own.
    algorithm : {"auto", "kd_tree", "ball_tree", "brute"}, default="auto"
        How rows are searched: by a tree (both names mean the k-d tree, where it knows
        the metric), by matrix products, or chosen by the number of columns. The
        result is the same.
    leaf_size : int, default=30
        Most rows of a leaf of the tree.
    metric : str, callable or kernel, default="minkowski"
        A metric of `pansophy.distances` or scikit-learn's, "precomputed", a function
        of two rows, scikit-learn's `DistanceMetric`, or a kernel, which means the
        distance in its feature space. "precomputed" takes a matrix of distances, or a
        sparse graph of those between near rows.
    p : float, default=2
        The power of minkowski. Below 1 it is not a metric, and no tree can serve it.
    metric_params : dict or None, default=None
        Further arguments of the metric.
    n_jobs : int or None, default=None
        Threads; None for all.

    Attributes
    ----------
    effective_metric_ : str, callable or kernel
        The metric used: minkowski under its own name where it has one.
    effective_metric_params_ : dict
    n_samples_fit_ : int
    n_features_in_ : int

    Examples
    --------
    >>> from pansophy.neighbors import NearestNeighbors
    >>> model = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [5.0]])
    >>> model.kneighbors([[0.2]])
    (array([[0.2, 0.8]]), array([[0, 1]]))
    """

    _: KW_ONLY
    n_neighbors: Count | None = 5
    radius: NonNegative | Infinite | None = 1.0
    algorithm: Literal["auto", "kd_tree", "ball_tree", "brute"] = "auto"
    leaf_size: Count = 30
    metric: Metric = "minkowski"
    p: Power = 2
    metric_params: dict | None = None
    n_jobs: Jobs = None

    def fit(self, X, y=None):
        """Store the rows and build their index.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), KDTree, BallTree or fitted model
            The rows, or their distances (n, n) for metric="precomputed".
        y : None
            Not used.

        Returns
        -------
        self : NearestNeighbors
        """
        X, _ = self._check_rows(X)
        self._store_rows(X)
        return self

    def _find_within_radius(self, X, radius):
        """Rows within the radius as (indptr, indices, distances).

        Without X the fitted rows are the queries, and no row finds itself.
        """
        X = self._check_queries(X)
        m = self.n_samples_fit_ if X is None else int(X.shape[0])
        r = check_radii(self.radius if radius is None else radius, m)
        D = self._fit_X if X is None else X
        if self._index is None and sparse.issparse(D):
            return precomputed_graph.radius_lists_of_graph(D, r, X is None)
        parts = []
        with threads.limit_threads(self.n_jobs):
            if self._index is None:
                query, rows = np.nonzero(r[:, None] >= D)
                ends = np.append(0, np.cumsum(np.bincount(query, minlength=len(D))))
                parts.append((slice(0, len(D)), ends, rows, D[query, rows]))
            else:
                parts.extend(
                    neighbor_search.rows_within_radius(self._index, X, r, ordered=False)
                )
        query = np.concatenate([np.arange(m)[part[0]] for part in parts])
        counts = np.concatenate([np.diff(part[1]) for part in parts])
        rows, distances = (np.concatenate([part[t] for part in parts]) for t in (2, 3))
        ends = np.append(0, np.cumsum(counts))
        if X is None:  # a row may be missing from its own list if the metric is given
            other = rows != np.repeat(query, counts)
            ends = np.append(0, np.cumsum(other))[ends]
            rows, distances = rows[other], distances[other]
        ends, rows, distances = restore_query_order(query, ends, rows, distances)
        lists = sparse.csr_array((distances, rows, ends), (m, self.n_samples_fit_))
        lists.sort_indices()
        return lists.indptr, lists.indices.astype(np.int64, copy=False), lists.data

    def radius_neighbors(
        self, X=None, radius=None, return_distance=True, sort_results=False
    ):
        """For each query the distances and numbers of the rows within the radius.

        The radius is a number, or an array with one for each query.
        """
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        ends, rows, distances = self._find_within_radius(X, radius)
        m = len(ends) - 1
        J, D = np.empty(m, object), np.empty(m, object)
        for i in range(m):
            part = slice(ends[i], ends[i + 1])
            J[i], D[i] = rows[part], distances[part]
            if sort_results:
                order = np.argsort(D[i], kind="stable")
                J[i], D[i] = J[i][order], D[i][order]
        return (D, J) if return_distance else J

    def radius_neighbors_graph(
        self, X=None, radius=None, mode="connectivity", sort_results=False
    ):
        """The rows within the radius as a sparse matrix: (m, n)."""
        if sort_results and mode == "connectivity":
            raise ValueError("sort_results sorts by distance: mode must be 'distance'.")
        ends, rows, distances = self._find_within_radius(X, radius)
        if sort_results:
            query = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
            order = np.lexsort((rows, distances, query))
            rows, distances = rows[order], distances[order]
        shape = (len(ends) - 1, self.n_samples_fit_)
        weights = edge_weights(mode, distances)
        return sparse.csr_matrix((weights, rows, ends), shape)


def check_radii(radius, m):
    """Radii (m,) of at least 0, from one number or one for each query."""
    try:
        r = np.asarray(radius, dtype=np.float64)
    except (TypeError, ValueError):
        r = np.array(np.nan)
    if r.shape not in ((), (m,)) or not (r >= 0).all():
        raise ValueError(
            f"radius must be a number of at least 0, or {m} of them, got {radius!r}."
        )
    return np.broadcast_to(r, (m,))
