"""K-medians: k clusters around medians, with absolute instead of squared distances.

    J(C, z) = sum_i w_i |x_i - c_{z_i}|_1                                       (1)

by alternating as in k-means: with C fixed the best z_i is the nearest centre under
|.|_1; with z fixed (1) separates into columns, and a number with the least weighted sum
of absolute differences is a weighted median,

    c_jf with weight of {x_if < c_jf} <= half and of {x_if > c_jf} <= half      (2)

(the middle of the interval where there is one). Neither half raises J. A centre moves
no further for an outlier however far it lies. An empty cluster takes the row farthest
from its centre.

Time O(n k d + n d log n) an iteration. Memory O(n) beyond X and one sorted cluster for
each thread.

Shapes    X (n, d)   C (k, d)   z, w (n,)
Refs      [Bradley1997]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ...base import Clusterer, Estimator, PrefixedOutput, Transformer
from ...core.arrays import rows
from ...core.arrays.weighted import weighted_median
from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT
from ...core.loops import threads
from ...core.random import make_rng
from ...distances import manhattan
from ...params import Count, NonNegative, Verbosity
from ...typing import NumericArray, Seed
from .initialization import (
    check_enough_rows,
    check_scale,
    seeds_or_given,
    warn_empty_clusters,
)


class KMediansState(NamedTuple):
    """State carried from one iteration to the next."""

    centers: np.ndarray  # C
    labels: Any  # z, nearest to the previous centres
    objective: float  # J at those centres and labels
    moved: int = -1  # labels that changed


def nearest_l1_center(X, C):
    """The nearest centre of each row under |.|_1, and its distance."""

    def block(x):
        D = manhattan(x, C)
        z = D.argmin(axis=1)
        return z, D[np.arange(len(z)), z]

    return rows.Rows(X).map(block)


def cluster_medians(X, w, z, C, distance):
    """The medians of the clusters; an empty one takes the farthest row."""

    def median_of(j):
        members = np.flatnonzero((z == j) & (w > 0))
        return weighted_median(X[members], w[members]) if len(members) else None

    results = list(threads.run_tasks((lambda j=j: median_of(j)) for j in range(len(C))))
    far = np.where(w > 0, distance, -1.0)
    C = C.copy()
    for j, c in enumerate(results):
        if c is None:
            c = X[int(np.argmax(far))]
            far = np.minimum(far, np.abs(X - c).sum(axis=1))
        C[j] = c
    return C


def kmedians_iterations(X, w, C, *, max_iter=300, tol=0.0, task=SILENT) -> Result:
    """Iterate from centres C until no label changes or J hardly falls."""

    def step(state):
        z, distance = nearest_l1_center(X, state.centers)
        old = state.labels
        moved = len(z) if old is None else int(np.count_nonzero(z != old))
        centers = state.centers
        if moved:
            centers = cluster_medians(X, w, z, centers, distance)
        return KMediansState(centers, z, float(w.astype(np.float64) @ distance), moved)

    run = iterate(
        step,
        KMediansState(C, None, np.inf),
        max_iter=max_iter,
        tol=tol,
        change=relative_fall,
        watch=("moved",),
        task=task,
    )
    z, distance = nearest_l1_center(X, run.state.centers)
    J = float(w.astype(np.float64) @ distance)
    return run._replace(state=run.state._replace(labels=z, objective=J))


def relative_fall(old, new):
    """By what share J fell; 0 if no label changed."""
    fall = (old.objective - new.objective) / max(new.objective, 1e-300)
    return 0.0 if new.moved == 0 else fall


@dataclass(eq=False, repr=False)
class KMedians(PrefixedOutput, Transformer, Clusterer, Estimator):
    """K-medians clustering; the module text gives the method.

    Parameters
    ----------
    n_clusters : int, default 8
        k, the number of clusters.
    init : "k-means++", "random" or array of shape (k, d)
        Where the centres start.
    n_init : int
        Starts, of which the best is kept; one if `init` gives the centres.
    max_iter : int
        Most iterations of one start.
    tol : float
        Stop when J falls by no more than this share of itself; 0 goes on until no
        label changes.
    verbose : int
        1 shows a progress bar.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.

    Attributes
    ----------
    cluster_centers_ : array of shape (k, d)
        C.
    labels_ : array of shape (n,)
        z, nearest to `cluster_centers_`.
    inertia_ : float
        J of eq. (1).
    n_iter_, history_, converged_, interrupted_
        How the best start went; "objective" and "moved" in each iteration.

    Examples
    --------
    >>> from pansophy.cluster import KMedians
    >>> X = [[1.0], [2.0], [99.0], [201.0], [202.0], [203.0]]
    >>> KMedians(2, init=[[1.0], [203.0]]).fit(X).cluster_centers_.ravel().tolist()
    [2.0, 202.0]
    """

    n_clusters: Count = 8
    _: KW_ONLY
    init: Literal["k-means++", "random"] | NumericArray = "k-means++"
    n_init: Count = 1
    max_iter: Count = 300
    tol: NonNegative = 0.0
    verbose: Verbosity = 0
    random_state: Seed = None

    _tensors = False

    def fit(self, X, y=None, sample_weight=None):
        """Find the centres.

        Parameters
        ----------
        X : array of shape (n, d)
        y : None
            Not used.
        sample_weight : array of length n or None
            Row weights; k is the same as k equal rows.
        """
        X, w = self._check_training_data(X, sample_weight=sample_weight, order="C")
        check_enough_rows(X, self.n_clusters)
        w = np.ones(len(X), X.dtype) if w is None else w
        check_scale(self, X)
        rng = make_rng(self.random_state)
        n_init = self.n_init if isinstance(self.init, str) else 1

        def one_start(i, task):
            C = seeds_or_given(self.init, X, w, self.n_clusters, rng)
            return kmedians_iterations(
                X, w, C, max_iter=self.max_iter, tol=self.tol, task=task
            )

        result = self._run_driver(
            one_start,
            n_init=n_init,
            total=self.max_iter,
            X=X,
        )
        state = result.state
        self.cluster_centers_ = state.centers
        self.labels_ = state.labels
        self.inertia_ = state.objective
        self._n_features_out = self.n_clusters
        warn_empty_clusters(len(np.unique(self.labels_)), self.n_clusters)
        return self

    def fit_predict(self, X, y=None, sample_weight=None):
        """`fit`, then the labels of the same rows."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X):
        """The nearest centre of each row."""
        return nearest_l1_center(
            self._check_new_data(X, order="C"), self.cluster_centers_
        )[0]

    def transform(self, X):
        """The distance |.|_1 from each row to each centre."""
        return manhattan(self._check_new_data(X, order="C"), self.cluster_centers_)
