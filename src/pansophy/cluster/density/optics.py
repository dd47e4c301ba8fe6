"""OPTICS: an ordering of the rows whose reachability plot shows density clusters.

With k = min_samples, c_i the distance from x_i to the k-th row (itself the first),
infinite if that is more than max_eps, rows are visited one after another:

    c_i     core distance of row i                                               (1)
    r_j     min over visited i with d(x_i, x_j) <= max_eps of max(c_i, d(x_i, x_j))  (2)
    next    the row not visited of least r, of equals the lowest                  (3)

A cluster is a valley of r along the ordering: its rows are reached from each other by
short steps, the first row by a long one. A cut at eps gives the clusters of DBSCAN
(border rows may differ). "xi" finds valleys of any depth: a *steep* row is one where
r changes by the share xi, a steep area goes on as long as r keeps its direction and
no more than k successive rows are not steep; each area down and each later area up with
nothing as high between them bound a cluster, from which rows at the end are dropped
that were not reached from inside it. The smallest clusters give the labels.

Cost      O(n^2 d) time and O(n d) memory for sums over columns; another metric is
          computes n rows of distances, one at a time
Shapes    X (n, d)   reachability_, ordering_, core_distances_, predecessor_ (n,)
Refs      [Ankerst1999]; [SchubertGertz2018] rows that were not reached from inside
"""

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS
from sklearn.utils.validation import check_memory

from ...base import Clusterer, Estimator
from ...core.loops import threads
from ...distances import neighbor_search
from ...graphs.spanning_trees import METRIC_KINDS, comparison_scales
from ...params import (
    Count,
    Flag,
    Fraction,
    Infinite,
    Jobs,
    NonNegative,
    ParameterRule,
    Positive,
)
from ...persist.saved_state import IntArray, saved_state
from ..hierarchy.agglomerative import MemoryCache
from . import _optics as loops

FAST = {"euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "minkowski"}
ONES = ("cosine", "correlation")
BLOCK = 1 << 22  # distances of a block computed at once


def is_count_or_fraction(value):
    if isinstance(value, (Integral, bool, np.bool_)):
        return not isinstance(value, (bool, np.bool_)) and int(value) >= 2
    return isinstance(value, (float, np.floating)) and 0 <= value <= 1


CountOrFraction = Annotated[
    Any, ParameterRule("at least 2 rows or a fraction of them", is_count_or_fraction)
]


def count_from_fraction(size, n, name):
    """A number of rows from a number or a fraction."""
    if size > n:
        raise ValueError(
            f"{name} must be no greater than the number of samples ({n}). Got {size}."
        )
    return int(size) if size > 1 else max(2, int(size * n))


def optics_ordering(X, k, max_eps, metric, p, params, algorithm, leaf_size):
    """(ordering, core distances, reachability, predecessor) by eqs (1) to (3)."""
    n = X.shape[0]
    order, came = np.empty(n, np.int64), np.empty(n, np.int64)
    if not (isinstance(metric, str) and metric in FAST) or sp.issparse(X) or params:
        return optics_ordering_any_metric(X, k, max_eps, metric, params, order, came)
    core = np.full(n, np.inf)
    if n >= k:
        method = algorithm.replace("ball", "kd")
        index = neighbor_search.build_index(
            X, metric=metric, p=p, method=method, leaf_size=leaf_size
        )
        core = neighbor_search.k_nearest(index, None, k - 1)[0][:, -1].astype(
            np.float64
        )
    core[core > max_eps] = np.inf
    shorten, lengthen = comparison_scales(metric, p)
    r = np.empty(n)
    limit = np.inf if max_eps == np.inf else float(shorten(max_eps))
    short = np.where(np.isfinite(core), shorten(core), np.inf)
    XT = np.ascontiguousarray(X.T, np.float64).copy()
    loops.ordering_loop(
        XT, short, METRIC_KINDS[metric], float(p), limit, order, r, came
    )
    return order, core, lengthen(r), came


def optics_ordering_any_metric(X, k, max_eps, metric, params, order, predecessor):
    """OPTICS ordering for any metric, from rows of distances."""
    n = X.shape[0]
    row = distance_row_reader(X, metric, params)
    step = max(1, BLOCK // n)
    core = np.concatenate(
        [
            np.partition(row(a, min(a + step, n)), k - 1)[:, k - 1]
            for a in range(0, n, step)
        ]
    )
    core[core > max_eps] = np.inf
    best = np.full(n, np.inf)
    predecessor[:] = -1
    left = np.ones(n, np.bool_)
    for t in range(n):
        rows = np.flatnonzero(left)
        i = order[t] = rows[np.argmin(best[rows])]
        left[i] = False
        if core[i] < np.inf:
            d = row(i, i + 1)[0]
            r = np.where(d <= core[i] * loops.SAME, core[i], d)
            nearer = left & (d <= max_eps) & (r < best)
            best[nearer], predecessor[nearer] = r[nearer], i
    return order, core, best, predecessor


def distance_row_reader(X, metric, params):
    """row(a, b): distances from rows a .. b to all, infinite where there is none."""
    if metric in ONES:  # 1 minus a product: exact to this many places, whatever it is
        return lambda a, b: zero_self_distances(
            np.around(pairwise_distances(X[a:b], X, metric=metric, **params), 15), a
        )
    if metric != "precomputed":
        return lambda a, b: zero_self_distances(
            pairwise_distances(X[a:b], X, metric=metric, **params), a
        )
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"distances must be a square matrix, got {X.shape}.")

    def row(a, b):
        if not sp.issparse(X):
            return zero_self_distances(np.array(X[a:b], np.float64), a)
        part = sp.csr_array(X[a:b])
        out = np.full(part.shape, np.inf)
        i = np.repeat(np.arange(b - a), np.diff(part.indptr))
        out[i, part.indices] = part.data
        return zero_self_distances(out, a)

    return row


def zero_self_distances(D, first):
    D[np.arange(len(D)), first + np.arange(len(D))] = 0.0
    return D


def cut_reachability(reach, core, order, eps):
    """Labels of DBSCAN with this eps, up to border rows, from the ordering."""
    far, dense = reach > eps, core <= eps
    labels = np.empty(len(order), np.int64)
    labels[order] = np.cumsum((far & dense)[order]) - 1
    return np.where(far & ~dense, -1, labels)


def xi_clusters(
    reach, predecessor, order, xi, slack, min_size, *, predecessor_correction=True
):
    """Clusters as (first, last) positions of the ordering, smaller ones first."""
    place = np.empty(len(order) + 1, np.int64)
    place[order] = np.arange(len(order))
    place[-1] = -1
    back = place[predecessor[order]]  # the position each row was reached from
    r = np.append(reach[order], np.inf)
    stay = 1.0 - xi
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = r[:-1] / r[1:]
        down, up = ratio >= np.divide(1.0, stay), ratio <= stay
    falls, rises = ratio > 1, ratio < 1
    areas = []
    out = []
    after = 0
    top = 0.0
    for i in np.flatnonzero(up | down):
        if i < after:
            continue
        top = max(top, r[after : i + 1].max())
        # what came since must lie below the start of an area down
        areas = [
            (a, b, max(m, top))
            for a, b, m in areas
            if top <= r[a] * stay < np.inf or (np.isinf(r[a]) and np.isfinite(top))
        ]
        if down[i]:
            last = steep_area_end(down, rises, i, slack)
            areas.append((i, last, 0.0))
        else:
            last = steep_area_end(up, falls, i, slack)
            reached_from = back if predecessor_correction else None
            ends = [xi_cluster(r, reached_from, a, (i, last), stay) for a in areas]
            out += [
                e for e in ends[::-1] if e is not None and e[1] - e[0] + 1 >= min_size
            ]
        after = last + 1
        top = r[after]
    return np.array(out, np.int64).reshape(-1, 2)


def steep_area_end(steep, against, start, slack):
    """The last steep row of the area that starts here."""
    last = start
    idle = 0
    for i in range(start, len(steep)):
        if steep[i]:
            last = i
            idle = 0
        elif against[i]:
            break
        else:
            idle += 1
            if idle > slack:
                break
    return last


def xi_cluster(r, back, area, rise, stay):
    """(first, last) of the cluster between an area down and an area up, or None."""
    (s, bottom, high), (start, e) = area, rise
    left, right = r[s], r[e + 1]
    level = stay * right if stay else 0.0
    if level < high:
        return None
    if (stay * left if stay else 0.0) >= right:  # cut the higher side to the lower
        while s < bottom and r[s + 1] > right:
            s += 1
    elif level >= left:
        while e > start and r[e - 1] > left:
            e -= 1
    if back is not None:
        while s < e and not (r[s] > r[e] or s <= back[e] < e):
            e -= 1
        if s >= e:
            return None
    return (s, e) if s <= bottom and e >= start else None


def leaf_cluster_labels(clusters, order):
    """Labels of the rows by the clusters that contain no other."""
    at = np.full(len(order), -1)
    count = 0
    for a, b in clusters:
        if (at[a : b + 1] < 0).all():
            at[a : b + 1] = count
            count += 1
    labels = np.empty(len(order), np.int64)
    labels[order] = at
    return labels


@saved_state(
    ordering_=IntArray("rows", low=0, below="rows"),
    predecessor_=IntArray("rows", low=-1, below="rows"),
    cluster_hierarchy_=IntArray(None, 2, low=0),
)
@dataclass(eq=False, repr=False)
class OPTICS(Clusterer, Estimator):
    """Density-based clusters of several scales; the module text gives the method.

    Parameters
    ----------
    min_samples : int or float, default 5
        k of eq. (1), the row itself included, or the share of the rows that it is.
    max_eps : float, default inf
        Rows farther apart than this are not neighbours.
    metric : str or callable, default "minkowski"
        Any metric of scikit-learn, a function of two rows, or "precomputed": X is
        then a matrix of distances, of which a sparse one may leave out far pairs.
    p : float, default 2
        Power of the "minkowski" metric.
    metric_params : dict or None
        Further arguments of the metric.
    cluster_method : {"xi", "dbscan"}
        Valleys of the reachability plot, or a cut at `eps`.
    eps : float or None
        Where "dbscan" cuts; None is `max_eps`.
    xi : float, default 0.05
        By which share reachability changes at the sides of a cluster.
    predecessor_correction : bool
        Whether rows not reached from inside a cluster are dropped at its end.
    min_cluster_size : int, float or None
        Rows that make a cluster, or their share; None is `min_samples`.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}
        How core distances are searched for; either tree means a k-d tree.
    leaf_size : int, default 30
        Rows of a leaf of the tree.
    memory : str, joblib.Memory or None
        Where the ordering is cached, so that other clusters need not compute it again.
    n_jobs : int or None
        Most threads; None or -1 for all.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Cluster numbers, -1 for noise.
    reachability_, core_distances_ : array of shape (n,)
        Eqs (2) and (1), by row; `reachability_[ordering_]` is the plot.
    ordering_, predecessor_ : array of shape (n,)
        The ordering, and the row that each row was reached from, -1 for none.
    cluster_hierarchy_ : array of shape (clusters, 2)
        First and last positions of clusters in the ordering, with "xi".

    Examples
    --------
    >>> from pansophy.cluster import OPTICS
    >>> X = [[1, 2], [2, 5], [3, 6], [8, 7], [8, 8], [7, 3]]
    >>> model = OPTICS(min_samples=2).fit(X)
    >>> model.ordering_, model.labels_
    (array([0, 1, 2, 5, 3, 4]), array([0, 0, 0, 1, 1, 1]))
    """

    _: KW_ONLY
    min_samples: CountOrFraction = 5
    max_eps: NonNegative | Infinite = np.inf
    metric: str | Callable = "minkowski"
    p: Positive | Infinite = 2
    metric_params: dict | None = None
    cluster_method: Literal["xi", "dbscan"] = "xi"
    eps: NonNegative | Infinite | None = None
    xi: Fraction = 0.05
    predecessor_correction: Flag = True
    min_cluster_size: CountOrFraction | None = None
    algorithm: Literal["auto", "brute", "ball_tree", "kd_tree"] = "auto"
    leaf_size: Count = 30
    memory: MemoryCache = None
    n_jobs: Jobs = None

    _tensors = False

    def fit(self, X, y=None):
        """Order the rows and find clusters.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), or (n, n) distances
        y : None
            Not used.
        """
        kind = np.bool_ if self.metric in PAIRWISE_BOOLEAN_FUNCTIONS else np.float64
        if kind is np.bool_ and getattr(X, "dtype", None) != np.bool_:
            warnings.warn(
                f"Data will be converted to boolean for metric {self.metric}; to "
                "avoid this warning, convert it before the fit.",
                DataConversionWarning,
                stacklevel=2,
            )
        X, _ = self._check_training_data(X, accept_sparse="csr", dtype=kind)
        n = X.shape[0]
        eps = self.max_eps if self.eps is None else self.eps
        k = count_from_fraction(self.min_samples, n, "min_samples")
        if self.cluster_method == "dbscan" and eps > self.max_eps:
            raise ValueError(
                f"Specify an epsilon smaller than {self.max_eps}. Got {eps}. eps of "
                "OPTICS is at most max_eps."
            )
        least = self.min_cluster_size
        least = (
            k if least is None else count_from_fraction(least, n, "min_cluster_size")
        )
        params = dict(self.metric_params or {})
        p = params.pop("p", self.p)
        metric = self.metric
        if metric == "minkowski" and p in (1, 2, np.inf) and not params:
            metric = {1: "manhattan", 2: "euclidean"}.get(p, "chebyshev")
        elif metric == "minkowski" and (p < 1 or params or sp.issparse(X)):
            params["p"] = p
        with threads.limit_threads(self.n_jobs):
            order, core, reach, predecessor = check_memory(self.memory).cache(
                optics_ordering
            )(X, k, self.max_eps, metric, p, params, self.algorithm, self.leaf_size)
        self.ordering_ = order
        self.core_distances_ = core
        self.reachability_ = reach
        self.predecessor_ = predecessor
        if np.isinf(reach).all():
            warnings.warn(
                "All reachability values are inf. Set a larger max_eps or all rows are "
                "outliers.",
                UserWarning,
                stacklevel=2,
            )
        if self.cluster_method == "dbscan":
            self.labels_ = cut_reachability(reach, core, order, eps)
            return self
        self.cluster_hierarchy_ = xi_clusters(
            reach,
            predecessor,
            order,
            self.xi,
            k,
            least,
            predecessor_correction=self.predecessor_correction,
        )
        self.labels_ = leaf_cluster_labels(self.cluster_hierarchy_, order)
        return self

    def fit_predict(self, X, y=None):
        """`fit`, then the labels of the same rows."""
        return self.fit(X).labels_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = True
        return tags
