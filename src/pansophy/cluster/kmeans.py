"""K-means: split n points into k groups around k centres.

Minimise the within-group sum of squares over centres C and labels z,

    J(C, z) = sum_i w_i |x_i - c_{z_i}|^2                                       (1)

by taking turns: with C fixed the best z_i is the nearest centre; with z fixed the best
c_j is the weighted mean of its points. Neither half of a turn can raise J, and there
are finitely many z, so it ends; a local optimum, hence several starts. A turn needs
of the rows only sums per cell j (over i with z_i = j), which are kept up to date as
labels change, so that only rows that move are ever added up:

    S_j = sum w_i x_i    M_j = sum w_i    Q_j = sum w_i |x_i|^2                 (2)
    c_j = S_j / M_j      J = sum_j Q_j - 2 c_j.S_j + M_j |c_j|^2                (3)

A row is looked at only if its label could have changed. With u_i at least the distance
to its own centre, l_i at most that to any other, p_j how far centre j moved and s_j
half the way from centre j to the nearest other one,

    u_i + p_{z_i} < max(l_i - max_{j != z_i} p_j, s_{z_i})                      (4)

proves that it has not. The labels are those of plain turns.

Details that matter. Rows are taken relative to their mean, so a large common offset
costs no digits. A cell that loses all its points gets as new centre the row farthest
from its own centre, which can only lower J. Stopping is scikit-learn's: no label
changed, or the squared shift of all centres is at most tol times the mean variance of
the columns. The value of J reported at the end is summed from differences, not (3).
Bounds cost some time themselves, so they are used when the shape, and how many rows
they cleared last, say that they pay. Many columns and centres meet in matrix products,
whose speed is the limit: of 100 groups in 784 columns that are far apart two turns are
all there is, and (4) clears no row in the second, nor do bounds for ten groups of
centres (2% of the pairs). Of 100 faint groups in 256 columns the first six turns need
5.2 turns' worth of products; a bound for every pair, n k numbers, would need 2.7, but
of single pairs, which take 2.0 (256 columns) to 2.8 times (784) as long as in a matrix
product, where a centre is read once for many rows: 5.5 to 7.6, so it is not kept.

Variants in the same turns. metric="cosine" clusters directions: rows are scaled to
length 1 and so are the means, the best centres on the sphere; J = 2 sum_i w_i (1 -
cos(x_i, c_{z_i})). Rows whose cells are given (`held`) add constants to (2).

Time O(n k d) a turn at first, O(n) when clusters have settled. Memory O(n) beyond X; of
a table on disk one block per thread is held, and it is read once a turn.

Shapes    X (n, d)   C (k, d)   z (n,)   w (n,)   S (k, d)   M, Q, p, s (k,)
Refs      [Lloyd1982] the turns; [Hamerly2010] the bounds; [Arthur2007] the seeds;
          [Dhillon2001] directions
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from ..base import Clusterer, Estimator, PrefixedOutput, Transformer, check_weights
from ..core import arrays, rows
from ..core.iterate import Result, best_of, iterate
from ..core.progress import SILENT
from ..core.random import rng_from
from ..params import Count, Flag, NonNegative, Verbosity
from ..typing import Seed
from . import _kmeans as loops
from .initialization import sample_initial_centers
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
from .starts import (
    ROW_CHECKS,
    Init,
    check_enough_rows,
    check_scale,
    initial_centers,
    number_of_starts,
    unit_length_rows,
    warn_empty_clusters,
    weights_like,
)

SMALL_VARIANCE = (
    1e-30  # variances from which on it is looked whether squares are numbers
)


class KMeansState(NamedTuple):
    """What one turn hands to the next."""

    centers: np.ndarray  # C, the means of the cells
    labels: Any  # z, nearest to the centres of the turn before
    objective: float  # J at those centres and labels
    shift: float = np.inf  # sum_j p_j^2
    moved: int = -1  # labels that changed
    previous_centers: Any = None  # the centres of the turn before
    n_filled: int = 0  # cells that have rows
    costs: Any = None  # J of each cell


def kmeans_change(old, new) -> float:
    """What is compared with tol: 0 if no label changed, else the shift."""
    return 0.0 if new.moved == 0 else new.shift


def updated_centers(cells, C, m, farthest):
    """Eq. (3): the means of the cells, J before the update, and the squared shift.

    An empty cell takes the row farthest from its centre; several, one after another,
    each counting the rows placed before it as centres.
    """
    new = np.empty_like(C)
    J, shift = loops.cluster_means(*cells[:4], C, m, new)
    placed = []
    for j in np.flatnonzero(cells.count == 0):
        placed.append(farthest(new, m, placed))
        shift += np.sum((placed[-1] - C[j]) ** 2)
        new[j] = placed[-1]
    return new, max(J, 0.0), shift


def unit_centers(C):
    """Centres scaled to length 1; one at the origin stays there."""
    length = np.sqrt(np.sum(C * C, axis=1, keepdims=True))
    return C / np.where(length > 0, length, 1)


def lloyd(
    X, w, C, *, max_iter=300, tol=0.0, keep_bounds=None, origin=None, spherical=False, fixed=None,
    task=SILENT,
) -> Result:  # fmt: skip
    """Take turns from centres C until they settle; labels and J are of the last C.

    X is an array, tensor, CSR matrix or `DatasetRows`; w its row weights; `tol` is
    compared with the squared shift of the centres; `m` is a point amid the rows;
    `unit` keeps centres on the sphere. `held` is (X, w, z) of NumPy rows with labels
    that stay as they are: they take part in means and J, and not in `labels`.
    """
    turns = assignment_for(X, w, len(C), keep_bounds=keep_bounds)
    origin = rounded_to_dtype(
        row_mean_and_variance(X, w)[0] if origin is None else origin, X
    )
    fixed: Any = None if fixed is None else fixed_cluster_sums(fixed, len(C), origin)

    def turn(state):
        z, cells = turns.turn(state.centers, state.previous_centers, origin)
        if fixed is not None:
            cells = rows.add(cells, fixed)
        new, J, shift = updated_centers(cells, state.centers, origin, turns.farthest)
        if spherical:
            new = unit_centers(new)
            shift = float(np.sum((new - state.centers) ** 2))
        return KMeansState(new, z, J, shift, cells.moved, state.centers)

    begin = KMeansState(C, None, np.inf)
    how = {"change": kmeans_change, "watch": ("shift", "moved"), "task": task}
    run = iterate(turn, begin, max_iter=max_iter, tol=tol, **how)
    state = run.state
    if run.reason in ("interrupted", "diverged"):  # a turn was left half way
        turns, state = (
            assignment_for(X, w, len(C)),
            state._replace(previous_centers=None),
        )
    # The labels are made to fit the centres as they will be stored and predicted from.
    C = rounded_to_dtype(state.centers, X)
    origin = reference_point(C, X)
    z, cells = turns.turn(C, state.previous_centers, origin)
    costs, N = turns.costs(C, origin), cells.count
    J = float(np.sum(costs))
    if fixed is not None:
        J += rows.Rows(*fixed).sum(lambda X, w, z: float(w @ squared_norms(X - C[z])))
        N = N + fixed.count
    last = KMeansState(
        C, z, J, state.shift, n_filled=int(np.count_nonzero(N)), costs=costs
    )
    return run._replace(state=last)


def fixed_cluster_sums(held, k, m):
    """Eq. (2) of rows whose labels are given: (X, w, z)."""

    def stats(X, w, z):
        V, w = X - m, w.astype(np.float64)
        hot = sparse.csr_array((w, (z, np.arange(len(z)))), shape=(k, len(z)))
        N = np.bincount(z[w > 0], minlength=k)
        return ClusterSums(hot @ V, hot @ np.ones(len(z)), hot @ squared_norms(V), N, 0)

    return rows.Rows(*held).sum(stats)


def squared_norms(V):
    """The squared length of each row."""
    return np.einsum("ij,ij->i", V, V)


def kmeans_labels(X, w, k, rng, *, max_iter=100):
    """Labels of one k-means run: seeds, then turns. w is None for all ones."""
    w = np.ones(X.shape[0], X.dtype) if w is None else w
    m, variance = row_mean_and_variance(X, w)
    C = arrays.to_numpy(sample_initial_centers(X, w, k, rng)[0]).astype(np.float64)
    return lloyd(X, w, C, max_iter=max_iter, tol=1e-4 * variance, origin=m).state.labels


def kmeans_objective(X, centers, sample_weight=None) -> float:
    """J of eq. (1) with every row at its nearest centre.

    Examples
    --------
    >>> from pansophy.cluster import kmeans_objective
    >>> kmeans_objective([[1.0], [2.0], [4.0]], [[1.0], [3.0]])
    2.0
    """
    C = np.asarray(arrays.to_numpy(centers), np.float64)
    model = KMeans(len(C))
    model.cluster_centers_ = C
    X, w = model._checked(X, sample_weight)
    return kmeans_cost(X, w, C)


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
        Where the centres start. "farthest" takes a first row by lot and then always
        the row farthest from those taken. A function is called as
        `init(X, n_clusters, random_state=...)` and returns the centres.
    n_init : "auto" or int
        Starts, of which the best is kept. "auto" is 1 with "k-means++" or an array,
        and 10 otherwise.
    max_iter : int
        Most turns of one start.
    tol : float
        Stop when the squared shift of the centres is at most this times the mean
        variance of the columns.
    verbose : int
        1 shows a progress bar.
    random_state : None, int, RandomState or Generator
        Where chance comes from.
    copy_x : bool
        Whether X must be left as it is. It always is; False changes nothing.
    algorithm : "lloyd" or "elkan"
        "elkan" always keeps the bounds of eq. (4); "lloyd" keeps them while they pay.
        The answer is the same.
    warm_start : bool
        Whether `fit` goes on from the centres of the fit before.
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
        Turns taken by the best start.
    history_ : dict
        "objective", "shift" and "moved", one entry per turn of the best start.
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
        rng, round_ = rng_from(self.random_state), self.metric == "cosine"
        m, variance = row_mean_and_variance(X, w)
        if arrays.is_numpy(X) and variance < SMALL_VARIANCE:
            check_scale(X)
        warm = self.warm_start and hasattr(self, "cluster_centers_")
        init: Any = self.cluster_centers_ if warm else self.init
        n_init = 1 if warm else number_of_starts(init, self.n_init)

        def run(i, task):
            C = initial_centers(X, w, self.n_clusters, rng, init)
            limits = {"max_iter": self.max_iter, "tol": self.tol * variance}
            how = {"keep": self._keeps(), "unit": round_, "task": task, "m": m}
            return lloyd(X, w, unit_centers(C) if round_ else C, **limits, **how)

        total = n_init if n_init > 1 else self.max_iter
        keep = lambda state: self._fitted(state, X)
        result = self._drive(
            lambda task: best_of(n_init, run, task=task),
            total=total,
            X=X,
            snapshot=keep,
        )
        for name, value in keep(result.state).items():
            setattr(self, name, value)
        self.labels_, self.inertia_ = result.state.labels, result.state.objective
        warn_empty_clusters(result.state.n_filled, self.n_clusters)
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
        w = weights_like(X, check_weights(sample_weight, X))
        return -kmeans_cost(X, w, self._centers())

    def _checked(self, X, sample_weight):
        X, w = self._begin(X, sample_weight=sample_weight, **ROW_CHECKS)
        X = unit_length_rows(X) if self.metric == "cosine" else X
        return X, weights_like(X, w)

    def _rows(self, X):
        X = self._ready(X, **ROW_CHECKS)
        return unit_length_rows(X) if self.metric == "cosine" else X

    def _centers(self):
        return arrays.to_numpy(self.cluster_centers_).astype(np.float64)

    def _keeps(self):
        return True if self.algorithm == "elkan" else None

    def _fitted(self, state, X):
        return {"cluster_centers_": stored_centers(state.centers, X)}

    @property
    def _n_features_out(self):
        return self.cluster_centers_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
