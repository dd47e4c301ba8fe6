"""Missing values filled in from the cluster that a row belongs to.

With B_if = 1 where x_if is known and else 0, k-means on what is known alone,

    J(C, z) = sum_i w_i sum_f B_if (x_if - c_{z_i f})^2                         (1)

by turns: the best z_i is the nearest centre over the columns known of row i; the best
c_jf is the mean of the known x_if of the group. Neither raises J. A missing x_if then
becomes c_{z_i f}. Filling in first and running k-means after would pull every group
towards the values filled in; (1) never looks at them.

What cannot be told: a column that no row of a group knows takes the mean of the column;
a row of which nothing is known is in no group and gets the means of the columns. A
column that nobody knows is refused. Known entries stay as they are.

Time O(n k d) a turn. Memory O(n d) for a copy of X with zeros and for B.

Shapes    X, B (n, d)   C (k, d)   z, w (n,)
Refs      [Chi2016]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base import Estimator, Transformer
from ..core import rows
from ..core.iterate import best_of, iterate
from ..core.progress import SILENT
from ..core.random import rng_from
from ..params import Count, NonNegative, Verbosity
from ..typing import Seed
from .initialization import check_scale, sample_initial_centers


class ImputerState(NamedTuple):
    """What one turn hands to the next."""

    centers: np.ndarray  # C
    labels: Any  # z of the turn before, -1 where nothing is known
    objective: float  # J at those centres and labels
    moved: int = -1


def observed_squared_distances(X, B, C):
    """sum over known f of (x_if - c_jf)^2, (n, k); X holds 0 where nothing is known."""
    D = (X * X).sum(axis=1)[:, None] - 2 * (X @ C.T) + B @ (C * C).T
    return np.maximum(D, 0.0)


def nearest_observed_center(X, B, C):
    """The nearest centre over what is known, and the gap to it from differences."""

    def block(x, o):
        z = observed_squared_distances(x, o, C).argmin(axis=1)
        gap = (x - C[z]) * o
        return np.where(o.any(axis=1), z, -1), (gap * gap).sum(axis=1)

    return rows.Rows(X, B).map(block)


def observed_means(X, B, w, z, C, mean):
    """Means of what is known of each group; the column's mean where nothing is."""
    new = np.empty_like(C)
    for j in range(len(C)):
        mine = np.flatnonzero(z == j)
        mass = w[mine] @ B[mine]
        sums = w[mine] @ X[mine]
        if not mass.any():  # an empty group stays where it is
            new[j] = C[j]
            continue
        new[j] = np.divide(sums, mass, out=mean.copy(), where=mass > 0)
    return new


def imputer_iterations(X, B, w, C, mean, *, max_iter, tol, task=SILENT):
    """Take turns on eq. (1) until no label changes or J hardly falls."""

    def turn(state):
        z, own = nearest_observed_center(X, B, state.centers)
        old = state.labels
        moved = len(z) if old is None else int(np.count_nonzero(z != old))
        new = (
            observed_means(X, B, w, z, state.centers, mean) if moved else state.centers
        )
        return ImputerState(new, z, float(w @ own), moved)

    def settled(old, new):
        fall = (old.objective - new.objective) / max(new.objective, 1e-300)
        return 0.0 if new.moved == 0 else fall

    how: dict = {"change": settled, "watch": ("moved",), "task": task}
    run = iterate(
        turn, ImputerState(C, None, np.inf), max_iter=max_iter, tol=tol, **how
    )
    z, own = nearest_observed_center(X, B, run.state.centers)
    last = run.state._replace(labels=z, objective=float(w @ own))
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
        Most turns of one start.
    tol : float
        Stop when J falls by no more than this share of itself.
    verbose : int
        1 shows a progress bar.
    random_state : None, int, RandomState or Generator
        Where chance comes from.

    Attributes
    ----------
    cluster_centers_ : array of shape (k, d)
        C.
    means_ : array of shape (d,)
        Means of the known entries of the columns.
    labels_ : array of shape (n,)
        z, -1 for a row of which nothing is known.
    inertia_ : float
        J of eq. (1).
    n_iter_, history_, converged_, interrupted_
        How the best start went; "objective" and "moved" in each turn.

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

    def fit(self, X, y=None, sample_weight=None):
        """Find the clusters of the known entries.

        Parameters
        ----------
        X : array of shape (n, d)
            NaN marks what is missing.
        y : None
            Not used.
        sample_weight : array of length n or None
            Row weights; k is the same as k equal rows.
        """
        X, w = self._begin(X, sample_weight=sample_weight, **NAN_CHECKS)
        w = np.ones(len(X)) if w is None else w.astype(np.float64)
        kind, X = X.dtype, X.astype(np.float64)
        check_scale(X)
        B = (~np.isnan(X)).astype(np.float64)
        X = np.where(B > 0, X, 0.0)
        mass = w @ B
        if not mass.all():
            column = int(np.argmin(mass))
            name = getattr(self, "feature_names_in_", range(X.shape[1]))[column]
            raise ValueError(f"no row knows column {name!r}: drop it.")
        mean = (w @ X) / mass
        k, rng = min(self.n_clusters, len(X)), rng_from(self.random_state)
        X -= mean * B  # a large common offset costs no digits
        zero, how = np.zeros_like(mean), {"max_iter": self.max_iter, "tol": self.tol}

        def run(i, task):
            C = sample_initial_centers(X, w, k, rng)[
                0
            ]  # what is missing counts as the mean here
            return imputer_iterations(X, B, w, C, zero, task=task, **how)

        result = self._drive(
            lambda task: best_of(self.n_init, run, task=task),
            total=self.n_init if self.n_init > 1 else self.max_iter,
            X=X,
        )
        self.means_ = mean.astype(kind)
        self.cluster_centers_ = (result.state.centers + mean).astype(kind)
        self.labels_, self.inertia_ = result.state.labels, result.state.objective
        return self

    def transform(self, X):
        """X with every missing entry filled in; what is known stays."""
        X = self._ready(X, **NAN_CHECKS)
        fill = np.concatenate([self.cluster_centers_, self.means_[None]])
        return np.where(np.isnan(X), fill[self._labels(X)].astype(X.dtype), X)

    def predict(self, X):
        """The cluster of each row by what is known of it; -1 if nothing is."""
        return self._labels(self._ready(X, **NAN_CHECKS))

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
