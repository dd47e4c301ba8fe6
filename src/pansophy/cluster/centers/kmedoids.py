"""K-medoids: k rows of the data itself as centres, under any distance.

Choose rows m_1..m_k to minimise the sum of distances to the nearest of them,

    J(m) = sum_i w_i min_j d(x_i, m_j)                                          (1)

d is a name, a function or a matrix. No mean is taken, so d need not be Euclidean nor
even a metric, and an outlier pulls a centre no further than a row.

BUILD picks medoids one by one, each time the row that lowers J most. With near_i the
distance to the nearest so far, row c gains

    g(c) = sum_i w_i max(0, near_i - d(x_i, c))                                 (2)

which can only fall as near_i falls. So a gain computed earlier is a bound, and only the
rows whose bound comes first are computed again: the same choice as from all rows, at a
fraction of the cost.

SWAP then exchanges a medoid for a row while that lowers J. With d1, d2 the distances to
the nearest and second nearest medoid and a_i the nearest, removing medoid j costs

    l_j = sum_{i: a_i = j} w_i (d2_i - d1_i)                                    (3)

and one pass over the distances to a candidate c gives the change for all j at once,

    J_jc - J = l_j + sum_i w_i min(0, d_ic - d1_i)
               + sum_{i: a_i = j, d_ic < d2_i} w_i (max(d_ic, d1_i) - d2_i)     (4)

A swap is made as soon as one is found that lowers J. Candidates come in the order of
their total distance to all rows, which does not depend on row numbers. J falls at every
swap and there are finitely many sets of medoids; it ends when no single swap helps,
that is, as soon as all candidates in a row have been refused.

"alternate" iterates as k-means instead: nearest medoid, then in each cluster the row
with the least sum of distances. "exemplar" takes the row nearest to the mean of the
cluster, which may raise J: it ends at a set it has seen before, and keeps the best one.

Time O(n^2) a sweep whatever k, after O(n^2 d) for the distances. Memory n^2 numbers up
to LIMIT bytes; beyond that O(n k) and one block, distances being computed again in each
sweep.

Shapes    D (n, n)   w, d1, d2, a (n,)   M (k, n) distances from the medoids
Refs      [Kaufman1990] PAM; [Schubert2021] eq. (4); [ParkJun2009] alternate;
          [Minoux1978] bounds on gains
"""

import heapq
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ...base import Clusterer, Estimator, PrefixedOutput, Transformer
from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT
from ...core.loops import threads
from ...core.random import make_rng
from ...distances import pairwise
from ...params import Count, Verbosity
from ...persist.saved_state import IntArray, saved_state
from ...typing import NumericArray, Seed
from . import _kmedoids as loops
from .initialization import (
    check_enough_rows,
    check_scale,
    plusplus_from_distances,
    warn_empty_clusters,
)

SQUARES = ("euclidean", "l2", "sqeuclidean")  # metrics made of squares
LIMIT = 1 << 30  # bytes up to which all distances are kept
BLOCK = 1 << 22  # distances made at a time where they are not


class KMedoidsState(NamedTuple):
    """State carried from one sweep to the next."""

    medoids: np.ndarray  # (k,) row numbers
    objective: float  # J
    moved: int = -1  # swaps of the sweep


class DistanceSource:
    """Distances from some rows to all rows: looked up in a matrix, or computed."""

    def __init__(self, X, metric):
        self.n = len(X)
        self.X = X
        self.metric = metric
        self.D = X if isinstance(metric, str) and metric == "precomputed" else None
        if self.D is None and self.n * self.n * X.itemsize <= LIMIT:
            self.D = finite_distances(X, X, metric)
        self.block = max(1, BLOCK // self.n)

    def array_and_rows(self, rows):
        """An array and the rows of it that hold the distances from the rows `rows`."""
        if self.D is not None:
            return self.D, np.asarray(rows)
        return self.from_rows(rows), np.arange(len(rows))

    def from_rows(self, rows):
        """(b, n) distances from the rows `rows`."""
        if self.D is not None:
            return self.D[rows]
        return finite_distances(self.X[rows], self.X, self.metric)

    def totals(self, w):
        """sum_i w_i d(x_i, x_c) for every row c."""
        if self.D is not None:
            return self.D @ w.astype(self.D.dtype)
        cuts = range(0, self.n, self.block)
        each = [
            self.from_rows(np.arange(i, min(i + self.block, self.n))) @ w for i in cuts
        ]
        return np.concatenate(each)


def finite_distances(X, Z, metric):
    """Distances between rows; refuses rows whose distances are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        D = pairwise(X, Z, metric)
        finite = np.isfinite(D.sum()) or np.isfinite(D).all()
    if not finite:
        raise ValueError("X holds values too large to measure distances: scale X.")
    return D


def pam_build(source, w, k, order) -> np.ndarray:
    """BUILD of eq. (2) with bounds; `order` is by total distance and breaks ties."""
    w = w.astype(np.float64)
    first = order[0]
    medoids = [int(first)]
    near = source.from_rows([first])[0].astype(np.float64)
    bound = np.empty(source.n)
    if k > 1:
        bound[order] = gains_in_threads(source, order, w, near)
    heap = [(-bound[c], place, int(c)) for place, c in enumerate(order)]
    heapq.heapify(heap)
    age = np.ones(source.n, np.int64)  # number of medoids when a gain was computed
    while len(medoids) < k:
        _, place, c = heapq.heappop(heap)
        if c in medoids:
            continue
        if age[c] == len(medoids):
            medoids.append(c)
            near = np.minimum(near, source.from_rows([c])[0])
            continue
        gain = loops.build_gains(*source.array_and_rows([c]), w, near)[0]
        age[c] = len(medoids)
        heapq.heappush(heap, (-gain, place, c))
    return np.asarray(medoids)


def gains_in_threads(source, candidates, w, near):
    """The gains of eq. (2) of many candidates."""
    step = max(1, min(source.block, -(-len(candidates) // threads.available_threads())))
    parts = (candidates[i : i + step] for i in range(0, len(candidates), step))
    gains = lambda part: loops.build_gains(*source.array_and_rows(part), w, near)
    return np.concatenate(
        list(threads.run_tasks((lambda p=p: gains(p)) for p in parts))
    )


def pam_swap(source, w, medoids, order, *, max_iter=100, task=SILENT) -> Result:
    """SWAP of eq. (4) from the given medoids until no swap lowers J."""
    w = w.astype(np.float64)
    if len(medoids) == 1:
        step = single_medoid_step(source.totals(w), order)
        J = float(w @ source.from_rows(medoids)[0])
    else:
        step, J = swap_step(source, w, medoids, order)
    return iterate(
        step,
        KMedoidsState(medoids.copy(), J),
        max_iter=max_iter,
        tol=0,
        change=number_moved,
        watch=("moved",),
        task=task,
    )


def number_moved(old, new):
    """Change that is compared with tol: the number of medoids that changed."""
    return new.moved


def single_medoid_step(totals, order):
    """One medoid has no second nearest; then (4) is a difference of `totals`."""

    def step(state):
        at = state.medoids
        best = order[np.argmin(totals[order])]
        moved = int(totals[best] < totals[at[0]])
        at = np.array([best]) if moved else at
        return KMedoidsState(at, float(totals[at[0]]), moved)

    return step


def swap_step(source, w, medoids, order):
    """A function of the state that goes through all candidates once, and J."""
    M = np.ascontiguousarray(source.from_rows(medoids))
    first, second = np.empty((2, source.n), M.dtype)
    a, b = np.empty((2, source.n), np.int32)
    loops.two_nearest(M, first, second, a, b)
    loss, changes = np.empty((2, len(medoids)))
    loops.removal_losses(w, first, second, a, loss)
    nearest = (M, first, second, a, b)
    at = medoids.copy()
    idle = np.zeros(1, np.int64)  # candidates since the last swap

    def step(state):
        moved = 0
        least = 1e-10 * abs(state.objective)
        for i in range(0, source.n, source.block):
            candidates = order[i : i + source.block]
            moved += loops.swap_sweep(
                *source.array_and_rows(candidates),
                candidates,
                w,
                at,
                nearest,
                loss,
                changes,
                least,
                len(order),
                idle,
            )
            if idle[0] >= len(order):
                break
        return KMedoidsState(at.copy(), float(w @ first), moved)

    return step, float(w @ first)


def alternate_medoids(
    source, w, medoids, *, mean=None, max_iter=100, task=SILENT
) -> Result:
    """K-means iterations with medoids; `mean` holds the rows whose means are followed.

    With `mean` J may rise, so the best state is kept and a set of medoids that was seen
    before ends the run.
    """
    w = w.astype(np.float64)
    seen = set()
    J = float(w @ source.from_rows(medoids).min(axis=0))
    best = initial = KMedoidsState(medoids, J)

    def medoid_of(rows, old):
        if not (w[rows] > 0).any():
            return old
        if mean is None:
            parts = np.array_split(rows, -(-len(rows) // source.block))
            costs = [source.from_rows(part)[:, rows] @ w[rows] for part in parts]
            cost = np.concatenate(costs)
        else:
            c = np.average(mean[rows], axis=0, weights=w[rows])
            cost = ((mean[rows] - c) ** 2).sum(axis=1)
        return rows[np.argmin(cost)] if cost.min() < cost[rows == old][0] else old

    def step(state):
        nonlocal best
        z = source.from_rows(state.medoids).argmin(axis=0)
        z[state.medoids] = np.arange(len(z[state.medoids]))  # also among equal rows
        clusters = [np.flatnonzero(z == j) for j in range(len(state.medoids))]
        new = np.array([medoid_of(r, m) for r, m in zip(clusters, state.medoids)])
        J = float(w @ source.from_rows(new).min(axis=0))
        moved = int(np.count_nonzero(new != state.medoids))
        if best.objective > J:
            best = KMedoidsState(new, J, moved)
        again = mean is not None and tuple(sorted(new)) in seen
        seen.add(tuple(sorted(new)))
        return KMedoidsState(new, J, 0 if again else moved)

    run = iterate(
        step,
        initial,
        max_iter=max_iter,
        tol=0,
        change=number_moved,
        watch=("moved",),
        task=task,
    )
    return run._replace(state=best)


@saved_state(medoid_indices_=IntArray("clusters", low=0))
@dataclass(eq=False, repr=False)
class KMedoids(PrefixedOutput, Transformer, Clusterer, Estimator):
    """K-medoids clustering; the module text gives the method.

    Parameters
    ----------
    n_clusters : int, default 8
        k, the number of medoids.
    metric : str or function, default "euclidean"
        A name in `pansophy.distances.METRICS`, a function of (X, Z) that returns a
        matrix, or "precomputed": X is then the matrix of distances, rows to rows in
        `fit` and new rows to the rows of `fit` later.
    method : "swap", "alternate" or "exemplar"
        How medoids are improved; "swap" is PAM.
    init : "build", "k-medoids++", "random" or list of row numbers
        Initial medoids. "build" is deterministic.
    max_iter : int
        Most sweeps.
    verbose : int
        1 shows a progress bar.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.

    Attributes
    ----------
    medoid_indices_ : array of shape (k,)
        The row numbers of the medoids.
    cluster_centers_ : array of shape (k, d) or None
        Those rows; None for distances.
    labels_ : array of shape (n,)
        The nearest medoid of each row.
    inertia_ : float
        J of eq. (1).
    n_iter_, history_, converged_, interrupted_
        How the run went; "objective" and "moved" after each sweep.

    Examples
    --------
    >>> from pansophy.cluster import KMedoids
    >>> X = [[1.0], [2.0], [3.0], [10.0], [11.0], [90.0]]
    >>> model = KMedoids(3).fit(X)
    >>> sorted(model.cluster_centers_.ravel().tolist())
    [2.0, 10.0, 90.0]
    >>> model.inertia_
    3.0
    """

    n_clusters: Count = 8
    _: KW_ONLY
    metric: str | Callable = "euclidean"
    method: Literal["swap", "alternate", "exemplar"] = "swap"
    init: Literal["build", "k-medoids++", "random"] | NumericArray = "build"
    max_iter: Count = 300
    verbose: Verbosity = 0
    random_state: Seed = None

    _tensors = False

    def fit(self, X, y=None, sample_weight=None):
        """Find the medoids.

        Parameters
        ----------
        X : array of shape (n, d), or (n, n) distances
        y : None
            Not used.
        sample_weight : array of length n or None
            Row weights; k is the same as k equal rows.
        """
        X, w = self._check_training_data(X, sample_weight=sample_weight, order="C")
        n = len(X)
        k = self.n_clusters
        check_enough_rows(X, k)
        self._check_precomputed(X)
        if isinstance(self.metric, str) and self.metric in SQUARES:
            check_scale(self, X)
        w = np.ones(n, X.dtype) if w is None else w
        source = DistanceSource(X, self.metric)
        order = np.flatnonzero(w > 0)
        key = source.totals(w.astype(np.float64))
        order = order[np.argsort(key[order], kind="stable")]
        medoids = self._initial_medoids(source, w, order, key)

        def run(task):
            if self.method == "swap":
                return pam_swap(
                    source, w, medoids, order, max_iter=self.max_iter, task=task
                )
            mean = X if self.method == "exemplar" else None
            return alternate_medoids(
                source, w, medoids, mean=mean, max_iter=self.max_iter, task=task
            )

        result = self._run_driver(run, total=self.max_iter, X=X)
        at = np.asarray(result.state.medoids)
        self.medoid_indices_ = at
        M = source.from_rows(at)
        self.labels_ = M.argmin(axis=0)
        self.inertia_ = float(w.astype(np.float64) @ M.min(axis=0))
        self.cluster_centers_ = None if self._precomputed else X[at]
        self._n_features_out = k
        warn_empty_clusters(len(np.unique(self.labels_)), k)
        return self

    def fit_predict(self, X, y=None, sample_weight=None):
        """`fit`, then the labels of the same rows."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X):
        """The nearest medoid of each row."""
        return self._medoid_distances(X).argmin(axis=1)

    def transform(self, X):
        """The distance from each row to each medoid."""
        return self._medoid_distances(X)

    def _medoid_distances(self, X):
        X = self._check_new_data(X, order="C")
        if self._precomputed:
            return X[:, self.medoid_indices_]
        return pairwise(X, self.cluster_centers_, self.metric)

    @property
    def _precomputed(self):
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _check_precomputed(self, X):
        if not self._precomputed:
            return
        if self.method == "exemplar":
            raise ValueError("method='exemplar' takes means, which distances lack.")
        if X.shape[0] != X.shape[1] or (X < 0).any():
            raise ValueError("precomputed distances must be square and at least 0.")

    def _initial_medoids(self, source, w, order, key):
        rng = make_rng(self.random_state)
        k = self.n_clusters
        init: Any = self.init
        if isinstance(init, str):
            if init == "build" and len(order) >= k:
                return pam_build(source, w, k, order)
            if init == "random" and len(order) >= k:
                p = w[order] / w[order].sum()
                return order[rng.choice(len(order), k, replace=False, p=p)]
            column = lambda i: source.from_rows([i])[0].astype(np.float64)
            return plusplus_from_distances(column, w, k, rng, key)
        at = np.asarray(init)
        whole = at.dtype.kind in "iu" and at.shape == (k,)
        if not whole or not ((at >= 0) & (at < source.n)).all():
            raise ValueError(f"init must name {k} rows of X by number, got {init!r}.")
        return at.astype(np.int64)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags
