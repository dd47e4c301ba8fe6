"""Imputation by clusters: a missing value becomes the mean of its row's cluster.

With B_if = 1 where x_if is observed and else 0, k-means on the observed values alone,

    J(C, z) = sum_i w_i sum_f B_if (x_if - c_{z_i f})^2                         (1)

by alternating: the best z_i is the nearest centre over the observed columns of row i;
the best c_jf is the mean of the observed x_if of the cluster. Neither raises J. A
missing x_if then becomes c_{z_i f}. Filling in first and running k-means afterwards
would pull every cluster towards the values filled in; (1) does not use them.

A column without any observed value in a cluster takes the mean of the column; a row
without any is in no cluster and gets the means of the columns. A column without any
observed value is refused. Observed entries stay as they are.

Time O(n k d) an iteration. Memory O(n d) for a copy of X with zeros and for B.

Shapes    X, B (n, d)   C (k, d)   z, w (n,)
Refs      [Chi2016]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base import Estimator, Transformer
from ..core.arrays import rows
from ..core.drivers.iterate import iterate
from ..core.drivers.progress import SILENT
from ..core.random import make_rng
from ..params import Count, NonNegative, Verbosity
from ..typing import Seed
from .centers.initialization import (
    check_scale,
    sample_initial_centers,
    warn_empty_clusters,
)
from .centers.kmedians import relative_fall


class ImputerState(NamedTuple):
    """State carried from one iteration to the next."""

    centers: np.ndarray  # C
    labels: Any  # z, nearest to the previous centres; -1 if nothing is observed
    objective: float  # J at those centres and labels
    moved: int = -1


def observed_squared_distances(X, B, C):
    """sum over observed f of (x_if - c_jf)^2, (n, k); X holds 0 elsewhere."""
    D = (X * X).sum(axis=1)[:, None] - 2 * (X @ C.T) + B @ (C * C).T
    return np.maximum(D, 0.0)


def nearest_observed_center(X, B, C):
    """The nearest centre over observed columns, and the squared distance to it."""

    def block(x, o):
        z = observed_squared_distances(x, o, C).argmin(axis=1)
        gap = (x - C[z]) * o
        return np.where(o.any(axis=1), z, -1), (gap * gap).sum(axis=1)

    return rows.Rows(X, B).map(block)


def observed_means(X, B, w, z, C, mean):
    """Means of the observed values of each cluster; the column's mean elsewhere."""
    new = np.empty_like(C)
    for j in range(len(C)):
        members = np.flatnonzero(z == j)
        mass = w[members] @ B[members]
        sums = w[members] @ X[members]
        if not mass.any():  # an empty cluster keeps its centre
            new[j] = C[j]
            continue
        new[j] = np.divide(sums, mass, out=mean.copy(), where=mass > 0)
    return new


def imputer_iterations(X, B, w, C, mean, *, max_iter, tol, task=SILENT):
    """Iterate on eq. (1) until no label changes or J hardly falls."""

    def step(state):
        z, distance = nearest_observed_center(X, B, state.centers)
        old = state.labels
        moved = len(z) if old is None else int(np.count_nonzero(z != old))
        centers = state.centers
        if moved:
            centers = observed_means(X, B, w, z, centers, mean)
        return ImputerState(centers, z, float(w @ distance), moved)

    run = iterate(
        step,
        ImputerState(C, None, np.inf),
        max_iter=max_iter,
        tol=tol,
        change=relative_fall,
        watch=("moved",),
        task=task,
    )
    z, distance = nearest_observed_center(X, B, run.state.centers)
    last = run.state._replace(labels=z, objective=float(w @ distance))
    return run._replace(state=last)


@dataclass(eq=False, repr=False)
class ClusterImputer(Transformer, Estimator):
    """Fills missing values (NaN) from cluster centres; see the module text.

    Parameters
    ----------
    n_clusters : int, default 8
        k, the number of clusters; at most the number of rows.
    n_init : int
        Starts, of which the best is kept.
    max_iter : int
        Most iterations of one start.
    tol : float
        Stop when J falls by no more than this share of itself.
    verbose : int
        1 shows a progress bar.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.

    Attributes
    ----------
    cluster_centers_ : array of shape (k, d)
        C.
    means_ : array of shape (d,)
        Means of the observed entries of the columns.
    labels_ : array of shape (n,)
        z, -1 for a row without any observed value.
    inertia_ : float
        J of eq. (1).
    n_iter_, history_, converged_, interrupted_
        How the best start went; "objective" and "moved" in each iteration.

    Examples
    --------
    >>> from pansophy.cluster import ClusterImputer
    >>> nan = float("nan")
    >>> X = [[0, 1], [0, 3], [0, nan], [9, 20], [9, nan]]
    >>> ClusterImputer(2, random_state=0).fit_transform(X)[:, 1].tolist()
    [1.0, 3.0, 2.0, 20.0, 20.0]
    """

    n_clusters: Count = 8
    _: KW_ONLY
    n_init: Count = 3
    max_iter: Count = 300
    tol: NonNegative = 0.0
    verbose: Verbosity = 0
    random_state: Seed = None

    _tensors = False

    def fit(self, X, y=None, sample_weight=None):
        """Find the clusters of the observed entries.

        Parameters
        ----------
        X : array of shape (n, d)
            NaN marks what is missing.
        y : None
            Not used.
        sample_weight : array of length n or None
            Row weights; k is the same as k equal rows.
        """
        X, w = self._check_training_data(X, sample_weight=sample_weight, **NAN_CHECKS)
        w = np.ones(len(X)) if w is None else w.astype(np.float64)
        kind = X.dtype
        X = X.astype(np.float64)
        check_scale(self, X)
        B = (~np.isnan(X)).astype(np.float64)
        X = np.where(B > 0, X, 0.0)
        mass = w @ B
        if not mass.all():
            column = int(np.argmin(mass))
            name = getattr(self, "feature_names_in_", range(X.shape[1]))[column]
            raise ValueError(f"column {name!r} has no observed value: drop it.")
        mean = (w @ X) / mass
        k = min(self.n_clusters, len(X))
        rng = make_rng(self.random_state)
        X -= mean * B  # a large common offset costs no digits
        zero = np.zeros_like(mean)

        def one_start(i, task):
            # a missing value counts as the mean of its column in the seeds
            C = sample_initial_centers(X, w, k, rng)[0]
            return imputer_iterations(
                X, B, w, C, zero, max_iter=self.max_iter, tol=self.tol, task=task
            )

        result = self._run_driver(
            one_start,
            n_init=self.n_init,
            total=self.max_iter,
            X=X,
        )
        self.means_ = mean.astype(kind)
        self.cluster_centers_ = (result.state.centers + mean).astype(kind)
        self.labels_ = result.state.labels
        self.inertia_ = result.state.objective
        filled = np.unique(self.labels_)
        warn_empty_clusters(len(filled[filled >= 0]), k)
        return self

    def transform(self, X):
        """X with every missing entry filled in; observed ones stay."""
        X = self._check_new_data(X, **NAN_CHECKS)
        fill = np.concatenate([self.cluster_centers_, self.means_[None]])
        return np.where(np.isnan(X), fill[self._labels(X)].astype(X.dtype), X)

    def predict(self, X):
        """The cluster of each row by its observed values; -1 if there are none."""
        return self._labels(self._check_new_data(X, **NAN_CHECKS))

    def _labels(self, X):
        B = (~np.isnan(X)).astype(np.float64)
        mean = self.means_.astype(np.float64)
        V = np.where(B > 0, X - mean, 0.0)
        return nearest_observed_center(V, B, self.cluster_centers_ - mean)[0]

    def get_feature_names_out(self, input_features=None):
        """The names of the columns of X."""
        from sklearn.utils.validation import _check_feature_names_in

        return _check_feature_names_in(self, input_features)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


NAN_CHECKS = {"order": "C", "ensure_all_finite": "allow-nan"}
