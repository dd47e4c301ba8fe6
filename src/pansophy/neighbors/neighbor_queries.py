"""Neighbour queries: the rows, metric and search that all neighbour models share.

    kneighbors         the k nearest fitted rows of each query                   (1)
    radius_neighbors   the fitted rows within a radius of each query             (2)
    ..._graph          the same as a sparse matrix, (m, n)                       (3)

Distances are those of `distances.neighbor_search`; a kernel k(x, z) as metric means

    d(x, z)^2 = k(x, x) + k(z, z) - 2 k(x, z)                                   (4)

the distance of the images of x and z in the feature space of the kernel. Metrics that
only scikit-learn has (jaccard, haversine, ...) are computed by it, tile by tile.

Distances may also be given, as a matrix (m, n) or as a sparse graph that stores those
of near rows only: an entry that is stored is a neighbour, even at distance 0, and one
that is not stored is none (`precomputed_graph.py`).

Shapes    X (n, d)   queries (m, d)
"""

import math
import numbers
import warnings
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.metrics import DistanceMetric, pairwise_distances
from sklearn.metrics.pairwise import (
    PAIRED_DISTANCES,
    PAIRWISE_BOOLEAN_FUNCTIONS,
    PAIRWISE_DISTANCE_FUNCTIONS,
)
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator
from ..core.arrays.arrays import namespace
from ..core.loops import threads
from ..distances import METRICS, distance_matrix_function, neighbor_search
from ..kernels import AbstractKernel
from ..params import ParameterError, ParameterRule
from ..persist.saved_state import FloatArray, NumberArray, Whole, saved_state
from . import precomputed_graph
from .search_trees import rows_of_search_tree

Metric = str | Callable | AbstractKernel | DistanceMetric
Power = Annotated[float, ParameterRule("a number above 0, or inf", lambda v: v > 0)]
SKLEARN_METRICS = {
    "braycurtis",
    "canberra",
    "correlation",
    "dice",
    "hamming",
    "jaccard",
}
SKLEARN_METRICS |= {"rogerstanimoto", "russellrao", "seuclidean", "sokalsneath", "yule"}
SKLEARN_METRICS |= set(PAIRWISE_DISTANCE_FUNCTIONS) | set(PAIRED_DISTANCES)
SPARSE_METRICS = set(PAIRWISE_DISTANCE_FUNCTIONS) - {"haversine", "nan_euclidean"}
SPARSE_METRICS -= {"precomputed"}
MINKOWSKI_NAMES = {1: "manhattan", 2: "euclidean", math.inf: "chebyshev"}


def kernel_distance(kernel, X, Z=None):
    """Eq. (4) for all pairs: (n, m).

    Examples
    --------
    >>> from pansophy.kernels import Linear
    >>> from pansophy.neighbors import kernel_distance
    >>> kernel_distance(Linear(), [[1.0, 2.0]], [[3.0, -1.0]]).round(6)
    array([[3.605551]])
    """
    X = neighbor_search.as_float_rows(X)[0]
    Z = X if Z is None else neighbor_search.as_float_rows(Z)[0]
    D = kernel.diag(X)[:, None] + kernel.diag(Z)[None, :] - 2 * kernel(X, Z)
    xp = namespace(D)
    return xp.sqrt(xp.where(D > 0, D, xp.zeros_like(D)))


def resolve_metric(model) -> tuple[Any, dict]:
    """The metric that the parameters name, and its own parameters."""
    metric = model.metric
    extra = dict(model.metric_params or {})
    allowed = {"p", "w"} if metric == "minkowski" else set()
    native = isinstance(metric, str) and metric in neighbor_search.KINDS
    if native and not set(extra) <= allowed:
        raise ParameterError(
            f"metric_params of {type(model).__name__} holds "
            f"{min(set(extra) - allowed)!r}, which the metric {metric} does not take."
        )
    if metric == "minkowski":
        p = extra.pop("p", getattr(model, "p", 2))
        if p in MINKOWSKI_NAMES and "w" not in extra:
            return MINKOWSKI_NAMES[p], extra
        return metric, {**extra, "p": p}
    if (
        isinstance(metric, str)
        and metric not in METRICS
        and metric not in SKLEARN_METRICS
    ):
        raise ParameterError(
            f"metric of {type(model).__name__} must be one of "
            f"{', '.join(sorted(set(METRICS) | SKLEARN_METRICS))}, a function of two "
            f"rows or a kernel, got {metric!r}."
        )
    needed = {"mahalanobis": {"V", "VI"}, "seuclidean": {"V"}}
    needed = needed.get(metric, set()) if isinstance(metric, str) else set()
    if needed and not needed & set(extra):
        raise ParameterError(
            f"metric_params of {type(model).__name__} must give "
            f"{' or '.join(sorted(needed))} for the metric {metric}."
        )
    return metric, extra


def is_native_metric(metric, extra) -> bool:
    """Whether `distances.neighbor_search` has loops for the metric."""
    named = isinstance(metric, str) and metric in neighbor_search.KINDS
    return named and "w" not in extra and extra.get("p", 1) >= 1


def search_method(model, metric, extra, is_sparse) -> str:
    """ "auto", "kd_tree" or "brute", as the algorithm and the metric allow.

    A ball tree serves any metric; where our k-d tree does not know the metric, the
    same answer comes by brute force. A tree needs the triangle inequality, which
    minkowski has for p >= 1 only.
    """
    name = type(model).__name__
    native = is_native_metric(metric, extra)
    semimetric = metric == "minkowski" and extra["p"] < 1
    if is_sparse and model.algorithm in ("kd_tree", "ball_tree"):
        warnings.warn(
            f"algorithm={model.algorithm!r} of {name}: cannot use tree with sparse "
            "input: using brute force",
            UserWarning,
            stacklevel=5,
        )
    elif semimetric and model.algorithm in ("kd_tree", "ball_tree"):
        raise ParameterError(
            f'algorithm="{model.algorithm}" does not support 0 < p < 1 for the '
            "Minkowski metric. To resolve this problem either set p >= 1 or "
            'algorithm="brute".'
        )
    elif model.algorithm == "kd_tree" and not (
        native or metric == "precomputed" or isinstance(metric, DistanceMetric)
    ):
        raise ParameterError(
            f"algorithm of {name} must be 'auto', 'ball_tree' or 'brute' for the "
            f"metric {metric!r}, got 'kd_tree'."
        )
    if semimetric:
        warnings.warn(
            "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. "
            "Continuing the execution with `algorithm='brute'`.",
            UserWarning,
            stacklevel=5,
        )
    if is_sparse or not native:
        return "brute"
    return "kd_tree" if model.algorithm == "ball_tree" else model.algorithm


def metric_function(metric, extra):
    """A metric as a function from (Q, X) to their matrix of distances."""
    if isinstance(metric, AbstractKernel):
        return lambda Q, X: kernel_distance(metric, Q, X)
    if callable(metric):
        return distance_matrix_function(metric, **extra)
    if isinstance(metric, DistanceMetric):
        return lambda Q, X: metric.pairwise(Q, X)
    finite = "allow-nan" if metric == "nan_euclidean" else True
    kind = bool if metric in PAIRWISE_BOOLEAN_FUNCTIONS else None
    metric = "correlation" if metric == "pearson" else metric
    if metric == "mahalanobis" and "VI" not in extra:
        extra = {"VI": np.linalg.inv(extra["V"])}

    def distances(Q, X):
        Q, X = (A if kind is None else A.astype(kind) for A in (Q, X))
        return np.ascontiguousarray(
            pairwise_distances(Q, X, metric=metric, ensure_all_finite=finite, **extra)
        )

    return distances


def has_finite_rows(model) -> bool:
    """Whether the rows of a loaded model can be compared."""
    rows = getattr(model, "_fit_X", None)
    if type(rows) is not np.ndarray or model.metric == "nan_euclidean":
        return True
    return rows.dtype.kind != "f" or bool(np.isfinite(rows).all())


@saved_state(
    n_samples_fit_=Whole(low=1),
    _fit_X=NumberArray("n_samples_fit_", "n_features_in_"),
    _y=NumberArray("n_samples_fit_", ...),
    _reach=FloatArray("n_samples_fit_"),
    _lrd=FloatArray("n_samples_fit_"),
    check=has_finite_rows,
)
class AbstractNeighbors(Estimator):
    """Fitted rows with a search index, and queries about their neighbours."""

    n_neighbors: Any
    algorithm: Any
    leaf_size: Any
    metric: Any
    p: Any
    metric_params: Any
    n_jobs: Any

    @abstractmethod
    def fit(self, X, y) -> Any: ...

    @cached_property
    def _index(self):
        """The search index of the fitted rows; None for precomputed distances."""
        metric, extra = resolve_metric(self)
        X = self._fit_X
        if metric == "precomputed":
            return None
        native = is_native_metric(metric, extra)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `fit` has given them
            method = search_method(self, metric, extra, sparse.issparse(X))
        if sparse.issparse(X) or not native:
            return neighbor_search.build_index(X, metric=metric_function(metric, extra))
        p = float(extra.get("p", 2))
        return neighbor_search.build_index(
            X, metric=metric, p=p, method=method, leaf_size=self.leaf_size
        )

    def _row_checks(self) -> dict:
        """Options of the check of rows."""
        finite = "allow-nan" if self.metric == "nan_euclidean" else True
        accept = True if self.metric == "precomputed" else "csr"
        return {"accept_sparse": accept, "order": "C", "ensure_all_finite": finite}

    def _check_rows(self, X, y=None, **checks) -> tuple:
        """`_check_training_data` of rows, of a search tree or of a fitted model."""
        X = rows_of_search_tree(X)
        X = precomputed_graph.as_csr(X) if self.metric == "precomputed" else X
        return self._check_training_data(X, y, **{**self._row_checks(), **checks})

    def _store_rows(self, X):
        """Keep the rows and build their index; every `fit` does this first."""
        metric, extra = resolve_metric(self)
        if "p" in (self.metric_params or {}) and self.p is not None:
            warnings.warn(
                "p is given in metric_params too: that one is used.",
                SyntaxWarning,
                stacklevel=3,
            )
        named = isinstance(metric, str)
        fits_sparse = metric == "precomputed" or metric in SPARSE_METRICS
        if sparse.issparse(X) and named and not fits_sparse:
            raise ParameterError(
                f"Metric {metric!r} not valid for sparse input. metric of "
                f"{type(self).__name__} must be one of "
                f"{', '.join(sorted(SPARSE_METRICS))} for sparse rows, got {metric!r}."
            )
        search_method(self, metric, extra, sparse.issparse(X))
        if metric == "precomputed":
            X = check_precomputed(X)
        self._fit_X = X
        self.n_samples_fit_ = int(X.shape[0])
        self.effective_metric_ = metric
        self.effective_metric_params_ = extra
        self.__dict__.pop("_index", None)
        with threads.limit_threads(self.n_jobs):
            _ = self._index

    def _check_queries(self, X):
        """Queries checked against the fitted rows; None stands for the fitted rows."""
        check_is_fitted(self)
        if X is None:
            return None
        if self.metric == "precomputed":
            X = precomputed_graph.as_csr(X)
            X = self._check_new_data(X, **self._row_checks())
            if sparse.issparse(X):
                return precomputed_graph.sort_by_distance(X)
            refuse_negative_distances(X)
            return X
        X = self._check_new_data(X, **self._row_checks())
        densify = sparse.issparse(X) and not sparse.issparse(self._fit_X)
        if densify and self.algorithm in ("kd_tree", "ball_tree"):
            raise ValueError(
                f"algorithm={self.algorithm!r} of {type(self).__name__} does not take "
                "sparse queries: densify them, or set algorithm='brute'."
            )
        return X.toarray() if densify else X

    def _check_n_neighbors(self, k, of_fitted, m="any"):
        """The number of neighbours, checked against the number of fitted rows."""
        k = self.n_neighbors if k is None else k
        if k is None:
            raise ValueError(
                f"n_neighbors of {type(self).__name__} is None: give it with the query."
            )
        if not isinstance(k, numbers.Integral):
            raise TypeError(
                f"n_neighbors must be a whole number, got {type(k).__name__}."
            )
        n = self.n_samples_fit_
        if k < 1:
            raise ValueError(f"Expected n_neighbors > 0. Got {k}")
        if k > n - of_fitted:
            sign = "<" if of_fitted else "<="
            raise ValueError(
                f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {k}, "
                f"n_samples_fit = {n}, n_samples = {n if of_fitted else m}"
            )
        return int(k)

    def _find_nearest(self, X, k):
        """Eq. (1): distances and rows, for checked queries or None."""
        with threads.limit_threads(self.n_jobs):
            if self._index is None:
                D = self._fit_X if X is None else X
                if sparse.issparse(D):
                    return precomputed_graph.k_nearest_of_graph(D, k, X is None)
                own = np.arange(self.n_samples_fit_) if X is None else None
                return neighbor_search.k_smallest_columns(D, k, own)
            return neighbor_search.k_nearest(self._index, X, k)

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """Distances and row numbers of the nearest rows, (m, k) each.

        X=None returns the neighbours of the fitted rows, each without itself.
        """
        X = self._check_queries(X)
        D, J = self._find_nearest(X, self._check_n_neighbors(n_neighbors, X is None))
        return (D, J) if return_distance else J

    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity"):
        """The nearest rows as a sparse matrix of ones, or of distances: (m, n)."""
        X = self._check_queries(X)
        k = self._check_n_neighbors(n_neighbors, X is None)
        D, J = self._find_nearest(X, k)
        data = edge_weights(mode, D.ravel())
        ends = np.arange(0, J.size + 1, k)
        return sparse.csr_matrix((data, J.ravel(), ends), (len(J), self.n_samples_fit_))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        return tags


def check_precomputed(X):
    """X if it is a square matrix of distances, a sparse one sorted by distance."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"Precomputed matrix must be square. Input is a {X.shape[0]}x{X.shape[1]} "
            "matrix."
        )
    if sparse.issparse(X):
        return precomputed_graph.sort_by_distance(X)
    refuse_negative_distances(X)
    return X


def refuse_negative_distances(X):
    """Raise if a precomputed distance is negative."""
    if X.size and X.min() < 0:
        raise ValueError("Negative values in data passed to precomputed distances.")


def edge_weights(mode, D):
    """Ones or distances, as the mode of a graph says."""
    if mode not in ("connectivity", "distance"):
        raise ValueError(
            'Unsupported mode, must be one of "connectivity", or "distance" but got '
            f'"{mode}" instead'
        )
    return np.ones(len(D)) if mode == "connectivity" else D
