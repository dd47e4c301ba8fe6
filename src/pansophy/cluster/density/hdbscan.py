"""HDBSCAN: DBSCAN for all eps at once, of which the most stable clusters are kept.

With c_i the distance from x_i to the k-th row (itself the first), k = min_samples,

    m_ij = max(c_i, c_j, d(x_i, x_j) / alpha)                                    (1)

is how far apart two rows are once sparse rows are pushed away. Single linkage of m is
DBSCAN for every eps = 1 / lambda. Going down that tree (lambda rising), a split of
which several parts hold min_cluster_size rows makes that many clusters; the rows of
other parts drop out: the *condensed tree*                                       (2)
Many m are equal, to one c_i. Taken two by two, as scikit-learn does, such merges make a
tree that depends on the order of the rows; taken together, as one split into many
parts, they do not. `ties` chooses.

    stability  S(C) = sum over rows of C of  (lambda at which it leaves - birth)  (3)

"eom" chooses the disjoint clusters of largest total S, bottom up: a cluster stays if
its S is at least the sum chosen below it. "leaf" takes the clusters without further
split. Splits below cluster_selection_epsilon are undone. A row belongs to the chosen
cluster above it with probability min(lambda_i, lambda_max) / lambda_max; rows above
all of them are noise.

Cost      one neighbour search and a spanning tree of eq. (1), O(n d) memory: in few
          columns and from some thousand rows on about n log n tree queries
          (`cluster/hierarchy/boruvka.py`), else Prim's O(n^2 d); a metric that is not a
          sum over columns needs n^2 distances
Shapes    X (n, d)   condensed tree (m, 4)   labels (n,)
Refs      [Campello2013]; [Campello2015]; [MalzerBaum2020] epsilon
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import BallTree, KDTree
from sklearn.utils.validation import check_is_fitted

from ...base import Clusterer, Estimator
from ...core.loops import threads
from ...distances import neighbor_search
from ...graphs import connected_components, minimum_spanning_tree, point_spanning_tree
from ...params import Count, Flag, Jobs, NonNegative, Positive, TwoOrMore
from ...persist.saved_state import FloatArray, IntArray, saved_state
from ..hierarchy.boruvka import boruvka_is_faster, boruvka_tree
from ..hierarchy.linkage import (
    cut_tree,
    linkage_children,
    linkage_from_edges,
    linkage_in_order,
)
from . import _hdbscan as loops

FAST = {"euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "minkowski"}
INFINITE, MISSING = -2, -3


def mutual_reachability_tree(
    X, k, *, metric="euclidean", p=2.0, alpha=1.0, leaf_size=None
):
    """Eq. (1): the minimum spanning tree of m over the rows of X."""
    core = np.zeros(len(X))
    if k > 1:
        index = neighbor_search.build_index(X, metric=metric, p=p, leaf_size=leaf_size)
        core = neighbor_search.k_nearest(index, None, k - 1)[0][:, -1].astype(
            np.float64
        )
    grow = boruvka_tree if boruvka_is_faster(X.shape, metric) else point_spanning_tree
    unsorted = {"sort": False} if grow is point_spanning_tree else {}
    tree = grow(X, metric=metric, p=p, core=alpha * core, **unsorted)
    return tree._replace(weight=tree.weight / alpha)


def mutual_reachability_tree_of_matrix(D, k, alpha=1.0):
    """Mutual reachability tree of distances; pairs a sparse matrix lacks are apart."""
    if not sp.issparse(D):
        D = D / alpha
        core = np.partition(D, k - 1, axis=1)[:, k - 1]
        return point_spanning_tree(D, metric="precomputed", core=core, sort=False)
    D = sp.csr_array(D) / alpha
    if (np.diff(D.indptr) < k).any():
        raise ValueError(
            f"There exists points with fewer than {k} neighbors: store at least "
            "min_samples distances of each row of the sparse matrix, or lower "
            "min_samples."
        )
    rows = np.split(D.data, D.indptr[1:-1])
    core = np.array([np.partition(r, k - 1)[k - 1] for r in rows])
    G = sp.coo_array(D)
    m = np.maximum(np.maximum(core[G.row], core[G.col]), G.data)
    keep = np.isfinite(m)
    G = sp.coo_array((m[keep], (G.row[keep], G.col[keep])), shape=G.shape)
    parts = connected_components(G)[0]
    if parts > 1:
        raise ValueError(
            f"Sparse mutual reachability matrix has {parts} connected components. "
            "HDBSCAN cannot be performed on a disconnected graph: store more distances "
            "or lower min_samples."
        )
    return minimum_spanning_tree(G)


def single_linkage_tree(tree, n, together):
    """The tree of merges of a spanning tree.

    Unless ties are taken `together`, edges of one weight come as scikit-learn sorts
    them, which its default order of sorting decides.
    """
    left, right, weight = tree
    if together:
        return linkage_from_edges(left, right, weight, n)
    order = np.argsort(weight)
    return linkage_in_order(
        left[order], right[order], weight[order], n, lower_first=False
    )


def condense_tree(Z, min_size, together=True):
    """Eq. (2) as rows (parent, child, lambda, size); the root is cluster n.

    `together` makes merges of equal height one split.
    """
    n = len(Z) + 1
    tree = np.empty((2 * n, 4))
    height = np.ascontiguousarray(Z[:, 2])
    size = Z[:, 3].astype(np.int64)
    return tree[
        : loops.fill_condensed_tree(
            linkage_children(Z), height, size, n, min_size, together, tree
        )
    ].copy()


def cluster_stabilities(tree, n):
    """S of eq. (3), and the lambda at which each cluster is born."""
    parent = tree[:, 0].astype(np.int64) - n
    split = tree[:, 1] >= n
    count = int(split.sum()) + 1
    birth = np.zeros(count)
    birth[tree[split, 1].astype(np.int64) - n] = tree[split, 2]
    rate = np.minimum(tree[:, 2], np.finfo(float).max / 1e20)  # equal rows: never leave
    life = np.maximum(rate - np.minimum(birth, rate.max(initial=0))[parent], 0)
    return np.bincount(parent, life * tree[:, 3], minlength=count), birth


def select_clusters(
    tree, n, *, method="eom", allow_single=False, epsilon=0.0, max_size=None
):
    """Flags of the clusters that are selected."""
    S, birth = cluster_stabilities(tree, n)
    count = len(S)
    splits = tree[tree[:, 1] >= n]
    above, size = np.full(count, -1), np.full(count, n)
    if len(splits):
        child = splits[:, 1].astype(np.int64) - n
        above[child] = splits[:, 0].astype(np.int64) - n
        size[child] = splits[:, 3]
    first = 0 if allow_single else 1
    chosen = np.zeros(count, np.bool_)
    inner = np.zeros(count, np.bool_)
    inner[above[1:]] = True
    if method == "leaf":
        chosen = ~inner
        chosen[0] = False
    else:
        below = np.zeros(count)
        for c in range(count - 1, first - 1, -1):
            chosen[c] = below[c] <= S[c] and (max_size is None or size[c] <= max_size)
            if above[c] >= 0:
                below[above[c]] += S[c] if chosen[c] else below[c]
        keep_outermost(chosen, above)
    if epsilon > 0 and count > 1 and not chosen[0]:
        chosen = merge_below_epsilon(chosen, above, birth, epsilon, allow_single)
    return chosen


def keep_outermost(chosen, above):
    """Drop clusters that lie below another chosen one."""
    under = np.zeros(len(chosen), np.bool_)
    for c in range(1, len(chosen)):
        under[c] = under[above[c]] or chosen[above[c]]
        chosen[c] &= not under[c]


def merge_below_epsilon(chosen, above, birth, epsilon, allow_single):
    """Clusters born below epsilon replaced by the first ancestor born above it."""
    out = np.zeros(len(chosen), np.bool_)
    for c in np.flatnonzero(chosen):
        a = c
        while birth[a] * epsilon > 1 and (above[a] > 0 or allow_single):
            a = above[a]
            if a == 0:
                break
        out[a] = True
    keep_outermost(out, above)
    return out


def labels_and_probabilities(tree, n, chosen, *, epsilon=0.0):
    """Labels and probabilities of the rows under the chosen clusters."""
    rate = np.zeros(n)
    top = np.empty(len(chosen), np.int64)
    above = loops.chosen_ancestors(tree, n, chosen, top, rate)
    inside = chosen[above]
    parent = tree[:, 0].astype(np.int64) - n
    death = np.zeros(len(chosen))
    np.maximum.at(death, parent, tree[:, 2])
    if chosen[0]:  # a single cluster: its core only
        limit = 1 / epsilon if epsilon > 0 else death[0]
        inside &= rate >= limit
    labels = np.full(n, -1)
    _, first, z = np.unique(above[inside], return_index=True, return_inverse=True)
    labels[inside] = np.argsort(np.argsort(first))[z]  # numbered by their first rows
    peak = death[above]
    with np.errstate(invalid="ignore"):
        share = np.minimum(rate, peak) / np.where(peak > 0, peak, 1)
    share = np.where((peak == 0) | np.isinf(rate), 1.0, share)
    return labels, np.where(inside, share, 0.0)


def is_sound_linkage(model) -> bool:
    """Whether every merge of a loaded model joins clusters that are there by then."""
    Z = getattr(model, "linkage_matrix_", None)
    if Z is None:
        return True
    pairs = Z[:, :2]
    n = len(Z) + 1
    known = (pairs >= 0) & (pairs < n + np.arange(len(Z))[:, None])
    return bool((known & (pairs == np.floor(pairs))).all())


@saved_state(
    linkage_matrix_=FloatArray(None, 4),
    _state=IntArray(None),
    check=is_sound_linkage,
)
@dataclass(eq=False, repr=False)
class HDBSCAN(Clusterer, Estimator):
    """Hierarchical density-based clusters; the module text gives the method.

    X is never changed. Rows with missing entries get the label -3 and those with
    infinite ones -2; the others are clustered without them.

    Parameters
    ----------
    min_cluster_size : int, default 5
        Rows that make a cluster.
    min_samples : int or None
        k of eq. (1), the row itself included; None is `min_cluster_size`.
    cluster_selection_epsilon : float, default 0
        Splits of clusters closer than this are undone.
    max_cluster_size : int or None
        Larger clusters are not chosen by "eom".
    metric : str or callable, default "euclidean"
        Any metric of scikit-learn, a function of two rows, or "precomputed": X is
        then a matrix of distances, of which a sparse one may leave out far pairs.
    metric_params : dict or None
        Further arguments of the metric.
    alpha : float, default 1
        Divides distances in eq. (1).
    algorithm : {"auto", "brute", "kd_tree", "ball_tree"}
        "brute" computes all distances at once; the others search, by a tree or not
        by shape, and need O(n) memory. The clusters are the same.
    leaf_size : int, default 40
        Rows of a leaf of the tree.
    n_jobs : int or None
        Most threads; None or -1 for all.
    cluster_selection_method : {"eom", "leaf"}
        How clusters are chosen from the condensed tree.
    allow_single_cluster : bool
        Whether all rows may be one cluster.
    store_centers : None, "centroid", "medoid" or "both"
        Centres of the clusters to keep.
    copy : "warn" or bool
        Whether X must be left as it is. It always is; False changes nothing.
    ties : {"pairwise", "together"}, default="pairwise"
        How merges of one height are taken: two by two in the order in which
        scikit-learn sorts them, or all at once, so that clusters don't depend on the
        order of the rows.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Cluster numbers, -1 for noise.
    probabilities_ : array of shape (n,)
        How firmly each row belongs to its cluster; 0 for noise.
    condensed_tree_ : array of shape (m, 4)
        Eq. (2): parent, child, lambda, size; rows are below n, clusters from n on.
    linkage_matrix_ : array of shape (n - 1, 4)
        Single linkage of eq. (1), of the rows with finite entries.
    centroids_, medoids_ : array of shape (clusters, d)
        With `store_centers`.

    Examples
    --------
    >>> from pansophy.cluster import HDBSCAN
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [20.0]]
    >>> HDBSCAN(min_cluster_size=3).fit(X).labels_
    array([ 0,  0,  0,  1,  1,  1, -1])
    """

    min_cluster_size: TwoOrMore = 5
    min_samples: Count | None = None
    cluster_selection_epsilon: NonNegative = 0.0
    max_cluster_size: Count | None = None
    metric: str | Callable = "euclidean"
    metric_params: dict | None = None
    alpha: Positive = 1.0
    algorithm: Literal["auto", "brute", "kd_tree", "ball_tree"] = "auto"
    leaf_size: Count = 40
    n_jobs: Jobs = None
    cluster_selection_method: Literal["eom", "leaf"] = "eom"
    allow_single_cluster: Flag = False
    store_centers: Literal["centroid", "medoid", "both"] | None = None
    copy: Literal["warn"] | Flag = "warn"
    ties: Literal["pairwise", "together"] = "pairwise"

    _tensors = False

    def fit(self, X, y=None):
        """Find clusters.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or (n, n) distances
        y : None
            Not used.
        """
        checks = {"accept_sparse": "csr", "ensure_all_finite": False}
        X, _ = self._check_training_data(X, ensure_min_samples=2, **checks)
        state, rows = finite_rows(X, self.metric == "precomputed")
        k = self.min_samples or self.min_cluster_size
        if k > len(rows):
            raise ValueError(
                f"min_samples ({k}) must be at most the number of samples in X "
                f"({len(rows)})"
            )
        whole = len(rows) == X.shape[0]
        F = X if whole else (X[rows][:, rows] if self._precomputed() else X[rows])
        with threads.limit_threads(self.n_jobs):
            together = self.ties == "together"
            self.linkage_matrix_ = single_linkage_tree(
                self._tree(F, k), len(rows), together
            )
        tree = condense_tree(self.linkage_matrix_, self.min_cluster_size, together)
        epsilon = self.cluster_selection_epsilon
        chosen = select_clusters(
            tree,
            len(rows),
            method=self.cluster_selection_method,
            allow_single=self.allow_single_cluster,
            epsilon=epsilon,
            max_size=self.max_cluster_size,
        )
        labels, share = labels_and_probabilities(
            tree, len(rows), chosen, epsilon=epsilon
        )
        self.condensed_tree_ = tree
        self._state = state
        self.labels_ = labels_of_all_rows(labels, state, rows)
        self.probabilities_ = np.where(state == MISSING, np.nan, 0.0)
        self.probabilities_[rows] = share
        if self.store_centers:
            self._keep_centers(F, labels, share)
        return self

    def fit_predict(self, X, y=None):
        """`fit`, then the labels of the same rows."""
        return self.fit(X).labels_

    def dbscan_clustering(self, cut_distance, min_cluster_size=5):
        """Labels of DBSCAN (core rows only) for eps = cut_distance, from the tree.

        Components of fewer than min_cluster_size rows are noise.
        """
        check_is_fitted(self)
        z = cut_tree(self.linkage_matrix_, height=cut_distance)
        big = np.bincount(z) >= min_cluster_size
        names = np.where(big, np.cumsum(big) - 1, -1)
        return labels_of_all_rows(
            names[z], self._state, np.flatnonzero(self._state == 0)
        )

    def _precomputed(self):
        return self.metric == "precomputed"

    def _tree(self, X, k):
        """The spanning tree of eq. (1), with as little memory as the metric allows."""
        params = dict(self.metric_params or {})
        p = params.pop("p", 2.0)
        plain = isinstance(self.metric, str) and self.metric in FAST and not params
        self._check_algorithm(X)
        if self._precomputed():
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    "The precomputed distance matrix must be square, but it has shape "
                    f"{X.shape}."
                )
            if not sp.issparse(X) and not np.allclose(X, X.T):
                raise ValueError(
                    "The precomputed distance matrix must be symmetric, but it has "
                    "other values below the diagonal than above."
                )
            return mutual_reachability_tree_of_matrix(X, k, self.alpha)
        if plain and not sp.issparse(X) and self.algorithm != "brute" and p >= 1:
            return mutual_reachability_tree(
                X,
                k,
                metric=self.metric,
                p=p,
                alpha=self.alpha,
                leaf_size=self.leaf_size,
            )
        if self.metric == "minkowski":
            params["p"] = p
        if self.metric == "mahalanobis" and "V" in params:
            params = {"VI": np.linalg.inv(params["V"])}
        D = pairwise_distances(X, metric=self.metric, **params)
        return mutual_reachability_tree_of_matrix(D, k, self.alpha)

    def _check_algorithm(self, X):
        """Refuse rows and metrics that the search tree named does not take.

        Metrics of a ball tree that are not sums over columns go by their matrix.
        """
        trees = {"kd_tree": KDTree, "ball_tree": BallTree}
        if self.algorithm not in trees:
            return
        if sp.issparse(X) and not self._precomputed():
            raise ValueError(
                "Sparse data matrices only support algorithm `brute`, got algorithm="
                f"{self.algorithm!r}."
            )
        known = trees[self.algorithm].valid_metrics
        if callable(self.metric) or self.metric not in known:
            raise ValueError(
                f"{self.metric} is not a valid metric for a {self.algorithm}-based "
                "algorithm. Please select a different metric."
            )

    def _keep_centers(self, X, labels, share):
        """Centroids weighted by probability; the row nearest to the others by it."""
        if self._precomputed():
            raise ValueError(
                "Cannot store centers when using a precomputed distance matrix: "
                "store_centers of HDBSCAN needs rows."
            )
        groups = [np.flatnonzero(labels == c) for c in range(labels.max() + 1)]
        d = X.shape[1]
        if self.store_centers in ("centroid", "both"):
            means = [np.asarray(share[g] @ X[g]) / share[g].sum() for g in groups]
            self.centroids_ = np.reshape(means, (len(groups), d))
        if self.store_centers in ("medoid", "both"):
            params = self.metric_params or {}
            self.medoids_ = np.empty((len(groups), d))
            for c, g in enumerate(groups):
                D = pairwise_distances(X[g], metric=self.metric, **params)
                self.medoids_[c] = np.ravel(dense_row(X[g[np.argmin(D @ share[g])]]))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.metric != "precomputed"
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = True
        return tags


def finite_rows(X, given):
    """0, -2 (infinite) or -3 (missing) for each row, and the rows of 0."""
    state = np.zeros(X.shape[0], np.int64)
    if given:
        bad = X.data if sp.issparse(X) else X
        if np.isnan(bad).any():
            kind = "sparse" if sp.issparse(X) else "dense"
            raise ValueError(f"np.nan values found in precomputed-{kind} distances.")
    elif sp.issparse(X):
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        state[row[np.isinf(X.data)]] = INFINITE
        state[row[np.isnan(X.data)]] = MISSING
    else:
        state[np.isinf(X).any(axis=1)] = INFINITE
        state[np.isnan(X).any(axis=1)] = MISSING
    return state, np.flatnonzero(state == 0)


def labels_of_all_rows(labels, state, rows):
    """Labels of all rows from those of the finite ones."""
    out = state.copy()
    out[rows] = labels
    return out


def dense_row(row):
    return row.toarray() if sp.issparse(row) else row
