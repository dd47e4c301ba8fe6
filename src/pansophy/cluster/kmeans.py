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

Time O(n k d) a turn at first, O(n) when clusters have settled. Memory O(n) beyond X; of
a table on disk one block per thread is held, and it is read once a turn.

Shapes    X (n, d)   C (k, d)   z (n,)   w (n,)   S (k, d)   M, Q, p, s (k,)
Refs      [Lloyd1982] the turns; [Hamerly2010] the bounds; [Arthur2007] the seeds
"""

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ..base import Clusterer, Estimator, PrefixedOutput, Transformer, check_weights
from ..core import arrays, rows
from ..core.iterate import Result, best_of, iterate
from ..core.progress import SILENT
from ..core.random import rng_from, seed_int
from ..params import Count, Flag, NonNegative, Verbosity
from ..typing import Matrix, Seed
from .seeding import seed
from .turns import distances, nearest, origin, rounded, spread, stored, turns_over


class State(NamedTuple):
    """What one turn hands to the next."""

    centers: np.ndarray  # C, the means of the cells
    labels: Any  # z, nearest to the centres of the turn before
    objective: float  # J at those centres and labels
    shift: float = np.inf  # sum_j p_j^2
    moved: int = -1  # labels that changed
    before: Any = None  # the centres of the turn before
    filled: int = 0  # cells that have rows


def settled(old, new) -> float:
    """What is compared with tol: 0 if no label changed, else the shift."""
    return 0.0 if new.moved == 0 else new.shift


def update(cells, C, m, farthest):
    """Eq. (3): the means of the cells, and J before the update.

    An empty cell takes the row farthest from its centre; several, one after another,
    each counting the rows placed before it as centres.
    """
    S, M, Q, N = cells[:4]
    c = C - m
    J = np.sum(Q) - 2 * np.sum(c * S) + M @ np.sum(c * c, axis=1)
    new, empty = C.copy(), N == 0
    new[~empty] = m + S[~empty] / M[~empty, None]
    placed = []
    for j in np.flatnonzero(empty):
        placed.append(farthest(new, m, placed))
        new[j] = placed[-1]
    return new, max(float(J), 0.0)


def lloyd(X, w, C, *, max_iter=300, tol=0.0, keep=True, m=None, task=SILENT) -> Result:
    """Take turns from centres C until they settle; labels and J are of the last C.

    X is an array, tensor, CSR matrix or `DatasetRows`; w its row weights; `tol` is
    compared with the squared shift of the centres; `m` is a point amid the rows.
    """
    turns = turns_over(X, w, len(C), keep=keep)
    m = rounded(spread(X, w)[0] if m is None else m, X)

    def turn(state):
        z, cells = turns.turn(state.centers, state.before, m)
        new, J = update(cells, state.centers, m, turns.farthest)
        shift = float(np.sum((new - state.centers) ** 2))
        return State(new, z, J, shift, cells.moved, state.centers)

    start = State(C, None, np.inf, before=C)
    how = {"change": settled, "watch": ("shift", "moved"), "task": task}
    run = iterate(turn, start, max_iter=max_iter, tol=tol, **how)
    state = run.state
    if run.reason in ("interrupted", "diverged"):  # a turn was left half way
        turns, state = turns_over(X, w, len(C)), state._replace(before=state.centers)
    # The labels are made to fit the centres as they will be stored and predicted from.
    C = rounded(state.centers, X)
    m = origin(C, X)
    z, cells = turns.turn(C, state.before, m)
    filled = int(np.count_nonzero(cells.count))
    last = State(C, z, turns.inertia(C, m), state.shift, filled=filled)
    return run._replace(state=last)


def kmeans_labels(X, w, k, rng, *, max_iter=100):
    """Labels of one k-means run: seeds, then turns. w is None for all ones."""
    w = np.ones(X.shape[0], X.dtype) if w is None else w
    m, variance = spread(X, w)
    C = arrays.to_numpy(seed(X, w, k, rng)[0]).astype(np.float64)
    return lloyd(X, w, C, max_iter=max_iter, tol=1e-4 * variance, m=m).state.labels


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
    return -model._score(X, w)


@dataclass(eq=False, repr=False)
class KMeans(PrefixedOutput, Transformer, Clusterer, Estimator):
    """K-means clustering; the module text gives the method.

    Takes arrays, CSR matrices, tensors on any device, and tables on disk larger than
    memory (the path of a Parquet file). X is never changed.

    Parameters
    ----------
    n_clusters : int, default 8
        k, the number of clusters.
    init : "k-means++", "random", array of shape (k, d) or function
        Where the centres start. A function is called as
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
        "elkan" always keeps the bounds of eq. (4); "lloyd" keeps them when k is large
        enough for them to pay. The answer is the same.
    warm_start : bool
        Whether `fit` goes on from the centres of the fit before.

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
    init: Literal["k-means++", "random"] | Callable | Matrix | list | tuple = (
        "k-means++"
    )
    n_init: Literal["auto"] | Count = "auto"
    max_iter: Count = 300
    tol: NonNegative = 1e-4
    verbose: Verbosity = 0
    random_state: Seed = None
    copy_x: Flag = True
    algorithm: Literal["lloyd", "elkan"] = "lloyd"
    warm_start: Flag = False

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
        if X.shape[0] < self.n_clusters:
            raise ValueError(
                f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}."
            )
        rng = rng_from(self.random_state)
        m, variance = spread(X, w)
        n_init = self._starts()

        def run(i, task):
            C = self._start(X, w, rng)
            limits = {"max_iter": self.max_iter, "tol": self.tol * variance}
            return lloyd(X, w, C, m=m, keep=self._keeps(), task=task, **limits)

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
        self._warn_few(result.state.filled)
        return self

    def predict(self, X):
        """The nearest centre of each row."""
        X = self._ready(X, **CHECKS)
        return nearest(X, self._centers())

    def fit_predict(self, X, y=None, sample_weight=None):
        """`fit`, then the labels of the same rows."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def transform(self, X):
        """The distance from each row to each centre."""
        X = self._ready(X, **CHECKS)
        C = self._centers()
        m = origin(C, X)

        return rows.rows(X).map(lambda X: distances(X, C, m))

    def fit_transform(self, X, y=None, sample_weight=None):
        """`fit`, then `transform` of the same rows."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self, X, y=None, sample_weight=None):
        """Minus J of eq. (1), each row at its nearest centre."""
        X = self._ready(X, **CHECKS)
        return self._score(X, weights(X, check_weights(sample_weight, X)))

    def _score(self, X, w):
        C = self._centers()
        turns, m = turns_over(X, w, len(C), keep=False), origin(C, X)
        turns.turn(C, C, m)
        return -turns.inertia(C, m)

    def _checked(self, X, sample_weight):
        X, w = self._begin(X, sample_weight=sample_weight, **CHECKS)
        return X, weights(X, w)

    def _centers(self):
        return arrays.to_numpy(self.cluster_centers_).astype(np.float64)

    def _keeps(self):
        return self.algorithm == "elkan" or self.n_clusters >= 8

    def _starts(self):
        """How many starts, and a word if the parameters disagree about it."""
        if self.warm_start and hasattr(self, "cluster_centers_"):
            return 1
        chance = callable(self.init) or isinstance(self.init, str)
        if self.n_init == "auto":
            return 10 if chance and self.init != "k-means++" else 1
        if not chance and self.n_init != 1:
            warnings.warn(
                "init gives the centres, so one start is made instead of "
                f"n_init={self.n_init}.",
                RuntimeWarning,
                stacklevel=3,
            )
            return 1
        return self.n_init

    def _start(self, X, w, rng):
        """Centres to start from."""
        k, d = self.n_clusters, X.shape[1]
        C: Any = self.init
        if self.warm_start and hasattr(self, "cluster_centers_"):
            C = self.cluster_centers_
        elif isinstance(self.init, str):
            C, _ = seed(X, w, k, rng, method=self.init)
        elif callable(self.init):
            state = np.random.RandomState(seed_int(rng))
            C = self.init(X, k, random_state=state)
        C = C.toarray() if sparse.issparse(C) else C
        C = np.array(arrays.to_numpy(C), dtype=np.float64)
        if C.shape != (k, d):
            raise ValueError(
                f"The initial centers have shape {C.shape}, but {k} clusters of rows "
                f"with {d} columns need {(k, d)}."
            )
        if not arrays.finite(C):
            raise ValueError("The initial centers contain NaN or infinity.")
        return C

    def _fitted(self, state, X):
        return {"cluster_centers_": stored(state.centers, X)}

    @property
    def _n_features_out(self):
        return self.cluster_centers_.shape[0]

    def _warn_few(self, found):
        if found < self.n_clusters:
            warnings.warn(
                f"Only {found} of {self.n_clusters} clusters have rows. Possibly "
                "X has fewer distinct rows than n_clusters.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


CHECKS = {"accept_sparse": "csr", "order": "C", "accept_large_sparse": False}


def weights(X, w):
    """Row weights in the library of X; ones for None."""
    if w is not None:
        return w
    if arrays.is_foreign(X):
        xp = arrays.namespace(X)
        return xp.ones(X.shape[0], dtype=X.dtype, device=arrays.device(X))
    return np.ones(X.shape[0], X.dtype)
