"""Nearest neighbours: rows made ready once, then asked for what is near.

The questions and the metrics are those of `rows`; the answers are exact, by a k-d tree
for few columns and by matrix products for many: see `distances.search`.

Cost      fit O(d n log n); a query O(log n) for few columns, O(n d) for many: 40,000
          queries among 160,000 rows of 68 columns are 0.87 TFLOP, four fifths of whose
          16 s on one thread are matrix products in float32
Shapes    X (n, d)   queries (m, d)
Refs      [Bentley1975]; [Friedman1977]
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Literal

from ..base import Estimator
from ..kernels import AbstractKernel
from ..params import Count, Jobs, NonNegative
from . import neighbor_queries


@dataclass(eq=False, repr=False)
class NearestNeighbors(Estimator):
    """Finds the rows nearest to a query, or all within a radius of it.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours `kneighbors` gives.
    radius : float, default=1.0
        How far `radius_neighbors` looks.
    algorithm : {"auto", "kd_tree", "ball_tree", "brute"}, default="auto"
        How rows are searched, which changes the time and not the answer: by a tree
        (both names mean the k-d tree), by matrix products, or by the number of columns.
    leaf_size : int, default=30
        Most rows of a leaf of the tree.
    metric : str, callable or kernel, default="minkowski"
        A metric of `pansophy.distances` or scikit-learn's, "precomputed", a function
        of two rows, or a kernel, whose distance is that of the images of the rows.
    p : float, default=2
        The power of minkowski.
    metric_params : dict or None, default=None
        More arguments for the metric.
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
    n_neighbors: Count = 5
    radius: NonNegative = 1.0
    algorithm: Literal["auto", "kd_tree", "ball_tree", "brute"] = "auto"
    leaf_size: Count = 30
    metric: str | Callable | AbstractKernel = "minkowski"
    p: neighbor_queries.Power = 2
    metric_params: dict | None = None
    n_jobs: Jobs = None

    def fit(self, X, y=None):
        """Make the rows ready.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            The rows, or their distances (n, n) for metric="precomputed".
        y : None
            Not used.

        Returns
        -------
        self : NearestNeighbors
        """
        X, _ = self._begin(X, **neighbor_queries.row_checks(self))
        neighbor_queries.store_rows(self, X)
        return self

    @cached_property
    def _index(self):
        return neighbor_queries.build_index(self)

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """Distances and row numbers of the nearest rows, (m, k) each.

        X None asks for the neighbours of the fitted rows, each without itself.
        """
        return neighbor_queries.kneighbors(self, X, n_neighbors, return_distance)

    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity"):
        """The nearest rows as a sparse matrix of ones, or of distances: (m, n)."""
        return neighbor_queries.kneighbors_graph(self, X, n_neighbors, mode)

    def radius_neighbors(
        self, X=None, radius=None, return_distance=True, sort_results=False
    ):
        """For each query the distances and numbers of the rows within the radius."""
        return neighbor_queries.radius_neighbors(self, X, radius, return_distance, sort_results)

    def radius_neighbors_graph(
        self, X=None, radius=None, mode="connectivity", sort_results=False
    ):
        """The rows within the radius as a sparse matrix: (m, n)."""
        return neighbor_queries.radius_neighbors_graph(self, X, radius, mode, sort_results)

    def __sklearn_tags__(self):
        return neighbor_queries.neighbor_tags(self, super().__sklearn_tags__())
