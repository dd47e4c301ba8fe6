"""Isomap: classical scaling of shortest paths along a graph of neighbours.

Rows are joined to their neighbours, an edge as long as the distance. The length of the
shortest path between two rows stands for their distance along the surface, and
classical scaling of those lengths G gives the embedding:

    B = -1/2 J G^2 J,     B = U L U^T,     Y = U_m L_m^(1/2)                        (1)

With every row joined to every other, G holds the distances themselves and Y the
principal components. A new row q reaches row i through one of its own neighbours,

    g_i = min_j d(q, x_j) + G_ji,                                                   (2)

and lands at U_m^T L_m^(-1/2) b, b the products that (1) would give for g.

Paths come from Dijkstra's algorithm, with buckets of distances in place of a heap where
edges are of like lengths; threads share the sources. A graph in pieces is
made whole with the shortest link between every two of them, with a warning.

Cost      O(n (e + n) log n) for e edges; memory O(n^2), for G
Shapes    X (n, d)   G, B (n, n)   Y (n, m)
Refs      [Tenenbaum2000]; [Bengio2004] new rows
"""

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.loops import threads
from ..graphs import connected_components, symmetrize_graph
from ..params import Count, Infinite, Jobs, NonNegative, Positive
from ..persist.saved_state import NumberArray, saved_state
from . import _shortest_paths
from .any_metric_neighbors import (
    NeighborSearch,
    neighbor_distance_graph,
    neighbors_of_queries,
    upcast_if_squares_overflow,
)
from .classical_mds import (
    check_n_dimensions,
    double_centered,
    largest_eigenpairs,
    scaled_eigenvectors,
)
from .tsne_repulsion import point_ranges


class DisconnectedGraphError(ValueError, RuntimeError):
    """A graph of given distances is not connected, and nothing tells how far apart."""


def shortest_paths(G, *, method="auto"):
    """Lengths of shortest paths between all nodes of an undirected graph, (n, n).

    method "auto" and "D" are Dijkstra's algorithm, "FW" is Floyd and Warshall's.
    """
    G = sparse.csr_array(G)
    if method == "FW":
        return csgraph.shortest_path(G, method="FW", directed=False)
    G = symmetrize_graph(G, "either")
    n = G.shape[0]
    D = np.empty((n, n))
    graph = (G.indptr.astype(np.int64), G.indices.astype(np.int32))
    graph = (*graph, G.data.astype(np.float64))
    ring = _bucket_widths(graph[2])

    def paths(lo, hi):
        if ring is not None:
            lo = _shortest_paths.bucket_paths(*graph, *ring, lo, hi, D)
        if lo < hi:
            _shortest_paths.dijkstra_paths(*graph, lo, hi, D)

    for _ in threads.run_tasks([lambda c=c: paths(*c) for c in point_ranges(n, 32)]):
        pass
    return D


def _bucket_widths(length):
    """(width, number) of buckets for edges like these; None if they are too uneven."""
    if len(length) == 0:
        return None
    width, longest = float(np.quantile(length, 0.25)), float(np.max(length))
    if not 0 < longest < 200 * width:
        return None
    return width, int(longest / width) + 3


def _connected_neighbor_graph(G, X, search):
    """The graph with its components linked by the shortest edge between every two."""
    count, labels = connected_components(G)
    if count == 1:
        return G
    if search.metric == "precomputed" and sparse.issparse(X):
        raise DisconnectedGraphError(
            f"the number of connected components of the graph of neighbours is "
            f"{count}, and distances between them are not given: raise n_neighbors or "
            "radius."
        )
    warnings.warn(
        f"the number of connected components of the graph of neighbours is {count}: "
        "they are linked where they are nearest. Take more neighbours to avoid this.",
        UserWarning,
        stacklevel=5,
    )
    pairs = combinations(range(count), 2)
    links = [_shortest_link(X, labels, a, b, search) for a, b in pairs]
    i, j, d = (np.array(part) for part in zip(*links, strict=True))
    G = sparse.coo_array(G)
    data = np.concatenate([G.data, d])
    indices = (np.concatenate([G.row, i]), np.concatenate([G.col, j]))
    return sparse.csr_array((data, indices), shape=G.shape)


def _shortest_link(X, labels, a, b, search):
    """(row, row, distance) of the nearest rows of two pieces."""
    A, B = np.flatnonzero(labels == a), np.flatnonzero(labels == b)
    if search.metric == "precomputed":
        near = np.asarray(X)[np.ix_(A, B)]
        i, j = np.unravel_index(np.argmin(near), near.shape)
        return A[i], B[j], near[i, j]
    d, rows = neighbors_of_queries(X[A], X[B], 1, search)
    i = int(np.argmin(d[:, 0]))
    return A[i], B[rows[i, 0]], d[i, 0]


@saved_state(
    _rows=NumberArray("rows", "n_features_in_"),
    dist_matrix_=NumberArray("rows", "rows"),
    embedding_=NumberArray("rows", None),
)
@dataclass(eq=False, repr=False)
class Isomap(PrefixedOutput, Transformer, Estimator):
    """Isomap embedding; the module text gives the method.

    Parameters
    ----------
    n_neighbors : int or None, default=5
        Neighbours that a row is joined to.
    radius : float or None, default=None
        Join all rows within this distance instead; n_neighbors must be None.
    n_components : int, default=2
        m, the dimensions of the embedding.
    eigen_solver : "auto", "arpack" or "dense", default="auto"
        How the eigenvectors are found.
    tol : float, default=0
        Of arpack; 0 is as exact as can be.
    max_iter : int or None, default=None
        Of arpack.
    path_method : "auto", "FW" or "D", default="auto"
        "D" and "auto" are Dijkstra's algorithm, "FW" Floyd and Warshall's.
    neighbors_algorithm : "auto", "brute", "kd_tree" or "ball_tree", default="auto"
        How neighbours are found; "ball_tree" takes the k-d tree for dense rows. The
        answer is the same.
    n_jobs : int or None, default=None
        Threads; None for all cores.
    metric : str or callable, default="minkowski"
        Of the rows, or "precomputed" for a matrix of distances.
    p : float, default=2
        The power of minkowski.
    metric_params : dict or None, default=None
        Further arguments of the metric.

    Attributes
    ----------
    embedding_ : array of shape (n, m)
        Y.
    dist_matrix_ : array of shape (n, n)
        G, the lengths of shortest paths.
    eigenvalues_ : array of shape (m,)
        The largest eigenvalues of B.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.manifold import Isomap
    >>> t = np.linspace(0, 3, 30)
    >>> arc = np.column_stack([np.cos(t), np.sin(t)])
    >>> Y = Isomap(n_neighbors=2, n_components=1).fit_transform(arc)
    >>> bool(abs(np.corrcoef(Y[:, 0], t)[0, 1]) > 0.999)
    True
    """

    _: KW_ONLY
    n_neighbors: Count | None = 5
    radius: Positive | Infinite | None = None
    n_components: Count = 2
    eigen_solver: Literal["auto", "arpack", "dense"] = "auto"
    tol: NonNegative = 0
    max_iter: Count | None = None
    path_method: Literal["auto", "FW", "D"] = "auto"
    neighbors_algorithm: Literal["auto", "brute", "kd_tree", "ball_tree"] = "auto"
    n_jobs: Jobs = None
    metric: str | Callable = "minkowski"
    p: Positive = 2
    metric_params: dict | None = None

    def fit(self, X, y=None):
        """Embed the rows; y is not used."""
        X, _ = self._check_training_data(
            X, accept_sparse="csr", ensure_min_samples=2, order="C"
        )
        n = X.shape[0]
        kind = X.dtype if X.dtype == np.float32 else np.float64
        self._check_use(n)
        X = upcast_if_squares_overflow(X)
        refuse_overflowing_squares(self, X)
        with threads.limit_threads(self.n_jobs):
            search = self._search()
            graph = neighbor_distance_graph(X, self.n_neighbors, self.radius, search)
            G = shortest_paths(
                _connected_neighbor_graph(graph, X, search), method=self.path_method
            )
            B, means = double_centered(G**2)
            values, U = largest_eigenpairs(
                B,
                self.n_components,
                solver=self.eigen_solver,
                tol=self.tol,
                max_iter=self.max_iter,
            )
        self.dist_matrix_ = G.astype(kind, copy=False)
        self.embedding_ = scaled_eigenvectors(values, U).astype(kind, copy=False)
        self.eigenvalues_ = values
        self._rows = X
        self._vectors = U
        self._means = means
        self._energy = float(np.vdot(B, B))
        return self

    def fit_transform(self, X, y=None):
        """`fit`, then the embedding."""
        return self.fit(X).embedding_

    def transform(self, X):
        """Embed new rows, eq. (2)."""
        X = self._check_new_data(X, accept_sparse="csr", order="C")
        if self.n_neighbors is not None:
            k = min(self.n_neighbors, len(self.dist_matrix_))
            near, rows = neighbors_of_queries(X, self._rows, k, self._search())
        else:
            model = self._search().sklearn_model(radius=self.radius).fit(self._rows)
            near, rows = model.radius_neighbors(X)
            if any(len(r) == 0 for r in rows):
                raise ValueError("a row of X has no neighbour within the radius.")
        out = np.empty((X.shape[0], self.embedding_.shape[1]), self.embedding_.dtype)
        root = np.sqrt(np.maximum(self.eigenvalues_, 0.0))
        axes = np.zeros_like(self._vectors)
        np.divide(self._vectors, root, where=root > 0, out=axes)
        for i in range(X.shape[0]):
            g = np.min(self.dist_matrix_[rows[i]] + near[i][:, None], axis=0)
            b = -0.5 * (np.square(g, dtype=np.float64) - self._means)
            out[i] = (b - b.mean()) @ axes
        return out

    def reconstruction_error(self):
        """|B - Y Y^T|_F / n, what m dimensions leave out of (1)."""
        rest = self._energy - float(np.sum(self.eigenvalues_**2))
        return float(np.sqrt(max(rest, 0.0)) / len(self.dist_matrix_))

    def _search(self):
        return NeighborSearch(
            self.metric,
            self.p,
            self.metric_params,
            self.n_jobs,
            self.neighbors_algorithm,
        )

    def _check_use(self, n):
        if (self.n_neighbors is None) == (self.radius is None):
            given_text = "Both" if self.n_neighbors is not None else "Neither"
            raise ValueError(
                f"{given_text} n_neighbors and radius are provided: give n_neighbors "
                "or radius, and None for the other."
            )
        if self.n_neighbors is not None and self.n_neighbors >= n:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} needs more than the {n} rows there "
                f"are: n_samples = {n}."
            )
        check_n_dimensions(self.n_components, n)

    @property
    def nbrs_(self):
        """scikit-learn's `NearestNeighbors` of the fitted rows, made when asked for."""
        check_is_fitted(self)
        return (
            self._search().sklearn_model(self.n_neighbors, self.radius).fit(self._rows)
        )

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
