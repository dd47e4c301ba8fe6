"""K-means: split n points into k clusters around k centres.

Minimise the within-cluster sum of squares over centres C and labels z,

    J(C, z) = sum_i w_i |x_i - c_{z_i}|^2                                       (1)

by Lloyd's iterations: with C fixed the best z_i is the nearest centre; with z fixed the
best c_j is the weighted mean of its points. Neither half of an iteration can raise J,
and there are finitely many z, so it ends, in a local optimum; hence several starts. An
iteration needs of the rows only sums per cluster j (over i with z_i = j), which are
kept up to date as labels change, so that only rows that move are ever added up:

    S_j = sum w_i x_i    M_j = sum w_i    Q_j = sum w_i |x_i|^2                 (2)
    c_j = S_j / M_j      J = sum_j Q_j - 2 c_j.S_j + M_j |c_j|^2                (3)

A row is compared with the centres only if its label could have changed. With u_i at
least the distance to its own centre, l_i at most that to any other, p_j how far centre
j moved and s_j half the distance from centre j to the nearest other one,

    u_i + p_{z_i} < max(l_i - max_{j != z_i} p_j, s_{z_i})                      (4)

proves that it has not. The labels are those of Lloyd's iterations without bounds.
Bounds cost some time themselves, so they are used while the shape, and how many rows
they cleared last, say that they pay.

Numerical details. Rows are taken relative to their mean, so a large common offset costs
no digits. A cluster that loses all its points gets as new centre the row farthest from
its own centre, which can only lower J. Stopping is scikit-learn's: no label changed, or
the squared shift of all centres is at most tol times the mean variance of the columns.
The value of J reported at the end is summed from differences, not by (3).

Variants. metric="cosine" clusters directions: rows are scaled to length 1 and so are
the means, the best centres on the sphere; J = 2 sum_i w_i (1 - cos(x_i, c_{z_i})). Rows
whose clusters are given (`fixed` of `lloyd`) add constants to (2).

Time O(n k d) an iteration at first, O(n) once few labels change. Memory O(n) beyond X;
of a table on disk one block per thread is held, and it is read once an iteration.

Files     `initialization.py` the first centres; `lloyd_iteration.py` labels and sums of
          one iteration; `_kmeans.py` compiled loops
Shapes    X (n, d)   C (k, d)   z (n,)   w (n,)   S (k, d)   M, Q, p, s (k,)
Refs      [Lloyd1982] the iterations; [Hamerly2010] the bounds; [Arthur2007] k-means++;
          [Dhillon2001] directions
"""

import itertools
import warnings
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from ...base import Clusterer, Estimator, PrefixedOutput, Transformer
from ...core.arrays import arrays, rows
from ...core.arrays.weighted import check_sample_weight
from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT
from ...core.random import make_rng
from ...params import Count, Flag, NonNegative, Verbosity, check_count
from ...typing import Seed
from . import _kmeans as loops
from .initialization import (
    ROW_CHECKS,
    Init,
    check_enough_rows,
    check_scale,
    directions_of_rows,
    initial_centers,
    number_of_starts,
    sample_initial_centers,
    warn_empty_clusters,
    weights_like,
)
from .lloyd_iteration import (
    ClusterSums,
    assignment_for,
    center_distances,
    kmeans_cost,
    nearest_centers,
    reference_point,
    rounded_to_dtype,
    row_mean_and_variance,
    stored_centers,
)

SMALL_VARIANCE = 1e-30  # below it, squares of differences may leave the floats


class KMeansState(NamedTuple):
    """State carried from one iteration to the next."""

    centers: np.ndarray  # C, the means of the clusters
    labels: Any  # z, nearest to the previous centres
    objective: float  # J at those centres and labels
    shift: float = np.inf  # sum_j p_j^2
    moved: int = -1  # labels that changed
    previous_centers: Any = None
    n_filled: int = 0  # clusters that have rows
    costs: Any = None  # J of each cluster


def lloyd_step(state, assignment, m, *, spherical=False, fixed=None) -> KMeansState:
    """One iteration: labels of the nearest centres, then the means of the clusters."""
    z, sums = assignment.assign(state.centers, state.previous_centers, m)
    if fixed is not None:
        sums = rows.add_statistics(sums, fixed)
    C, J, shift = updated_centers(sums, state.centers, m, assignment.farthest)
    if spherical:
        C = unit_centers(C)
        shift = float(np.sum((C - state.centers) ** 2))
    return KMeansState(C, z, J, shift, sums.moved, state.centers)


def updated_centers(sums, C, m, farthest):
    """Eq. (3): the means of the clusters, J before the update, and the squared shift.

    An empty cluster takes the row farthest from its centre; several, one after another,
    each counting the rows placed before it as centres.
    """
    new = np.empty_like(C)
    J, shift = loops.cluster_means(*sums[:4], C, m, new)
    placed = []
    for j in np.flatnonzero(sums.count == 0):
        gap, row = farthest(new, m, placed)
        if gap <= 0:  # no row is off its centre: the empty cluster stays as it is
            break
        placed.append(row)
        shift += np.sum((row - C[j]) ** 2)
        new[j] = row
    return new, max(J, 0.0), shift


def unit_centers(C):
    """Centres scaled to length 1; one at the origin stays there."""
    length = np.sqrt(np.sum(C * C, axis=1, keepdims=True))
    return C / np.where(length > 0, length, 1)


def kmeans_change(old, new) -> float:
    """Change compared with tol: 0 if no label changed, else the squared shift."""
    return 0.0 if new.moved == 0 else new.shift


def lloyd(
    X,
    w,
    C,
    *,
    max_iter=300,
    tol=0.0,
    keep_bounds=None,
    origin=None,
    spherical=False,
    fixed=None,
    verbose=False,
    task=SILENT,
) -> Result:
    """Iterate from centres C until they converge; labels and J are of the last C.

    X is an array, tensor, CSR matrix or `DatasetRows`; w its row weights; `tol` is
    compared with the squared shift of the centres; `origin` is a point amid the rows;
    `spherical` keeps centres at length 1. `fixed` is (X, w, z) of NumPy rows with
    labels that stay as they are: they take part in means and J, and not in `labels`.
    `verbose` prints a line for each iteration.
    """
    assignment = assignment_for(X, w, len(C), keep_bounds=keep_bounds)
    m = row_mean_and_variance(X, w)[0] if origin is None else origin
    m = rounded_to_dtype(m, X)
    fixed_sums = None if fixed is None else fixed_cluster_sums(fixed, len(C), m)
    step = partial(
        lloyd_step, assignment=assignment, m=m, spherical=spherical, fixed=fixed_sums
    )
    run = iterate(
        printed_step(step) if verbose else step,
        KMeansState(C, None, np.inf),
        max_iter=max_iter,
        tol=tol,
        change=kmeans_change,
        watch=("shift", "moved"),
        task=task._replace(log=False) if verbose else task,  # one line an iteration
    )
    if verbose and run.reason == "tolerance":
        print(convergence_line(run, tol))
    return run._replace(state=final_state(run, assignment, X, w, fixed, fixed_sums))


def printed_step(step):
    """The step, with a line printed after each iteration."""
    numbers = itertools.count()

    def step_and_print(state):
        new = step(state)
        print(f"Iteration {next(numbers)}, inertia {new.objective:.6g}.")
        return new

    return step_and_print


def convergence_line(run, tol) -> str:
    """Why the iterations ended, in words."""
    state = run.state
    why = f"center shift {state.shift:.6g} within tolerance {tol:.6g}"
    why = "strict convergence" if state.moved == 0 else why
    return f"Converged at iteration {run.n_iter - 1}: {why}."


def final_state(run, assignment, X, w, fixed, fixed_sums) -> KMeansState:
    """The state with labels that fit the centres as stored and predicted from."""
    state = run.state
    if run.reason in ("interrupted", "diverged"):  # an iteration was left half way
        assignment = assignment_for(X, w, len(state.centers))
        state = state._replace(previous_centers=None)
    C = rounded_to_dtype(state.centers, X)
    m = reference_point(C, X)
    z, sums = assignment.assign(C, state.previous_centers, m)
    costs = assignment.costs(C, m)
    counts = sums.count
    J = float(np.sum(costs))
    if fixed is not None:
        J += rows.Rows(*fixed).sum(lambda X, w, z: float(w @ squared_norms(X - C[z])))
        counts = counts + fixed_sums.count
    n_filled = int(np.count_nonzero(counts))
    return KMeansState(C, z, J, state.shift, n_filled=n_filled, costs=costs)


def fixed_cluster_sums(fixed, k, m) -> Any:
    """Eq. (2) of rows whose labels are given: (X, w, z)."""

    def stats(X, w, z):
        V = X - m
        w = w.astype(np.float64)
        hot = sparse.csr_array((w, (z, np.arange(len(z)))), shape=(k, len(z)))
        N = np.bincount(z[w > 0], minlength=k)
        return ClusterSums(hot @ V, hot @ np.ones(len(z)), hot @ squared_norms(V), N, 0)

    return rows.Rows(*fixed).sum(stats)


def squared_norms(V):
    """The squared length of each row."""
    return np.einsum("ij,ij->i", V, V)


def kmeans_labels(X, w, k, rng, *, max_iter=100):
    """Labels of one k-means run from k-means++ seeds. w is None for all ones."""
    w = np.ones(X.shape[0], X.dtype) if w is None else w
    m, variance = row_mean_and_variance(X, w)
    C = arrays.to_numpy(sample_initial_centers(X, w, k, rng)[0]).astype(np.float64)
    run = lloyd(X, w, C, max_iter=max_iter, tol=1e-4 * variance, origin=m)
    return run.state.labels


def kmeans_plusplus(
    X, n_clusters, *, sample_weight=None, random_state=None, n_local_trials=None
):
    """Greedy k-means++ seeds of the rows of X.

    Parameters
    ----------
    X : array, CSR matrix, tensor, or path of a Parquet file
        The rows.
    n_clusters : int
        How many seeds.
    sample_weight : array of length n or None
        Row weights.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.
    n_local_trials : int or None
        Candidates per seed; None for 2 + ln(n_clusters).

    Returns
    -------
    centers : array of shape (n_clusters, d)
        The seeds.
    indices : array of shape (n_clusters,)
        Their row numbers.

    Examples
    --------
    >>> from pansophy.cluster import kmeans_plusplus
    >>> centers, indices = kmeans_plusplus([[0.0], [0.1], [9.0]], 2, random_state=0)
    >>> sorted(float(c) for c in centers[:, 0].round())
    [0.0, 9.0]
    """
    model = KMeans(n_clusters, random_state=random_state)
    X, w = model._checked(X, sample_weight)
    check_enough_rows(X, n_clusters)
    if n_local_trials is not None:
        check_count("n_local_trials", n_local_trials)
    rng = make_rng(random_state)
    return sample_initial_centers(X, w, n_clusters, rng, n_candidates=n_local_trials)


def kmeans_objective(X, centers=None, sample_weight=None, *, labels=None) -> float:
    """J of eq. (1), in the three forms of the clustering loss.

        centres alone     sum_i min_j |x_i - c_j|^2
        labels alone      sum_j sum_{i in j} |x_i - mean of cluster j|^2
        both              sum_j sum_{i in j} |x_i - c_j|^2

    The least of the last over labels is the first, its least over centres the second.

    Parameters
    ----------
    X : array of shape (n, d)
    centers : array of shape (k, d), optional
    sample_weight : array of shape (n,), optional
    labels : array of shape (n,), optional
        Rows of `centers`; any labels if they come alone.

    Examples
    --------
    >>> from pansophy.cluster import kmeans_objective
    >>> kmeans_objective([[1.0], [2.0], [4.0]], [[1.0], [3.0]])
    2.0
    >>> kmeans_objective([[1.0], [2.0], [4.0]], labels=[0, 0, 1])
    0.5
    >>> kmeans_objective([[1.0], [2.0], [4.0]], [[1.0], [3.0]], labels=[0, 0, 1])
    2.0
    """
    if labels is not None:
        return labelled_objective(X, centers, sample_weight, labels)
    if centers is None:
        raise ValueError("kmeans_objective needs centers, labels or both.")
    C = np.asarray(arrays.to_numpy(centers), np.float64)
    model = KMeans(len(C))
    model.cluster_centers_ = C
    X, w = model._checked(X, sample_weight)
    return kmeans_cost(X, w, C)


def labelled_objective(X, centers, sample_weight, labels) -> float:
    """J of rows with given clusters, about their own means if there are no centres."""
    model = KMeans(1)
    X = np.asarray(arrays.to_numpy(X), np.float64)
    model.cluster_centers_ = X[:1]
    X, w = model._checked(X, sample_weight)
    w = np.ones(len(X)) if w is None else np.asarray(w, np.float64)
    z = np.asarray(arrays.to_numpy(labels))
    if z.shape != (len(X),):
        raise ValueError(f"labels must have one entry for each of {len(X)} rows.")
    if centers is None:
        z = np.unique(z, return_inverse=True)[1]
        mass = np.maximum(np.bincount(z, w), np.finfo(float).tiny)
        sums = [np.bincount(z, w * column) for column in X.T]
        C = np.column_stack(sums) / mass[:, None]
    else:
        C = np.asarray(arrays.to_numpy(centers), np.float64)
        if z.dtype.kind not in "iu" or z.min() < 0 or z.max() >= len(C):
            raise ValueError(f"labels must be whole numbers from 0 to {len(C) - 1}.")
    return float(w @ np.sum((X - C[z]) ** 2, axis=1))


@dataclass(eq=False, repr=False)
class KMeans(PrefixedOutput, Transformer, Clusterer, Estimator):
    """K-means clustering; the module text gives the method.

    Takes arrays, CSR matrices, tensors on any device, and tables on disk larger than
    memory (the path of a Parquet file). X is never changed.

    Parameters
    ----------
    n_clusters : int, default 8
        k, the number of clusters.
    init : "k-means++", "random", "farthest", array of shape (k, d) or function
        Where the centres start. "farthest" draws a first row and then always takes the
        row farthest from those taken. A function is called as
        `init(X, n_clusters, random_state=...)` and returns the centres.
    n_init : "auto" or int
        Starts, of which the best is kept. "auto" is 1 with "k-means++" or an array,
        and 10 otherwise.
    max_iter : int
        Most iterations of one start.
    tol : float
        Stop when the squared shift of the centres is at most this times the mean
        variance of the columns.
    verbose : int
        1 shows a progress bar and prints a line for each iteration.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.
    copy_x : bool
        Whether X must be left as it is. It always is; False changes nothing.
    algorithm : "lloyd" or "elkan"
        "elkan" always keeps the bounds of eq. (4); "lloyd" keeps them while they pay.
        The answer is the same.
    warm_start : bool
        Whether `fit` goes on from the centres of the last fit.
    metric : "euclidean" or "cosine"
        "cosine" clusters directions (spherical k-means): lengths of rows do not
        matter, and centres have length 1.

    Attributes
    ----------
    cluster_centers_ : array of shape (k, d)
        C.
    labels_ : array of shape (n,)
        z, nearest to `cluster_centers_`.
    inertia_ : float
        J of eq. (1).
    n_iter_ : int
        Iterations of the best start.
    history_ : dict
        "objective", "shift" and "moved", one entry per iteration of the best start.
        The objective is J once rows are assigned, before the centres move; books that
        state it after the move have `kmeans_objective(X, centers, labels=labels)` with
        the new centres and these labels.
    converged_, interrupted_ : bool
        How the best start ended.

    Examples
    --------
    >>> from pansophy.cluster import KMeans
    >>> X = [[1.0], [2.0], [4.0], [10.0], [11.0], [15.0]]
    >>> model = KMeans(2, init=[[1.0], [2.0]]).fit(X)
    >>> model.cluster_centers_.ravel().round(4).tolist()
    [2.3333, 12.0]
    >>> model.history_["objective"].round(5).tolist()
    [318.0, 62.88, 18.66667]
    """

    n_clusters: Count = 8
    _: KW_ONLY
    init: Init = "k-means++"
    n_init: Literal["auto"] | Count = "auto"
    max_iter: Count = 300
    tol: NonNegative = 1e-4
    verbose: Verbosity = 0
    random_state: Seed = None
    copy_x: Flag = True
    algorithm: Literal["lloyd", "elkan"] = "lloyd"
    warm_start: Flag = False
    metric: Literal["euclidean", "cosine"] = "euclidean"

    def fit(self, X, y=None, sample_weight=None):
        """Find the centres.

        Parameters
        ----------
        X : array, CSR matrix, tensor, or path of a Parquet file
            The rows.
        y : None
            Not used.
        sample_weight : array of length n or None
            Row weights; k is the same as k equal rows.
        """
        X, w = self._checked(X, sample_weight)
        check_enough_rows(X, self.n_clusters)
        mean, variance = row_mean_and_variance(X, w)
        if arrays.is_numpy(X) and variance < SMALL_VARIANCE:
            check_scale(self, X)
        rng = make_rng(self.random_state)
        warm = self.warm_start and hasattr(self, "cluster_centers_")
        init: Any = self.cluster_centers_ if warm else self.init
        n_init = 1 if warm else number_of_starts(init, self.n_init)
        spherical = self.metric == "cosine"
        if self.algorithm == "elkan" and self.n_clusters == 1:
            warnings.warn(
                "algorithm='elkan' doesn't make sense for a single cluster: there is "
                "no other centre to keep a bound of.",
                RuntimeWarning,
                stacklevel=2,
            )

        def one_start(i, task) -> Result:
            C = initial_centers(X, w, self.n_clusters, rng, init)
            if self.verbose:
                print("Initialization complete")
            return lloyd(
                X,
                w,
                unit_centers(C) if spherical else C,
                max_iter=self.max_iter,
                tol=self.tol * variance,
                keep_bounds=True if self.algorithm == "elkan" else None,
                origin=mean,
                spherical=spherical,
                verbose=bool(self.verbose),
                task=task,
            )

        best = self._run_driver(
            one_start,
            n_init=n_init,
            total=self.max_iter,
            X=X,
            snapshot=lambda state: self._fitted(state, X),
        ).state
        self.cluster_centers_ = stored_centers(best.centers, X)
        self.labels_ = best.labels
        self.inertia_ = best.objective
        warn_empty_clusters(best.n_filled, self.n_clusters)
        return self

    def predict(self, X):
        """The nearest centre of each row."""
        return nearest_centers(self._rows(X), self._centers())

    def fit_predict(self, X, y=None, sample_weight=None):
        """`fit`, then the labels of the same rows."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def transform(self, X):
        """The distance from each row to each centre."""
        return center_distances(self._rows(X), self._centers())

    def fit_transform(self, X, y=None, sample_weight=None):
        """`fit`, then `transform` of the same rows."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self, X, y=None, sample_weight=None):
        """Minus J of eq. (1), each row at its nearest centre."""
        X = self._rows(X)
        w = weights_like(X, check_sample_weight(sample_weight, X))
        return -kmeans_cost(X, w, self._centers())

    def _checked(self, X, sample_weight):
        X, w = self._check_training_data(X, sample_weight=sample_weight, **ROW_CHECKS)
        X = directions_of_rows(X) if self.metric == "cosine" else X
        return X, weights_like(X, w)

    def _rows(self, X):
        X = self._check_new_data(X, **ROW_CHECKS)
        return directions_of_rows(X) if self.metric == "cosine" else X

    def _centers(self):
        return arrays.to_numpy(self.cluster_centers_).astype(np.float64)

    def _fitted(self, state, X):
        return {"cluster_centers_": stored_centers(state.centers, X)}

    @property
    def _n_features_out(self):
        return self.cluster_centers_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
