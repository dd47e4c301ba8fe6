"""Agglomerative clustering: every row a cluster, the two closest merged n - k times.

`linkage.py` says what closest means and how the tree of merges is found, with any
metric; `constrained_linkage.py` how it is found when only rows connected in a graph may
join. Cutting the tree leaves k clusters, or those whose merges stay below a distance:
for complete linkage no cluster is then wider than that, for single linkage the clusters
are the components of the graph of pairs at most that far apart.

Cost      see `linkage.py`: O(n^2 d) time; memory O(n d) for single linkage and Ward's,
          n^2 numbers for complete and average; a graph needs O(edges) only
Shapes    X (n, d)   children_ (m, 2)   distances_ (m,)   labels_ (n,)
Refs      [Mullner2011]; [Ward1963]; [LanceWilliams1967]
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, check_memory

from ...base import Clusterer, Estimator, PrefixedOutput, Transformer
from ...params import Count, Flag, NonNegative, ParameterRule
from ...persist.saved_state import FloatArray, IntArray, Whole, saved_state
from ...typing import Matrix
from . import _linkage as loops
from .constrained_linkage import constrained_merges
from .linkage import (
    EUCLIDEAN,
    highest_merges,
    labels_of_merges,
    linkage_matrix,
)

Linkage = Literal[
    "ward", "complete", "average", "single", "weighted", "centroid", "median"
]


def is_joblib_memory(value):
    return value is None or isinstance(value, str) or hasattr(value, "cache")


MemoryCache = Annotated[
    Any, ParameterRule("None, a path or a joblib.Memory", is_joblib_memory)
]


def merge_tree(X, connectivity, linkage, metric, merges):
    """(children, distances, parts of the graph): the merges of a fit."""
    if connectivity is None:
        Z = linkage_matrix(X, linkage, metric=metric)
        return Z[:, :2].astype(np.int64), Z[:, 2].copy(), 1
    return constrained_merges(X, connectivity, linkage, metric=metric, merges=merges)


def check_agglomerative_params(model):
    """Refuse parameters that do not go together."""
    if (model.n_clusters is None) == (model.distance_threshold is None):
        raise ValueError(
            "Exactly one of n_clusters and distance_threshold has to be set, and the "
            "other needs to be None."
        )
    if model.distance_threshold is not None and not model.compute_full_tree:
        raise ValueError("compute_full_tree must be True if distance_threshold is set.")
    if model.linkage == "ward" and model.metric not in EUCLIDEAN:
        raise ValueError(
            f"{model.metric} was provided as metric. Ward can only work with euclidean "
            "distances (i.e. 'euclidean' and 'l2')."
        )
    without_graph = ("weighted", "centroid", "median")
    if model.linkage in without_graph and model.connectivity is not None:
        raise ValueError(f"{model.linkage} linkage takes no connectivity.")


def fit_merge_tree(model, X):
    """Build the merge tree of the rows of X, cut it, and store both on the model."""
    check_agglomerative_params(model)
    n = len(X)
    k = model.n_clusters
    graph = model.connectivity
    if k is not None and k > n:
        raise ValueError(
            f"Cannot extract more clusters than samples: {k} clusters of {n} samples."
        )
    if graph is not None:
        graph = graph(X) if callable(graph) else graph
        graph = check_array(graph, accept_sparse=["csr", "coo", "lil"])
    full = model.compute_full_tree
    if full == "auto":
        full = k is None or k < max(100, 0.02 * n)
    full = full or graph is None or model.linkage == "single"
    merges = n - 1 if full or k is None else n - k
    build = check_memory(model.memory).cache(merge_tree)
    tree = build(X, graph, model.linkage, model.metric, merges)
    model.children_, model.distances_, model.n_connected_components_ = tree
    model.n_leaves_ = n
    if k is not None:
        model.n_clusters_ = k
        model.labels_ = loops.labels_after_merges(model.children_, n, n - k)
        return model
    top = highest_merges(model.children_, model.distances_)
    kept = top < model.distance_threshold
    model.n_clusters_ = n - int(np.count_nonzero(kept))
    if (np.diff(top) >= 0).all():
        merges = n - model.n_clusters_
        model.labels_ = loops.labels_after_merges(model.children_, n, merges)
    else:
        model.labels_ = labels_of_merges(model.children_, kept)
    return model


@saved_state(children_=IntArray("merges", 2, low=0), distances_=FloatArray("merges"))
@dataclass(eq=False, repr=False)
class AgglomerativeClustering(Clusterer, Estimator):
    """Bottom-up hierarchical clustering; the module text gives the method.

    Parameters
    ----------
    n_clusters : int or None, default 2
        Where to cut the tree. None if `distance_threshold` says it.
    metric : str or callable, default "euclidean"
        Any metric of scikit-learn, "precomputed" (X is then a matrix of distances) or
        a function of X that returns the distances. Ward's linkage needs "euclidean".
    memory : str, joblib.Memory or None
        Where the tree is cached, so that another cut need not build it again.
    connectivity : array, sparse matrix, callable or None
        Graph of the rows that may be merged, or a function of X that returns it.
    compute_full_tree : "auto" or bool
        With a connectivity, whether to go on merging after `n_clusters` are left.
        "auto" does unless there are many. Without one the tree is always full.
    linkage : {"ward", "complete", "average", "single", "weighted", "centroid", \
            "median"}
        How far apart clusters are. With "centroid" and "median" a merge can be lower
        than one before it.
    distance_threshold : float or None
        Clusters this far apart or farther are not merged.
    compute_distances : bool
        For compatibility with scikit-learn: `distances_` is always there.

    Attributes
    ----------
    labels_ : array of shape (n,)
        The cluster of each row, numbered by their first rows.
    n_clusters_ : int
        How many there are.
    children_ : array of shape (n - 1, 2)
        The two clusters of each merge; rows are 0 .. n - 1, merge t makes n + t.
    distances_ : array of shape (n - 1,)
        The height of each merge.
    n_leaves_, n_connected_components_ : int
        Rows; parts of the connectivity graph as given.

    Examples
    --------
    >>> from pansophy.cluster import AgglomerativeClustering
    >>> X = [[0.0], [1.0], [2.1], [3.3], [4.6], [6.6]]
    >>> model = AgglomerativeClustering(2, linkage="complete").fit(X)
    >>> model.labels_
    array([0, 0, 0, 0, 1, 1])
    >>> model.distances_.round(6)
    array([1. , 1.2, 2. , 3.3, 6.6])
    """

    n_clusters: Count | None = 2
    _: KW_ONLY
    metric: str | Callable = "euclidean"
    memory: MemoryCache = None
    connectivity: Matrix | Callable | list | None = None
    compute_full_tree: Literal["auto"] | Flag = "auto"
    linkage: Linkage = "ward"
    distance_threshold: NonNegative | None = None
    compute_distances: Flag = False

    _tensors = False

    def fit(self, X, y=None):
        """Build the tree of merges and cut it.

        Parameters
        ----------
        X : array of shape (n, d), or (n, n) distances with metric="precomputed"
        y : None
            Not used.
        """
        (X, _) = self._check_training_data(X, ensure_min_samples=2)
        return fit_merge_tree(self, X)

    def fit_predict(self, X, y=None):
        """`fit`, then the labels of the same rows."""
        return self.fit(X).labels_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


@saved_state(
    children_=IntArray("merges", 2, low=0),
    distances_=FloatArray("merges"),
    n_clusters_=Whole(low=1, high="n_features_in_"),
    labels_=IntArray("n_features_in_", low=0, below="n_clusters_"),
)
@dataclass(eq=False, repr=False)
class FeatureAgglomeration(PrefixedOutput, Transformer, Clusterer, Estimator):
    """Columns merged bottom up, each cluster of columns pooled to one.

    Parameters
    ----------
    n_clusters, metric, memory, connectivity, compute_full_tree, linkage, \
distance_threshold, compute_distances
        As in `AgglomerativeClustering`, of columns instead of rows.
    pooling_func : callable, default numpy.mean
        Called with the columns of a cluster and axis=1.

    Attributes
    ----------
    labels_ : array of shape (d,)
        The cluster of each column.
    n_clusters_, children_, distances_, n_leaves_, n_connected_components_
        As in `AgglomerativeClustering`.

    Examples
    --------
    >>> from pansophy.cluster import FeatureAgglomeration
    >>> X = [[0.0, 0.2, 5.0], [1.0, 1.2, 0.0]]
    >>> FeatureAgglomeration(2).fit_transform(X)
    array([[0.1, 5. ],
           [1.1, 0. ]])
    """

    n_clusters: Count | None = 2
    _: KW_ONLY
    metric: str | Callable = "euclidean"
    memory: MemoryCache = None
    connectivity: Matrix | Callable | list | None = None
    compute_full_tree: Literal["auto"] | Flag = "auto"
    linkage: Linkage = "ward"
    pooling_func: Callable = np.mean
    distance_threshold: NonNegative | None = None
    compute_distances: Flag = False

    _tensors = False

    def fit(self, X, y=None):
        """Build the tree of columns and cut it; y is not used."""
        (X, _) = self._check_training_data(X, ensure_min_features=2)
        return fit_merge_tree(self, np.ascontiguousarray(X.T))

    def transform(self, X):
        """Each cluster's columns pooled to one: shape (n, n_clusters_)."""
        X = self._check_new_data(X)
        order = np.argsort(self.labels_, kind="stable")
        ends = np.cumsum(np.bincount(self.labels_, minlength=self.n_clusters_))
        groups = np.split(order, ends[:-1])
        pooled = [self.pooling_func(X[:, group], axis=1) for group in groups]
        return np.stack(pooled, axis=1)

    def inverse_transform(self, X):
        """The pooled value of its cluster for every column."""
        check_is_fitted(self)
        return np.asarray(X)[..., self.labels_]

    @property
    def _n_features_out(self):
        return self.n_clusters_
