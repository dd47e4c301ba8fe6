"""Bisecting k-means: clusters split in two by k-means until there are k.

Start with all rows in one leaf. k - 1 times, choose a leaf and split its rows by
2-means (`kmeans.py`), the best of n_init starts:

    biggest_inertia   the leaf with the largest  sum_i w_i |x_i - c|^2          (1)
    largest_cluster   the leaf with the largest  sum_i w_i                      (2)

Each split partitions its parent, so the clusters are the leaves of a binary tree, and
J, the sum of (1) over the leaves, falls with every split (two means serve rows no
worse than one). A leaf whose rows are all equal cannot be split; when none can, fewer
than k clusters come out and a warning says so. A new row goes down the tree to the
nearer child at each fork.

Time O(n d) for each level of the tree and iteration, so about log k in place of the k
of k-means. Rows are put in the order of one random direction at the outset, and stay so
in every leaf, so that seeds (`initialization.py`) are drawn without sorting again.
Memory: one copy of X, and of the rows of one leaf at a time.

Shapes    X (n, d)   cluster_centers_ (k, d), the leaves from left to right
Refs      [Steinbach2000]
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from ...base import Clusterer, Estimator, PrefixedOutput, Transformer
from ...core.arrays import arrays, rows
from ...core.arrays.weighted import check_sample_weight
from ...core.drivers.iterate import best_of, iterate
from ...core.random import make_rng
from ...params import Count, Flag, NonNegative, Verbosity
from ...persist.saved_state import IntArray, NumberArray, are_binary_trees, saved_state
from ...typing import Seed
from .initialization import (
    ROW_CHECKS,
    check_enough_rows,
    initial_centers,
    projection_keys,
    rows_per_block,
    warn_empty_clusters,
    weights_like,
)
from .kmeans import lloyd
from .lloyd_iteration import (
    center_distances,
    kmeans_cost,
    nearest_centers,
    row_mean_and_variance,
    stored_centers,
)


class Leaf(NamedTuple):
    """Rows that belong together, and where they sit in the tree."""

    node: int
    index: np.ndarray  # row numbers
    mass: float  # eq. (2)
    inertia: float  # eq. (1)


class BisectingState(NamedTuple):
    """State carried from one split to the next."""

    leaves: tuple
    centers: list  # of every node
    children: list  # (left, right) of every node, (-1, -1) of a leaf
    objective: float  # J
    stuck: bool = False  # no leaf can be split


def rows_by_index(X, index):
    """Rows of X by number."""
    if arrays.is_foreign(X):
        return rows.Rows(X).take(index)
    return X[index] if sparse.issparse(X) else np.take(X, index, axis=0)


def sorted_by_projection(X, w, rng):
    """X, w and their ranks along a random direction, all in its order; that order."""
    key = projection_keys(
        rows.Rows(X, block=rows_per_block(X.shape[1], n=X.shape[0])), rng
    )
    order = np.argsort(arrays.to_numpy(key))
    return *(rows_by_index(a, order) for a in (X, w, key)), order


def root_leaf_state(X, w) -> BisectingState:
    """All rows in one leaf."""
    m = row_mean_and_variance(X, w)[0]
    if hasattr(X, "tocsr"):
        m = np.asarray(X.T @ w).ravel() / w.sum()
    m = np.asarray(m, np.float64)
    J = kmeans_cost(X, w, m[None, :])
    mass = float(arrays.namespace(w).sum(w))
    leaf = Leaf(0, np.arange(X.shape[0]), mass, J)
    return BisectingState((leaf,), [m], [(-1, -1)], J)


def split_leaf(X, w, key, state, criterion, two_means_split) -> BisectingState:
    """Split the leaf that eq. (1) or (2) says; `halve(X, w, key)` is 2-means."""
    eps = np.finfo(np.float64).eps
    floor = 16 * eps * max(state.leaves[0].mass, 1e-300)
    able = [q for q, f in enumerate(state.leaves) if f.inertia > floor * 1e-3]
    able = [q for q in able if len(state.leaves[q].index) > 1]
    if not able:
        return state._replace(stuck=True)
    at = max(able, key=lambda q: (getattr(state.leaves[q], criterion), -q))
    leaf = state.leaves[at]
    V, wv, leaf_key = (rows_by_index(a, leaf.index) for a in (X, w, key))
    C, z, costs = two_means_split(V, wv, leaf_key)
    z = arrays.to_numpy(z)
    centers = list(state.centers)
    new = []
    mass = np.bincount(z, arrays.to_numpy(wv), 2)
    for j in range(2):
        index = leaf.index[z == j]
        new.append(Leaf(len(centers), index, float(mass[j]), float(costs[j])))
        centers.append(C[j])
    children = [*state.children, (-1, -1), (-1, -1)]
    children[leaf.node] = (new[0].node, new[1].node)
    leaves = (*state.leaves[:at], *new, *state.leaves[at + 1 :])
    return BisectingState(leaves, centers, children, sum(f.inertia for f in leaves))


def two_means(V, w, key, rng, init, n_init, max_iter, tol):
    """Centres, labels and cost of each half of the best of some 2-means runs."""
    m, variance = row_mean_and_variance(V, w)

    def run(i, task):
        C = initial_centers(V, w, 2, rng, init, key)
        return lloyd(V, w, C, max_iter=max_iter, tol=tol * variance, origin=m)

    best = best_of(n_init, run).state
    return best.centers, best.labels, best.costs


def is_sound_bisection(model) -> bool:
    """Whether the clusters of a loaded model are the leaves of one tree."""
    if not hasattr(model, "children_"):
        return True
    left, right = model.children_.T
    leaves = np.sort(model.leaves_)
    ends = np.flatnonzero(left < 0)
    return are_binary_trees(left, right) and np.array_equal(leaves, ends)


@saved_state(
    children_=IntArray("nodes", 2, low=-1, below="nodes"),
    node_centers_=NumberArray("nodes", "n_features_in_"),
    leaves_=IntArray("clusters", low=0, below="nodes"),
    check=is_sound_bisection,
)
@dataclass(eq=False, repr=False)
class BisectingKMeans(PrefixedOutput, Transformer, Clusterer, Estimator):
    """K-means by repeated halving; the module text gives the method.

    Parameters
    ----------
    n_clusters : int, default 8
        k.
    init : "random", "k-means++", "farthest" or function
        Where the two centres of a split start, as in `KMeans`.
    n_init : int
        Starts of each split, of which the best is kept.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.
    max_iter : int
        Most iterations of one start.
    verbose : int
        1 shows a progress bar.
    tol : float
        As in `KMeans`, relative to the variance within the leaf.
    copy_x : bool
        Whether X must be left as it is. It always is; False changes nothing.
    algorithm : "lloyd" or "elkan"
        The answer is the same; with two centres there is nothing to choose.
    bisecting_strategy : "biggest_inertia" or "largest_cluster"
        Which leaf is split next, eq. (1) or (2).

    Attributes
    ----------
    cluster_centers_ : array of shape (k, d)
        Means of the leaves, from left to right.
    labels_ : array of shape (n,)
    inertia_ : float
        J, the sum of eq. (1) over the leaves.
    children_ : array of shape (2 k - 1, 2)
        The tree: the two children of each node, -1 for a leaf. Node 0 is the root.
    node_centers_ : array of shape (2 k - 1, d)
    history_ : dict
        "objective": J after each split.

    Examples
    --------
    >>> from pansophy.cluster import BisectingKMeans
    >>> X = [[0.0], [1.0], [10.0], [11.0], [50.0], [51.0]]
    >>> model = BisectingKMeans(3, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.ravel().tolist())
    [0.5, 10.5, 50.5]
    """

    n_clusters: Count = 8
    _: KW_ONLY
    init: Literal["random", "k-means++", "farthest"] | Callable = "random"
    n_init: Count = 1
    random_state: Seed = None
    max_iter: Count = 300
    verbose: Verbosity = 0
    tol: NonNegative = 1e-4
    copy_x: Flag = True
    algorithm: Literal["lloyd", "elkan"] = "lloyd"
    bisecting_strategy: Literal["biggest_inertia", "largest_cluster"] = (
        "biggest_inertia"
    )

    def fit(self, X, y=None, sample_weight=None):
        """Split until there are n_clusters leaves."""
        X, w = self._check_training_data(X, sample_weight=sample_weight, **ROW_CHECKS)
        if isinstance(X, rows.DatasetRows):
            raise ValueError(
                "BisectingKMeans copies the rows of a leaf, so it takes rows in "
                "memory; KMeans takes a table on disk."
            )
        w = weights_like(X, w)
        check_enough_rows(X, self.n_clusters)
        rng = make_rng(self.random_state)
        criterion = (
            "inertia" if self.bisecting_strategy == "biggest_inertia" else "mass"
        )
        k = self.n_clusters
        V, w, key, order = sorted_by_projection(X, w, rng)
        state = root_leaf_state(V, w)

        def two_means_split(V, w, key):
            return two_means(
                V, w, key, rng, self.init, self.n_init, self.max_iter, self.tol
            )

        def run(task):
            result = iterate(
                lambda s: split_leaf(V, w, key, s, criterion, two_means_split),
                state,
                max_iter=k - 1,
                tol=0.5,
                change=lambda old, new: 0.0 if new.stuck else 1.0,
                task=task,
            )
            ended_as_planned = result.reason == "max_iter"
            return result._replace(reason="tolerance") if ended_as_planned else result

        result = self._run_driver(
            run, total=k, X=X, snapshot=lambda s: self._fitted(s, X)
        )
        for name, value in self._fitted(result.state, X).items():
            setattr(self, name, value)
        z = np.empty(X.shape[0], np.int32)
        for j, leaf in enumerate(result.state.leaves):
            z[order[leaf.index]] = j
        self.labels_ = arrays.namespace(w).asarray(z, device=arrays.device(w))
        self.labels_ = z if arrays.is_numpy(w) else self.labels_
        self.inertia_ = result.state.objective
        if result.state.stuck:
            warn_empty_clusters(len(result.state.leaves), k)
        return self

    def _fitted(self, state, X):
        centers = np.array([state.centers[f.node] for f in state.leaves])
        return {
            "cluster_centers_": stored_centers(centers, X),
            "node_centers_": stored_centers(np.array(state.centers), X),
            "children_": np.array(state.children, np.int64),
            "leaves_": np.array([f.node for f in state.leaves], np.int64),
        }

    def predict(self, X):
        """The leaf each row arrives at, going to the nearer child at each fork."""
        X = self._check_new_data(X, **ROW_CHECKS)
        if isinstance(X, rows.DatasetRows):
            X = X.take(np.arange(X.n))
        P = arrays.to_numpy(self.node_centers_).astype(np.float64)
        label = {int(node): j for j, node in enumerate(self.leaves_)}
        z = np.zeros(X.shape[0], np.int32)
        todo = [(0, np.arange(X.shape[0]))]
        while todo:
            node, index = todo.pop()
            left, right = self.children_[node]
            if left < 0:
                z[index] = label[node]
            elif len(index):
                side = arrays.to_numpy(
                    nearest_centers(rows_by_index(X, index), P[[left, right]])
                )
                todo += [(left, index[side == 0]), (right, index[side == 1])]
        foreign = arrays.is_foreign(X)
        xp: Any = arrays.namespace(X)
        return xp.asarray(z, device=arrays.device(X)) if foreign else z

    def fit_predict(self, X, y=None, sample_weight=None):
        """`fit`, then the labels of the same rows."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def transform(self, X):
        """The distance from each row to each leaf's mean."""
        X = self._check_new_data(X, **ROW_CHECKS)
        return center_distances(
            X, arrays.to_numpy(self.cluster_centers_).astype(np.float64)
        )

    def fit_transform(self, X, y=None, sample_weight=None):
        """`fit`, then `transform` of the same rows."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self, X, y=None, sample_weight=None):
        """Minus the weighted sum of squared distances to the leaves' means."""
        X = self._check_new_data(X, **ROW_CHECKS)
        w = arrays.to_numpy(weights_like(X, check_sample_weight(sample_weight, X)))
        D = arrays.to_numpy(self.transform(X)).astype(np.float64)
        z = arrays.to_numpy(self.predict(X))
        return -float(w @ D[np.arange(len(z)), z] ** 2)

    @property
    def _n_features_out(self):
        return self.cluster_centers_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
