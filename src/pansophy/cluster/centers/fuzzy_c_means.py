"""Fuzzy c-means: every row belongs to every cluster, to degrees that sum to 1.

    J(C, U) = sum_i w_i sum_j u_ij^m |x_i - c_j|^2,   sum_j u_ij = 1            (1)

with m > 1; the larger, the fuzzier. Alternate: with C fixed and D_ij = |x_i - c_j|^2,

    u_ij = D_ij^(-1/(m-1)) / sum_l D_il^(-1/(m-1))                              (2)

(a row equal to some centres belongs to those alone, in equal parts), which leaves

    J(C) = sum_i w_i (sum_j D_ij^(-1/(m-1)))^(1-m)                              (3)

and with U fixed c_j is the mean of the rows weighted by w_i u_ij^m. Neither half
raises J. As m falls to 1 the degrees become 0 and 1, and (1) becomes k-means.

An iteration needs of the rows only sums, so no n-by-k array is kept until the end: time
O(n k d) an iteration, memory one block beyond X, then O(n k) for the memberships.

Shapes    X (n, d)   C (k, d)   U, D (n, k)   w (n,)
Refs      [Bezdek1981]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np

from ...base import Clusterer, Estimator, PrefixedOutput, Transformer
from ...core.arrays import rows
from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT
from ...core.random import make_rng
from ...distances import euclidean, squared_euclidean
from ...params import Count, NonNegative, Verbosity, number_rule
from ...typing import NumericArray, Seed
from .initialization import check_enough_rows, check_scale, seeds_or_given

AboveOne = Annotated[float, number_rule("a number above 1", 1, open_low=True)]


class FuzzyState(NamedTuple):
    """State carried from one iteration to the next."""

    centers: np.ndarray  # C
    objective: float  # J at the previous centres
    shift: float = np.inf  # sum_j |c_j - c_j before|^2


def fuzzy_memberships(X, C, m):
    """U of eq. (2), and each row's term of eq. (3).

    Distances are divided by the smallest first: no power overflows.
    """
    D = squared_euclidean(X, C)
    least = D.min(axis=1)
    on = least == 0
    ratio = D / np.where(on, 1.0, least)[:, None]
    with np.errstate(divide="ignore"):
        U = ratio ** (-1.0 / (m - 1.0))
    U[on] = D[on] == 0
    total = U.sum(axis=1)
    cost = np.where(on, 0.0, least * total ** (1.0 - m))
    return (U / total[:, None]).astype(X.dtype, copy=False), cost


def fuzzy_iterations(X, w, C, m, *, max_iter=300, tol=0.0, task=SILENT) -> Result:
    """Iterate from centres C until their squared shift is at most tol."""
    R = rows.Rows(X, w)

    def stats(x, w, C):
        U, cost = fuzzy_memberships(x, C, m)
        V = (U**m) * w[:, None]
        V = V.astype(np.float64)
        return V.T @ x, V.sum(axis=0), float(w.astype(np.float64) @ cost)

    def step(state):
        C = state.centers
        S, M, J = R.sum(lambda x, w: stats(x, w, C))
        M = M[:, None]
        new = np.divide(S, M, out=C.astype(np.float64), where=M > 0).astype(C.dtype)
        return FuzzyState(new, J, float(((new - C) ** 2).sum()))

    run = iterate(
        step,
        FuzzyState(C, np.inf),
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.shift,
        watch=("shift",),
        task=task,
    )
    C = run.state.centers
    J = R.sum(lambda x, w: stats(x, w, C)[2])
    return run._replace(state=run.state._replace(objective=float(J)))


@dataclass(eq=False, repr=False)
class FuzzyCMeans(PrefixedOutput, Transformer, Clusterer, Estimator):
    """Fuzzy c-means clustering; the module text gives the method.

    Parameters
    ----------
    n_clusters : int, default 8
        k, the number of clusters.
    m : float above 1, default 2
        How fuzzy.
    init : "k-means++", "random" or array of shape (k, d)
        Where the centres start.
    n_init : int
        Starts, of which the best is kept; one if `init` gives the centres.
    max_iter : int
        Most iterations of one start.
    tol : float
        Stop when the squared shift of the centres is at most this times the mean
        variance of the columns.
    verbose : int
        1 shows a progress bar.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.

    Attributes
    ----------
    cluster_centers_ : array of shape (k, d)
        C.
    memberships_ : array of shape (n, k)
        U; rows sum to 1.
    labels_ : array of shape (n,)
        The largest entry of each row of U.
    inertia_ : float
        J of eq. (1).
    partition_coefficient_ : float
        The mean of sum_j u_ij^2: 1 for hard clusters, 1/k if all memberships are equal.
    n_iter_, history_, converged_, interrupted_
        How the best start went; "objective" and "shift" in each iteration.

    Examples
    --------
    >>> from pansophy.cluster import FuzzyCMeans
    >>> X = [[0.0], [1.0], [5.0], [9.0], [10.0]]
    >>> model = FuzzyCMeans(2, init=[[0.0], [10.0]]).fit(X)
    >>> model.memberships_[2].round(3).tolist()
    [0.5, 0.5]
    """

    n_clusters: Count = 8
    _: KW_ONLY
    m: AboveOne = 2.0
    init: Literal["k-means++", "random"] | NumericArray = "k-means++"
    n_init: Count = 1
    max_iter: Count = 1000
    tol: NonNegative = 1e-8
    verbose: Verbosity = 0
    random_state: Seed = None

    _tensors = False

    def fit(self, X, y=None, sample_weight=None):
        """Find the centres and the memberships.

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
        centered = X - np.average(X, axis=0, weights=w)
        variance = float(np.average((centered * centered).mean(axis=1), weights=w))
        rng = make_rng(self.random_state)
        n_init = self.n_init if isinstance(self.init, str) else 1

        def one_start(i, task):
            C = seeds_or_given(self.init, X, w, self.n_clusters, rng)
            return fuzzy_iterations(
                X,
                w,
                C,
                self.m,
                max_iter=self.max_iter,
                tol=self.tol * variance,
                task=task,
            )

        result = self._run_driver(
            one_start,
            n_init=n_init,
            total=self.max_iter,
            X=X,
        )
        self.cluster_centers_ = result.state.centers
        self.inertia_ = result.state.objective
        self.memberships_ = U = self._memberships(X)
        self.labels_ = U.argmax(axis=1)
        self.partition_coefficient_ = float(w @ (U * U).sum(axis=1) / w.sum())
        self._n_features_out = self.n_clusters
        return self

    def fit_predict(self, X, y=None, sample_weight=None):
        """`fit`, then the labels of the same rows."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict_proba(self, X):
        """The memberships of eq. (2) of each row."""
        return self._memberships(self._check_new_data(X, order="C"))

    def predict(self, X):
        """The cluster to which each row belongs most."""
        return self.predict_proba(X).argmax(axis=1)

    def transform(self, X):
        """The distance from each row to each centre."""
        return euclidean(self._check_new_data(X, order="C"), self.cluster_centers_)

    def _memberships(self, X):
        block = lambda x: fuzzy_memberships(x, self.cluster_centers_, self.m)[0]
        return rows.Rows(X).map(block)
