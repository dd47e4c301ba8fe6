"""Trimmed k-means: k-means that leaves out the rows that fit worst.

Minimise over centres C, labels z and kept weights v

    J(C, z, v) = sum_i v_i |x_i - c_{z_i}|^2,
    0 <= v_i <= w_i,   sum_i v_i = (1 - a) sum_i w_i                            (1)

where a is the share to trim. Iterations as in `kmeans.py`, in three parts that each
minimise (1) over one of its arguments: z_i is the nearest centre; v keeps the rows
nearest to their centres until the share 1 - a is reached (the last ones in part, so
that a weight of 3 is three rows); c_j is the mean of its kept rows. So J never rises.
With a = 0 it is k-means. In k-means one far outlier can move a mean arbitrarily far;
here it cannot, as long as the share of outliers is below a.

Time O(n k d + n log n) an iteration. Memory O(n) beyond X.

Shapes    X (n, d)   C (k, d)   z, v, w (n,)
Refs      [CuestaAlbertos1997]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ...base import Clusterer, Estimator, PrefixedOutput, Transformer
from ...core.arrays.weighted import tie_tolerance
from ...core.drivers.iterate import iterate
from ...core.drivers.progress import SILENT
from ...core.random import make_rng
from ...params import Count, Fraction, NonNegative, Verbosity
from ...typing import Seed
from .initialization import (
    Init,
    check_enough_rows,
    check_scale,
    initial_centers,
    number_of_starts,
    warn_empty_clusters,
    weights_like,
)
from .lloyd_iteration import center_distances, nearest_centers, row_mean_and_variance


class TrimmedState(NamedTuple):
    """State carried from one iteration to the next."""

    centers: np.ndarray  # C
    labels: Any  # z
    objective: float  # J, eq. (1)
    kept: Any = None  # v
    shift: float = np.inf  # squared shift of the centres


def nearest_and_squared_distance(X, C):
    """The nearest centre of each row and the squared distance to it."""
    z = nearest_centers(X, C)
    gap = X - C[z]
    return z, np.einsum("ij,ij->i", gap, gap)


def kept_weights(D2, w, share):
    """v of eq. (1): the nearest rows up to (1 - a) of the weight.

    Rows tied at the limit (up to rounding) are kept in equal part, so that neither
    their order nor writing a row twice matters.
    """
    order = np.argsort(D2, kind="stable")
    run = np.cumsum(w[order])
    total = w.sum()
    target = (1 - share) * total
    at = np.searchsorted(run, target - tie_tolerance(total, len(w)))
    at = min(at, len(run) - 1)
    t = D2[order[at]]
    inside, tied = t * (1 - 1e-9) > D2, np.abs(D2 - t) <= t * 1e-9
    part = (target - w[inside].sum()) / max(w[tied].sum(), 1e-300)
    return w * np.where(inside, 1.0, np.where(tied, np.clip(part, 0, 1), 0.0))


def kept_means(X, v, z, C):
    """Means of the kept rows of each cluster.

    A cluster without kept rows takes, as in k-means, the kept row farthest from its
    centre; several, one after another, each counting the rows placed before it as
    centres. Where all kept rows are centres, it keeps its own.
    """
    k, d = C.shape
    mass = np.bincount(z, v, k)
    sums = np.stack([np.bincount(z, v * X[:, f], k) for f in range(d)], axis=1)
    means = np.divide(sums, mass[:, None], out=C.copy(), where=mass[:, None] > 0)
    empty = np.flatnonzero(mass == 0)
    if len(empty):
        gaps = np.where(v > 0, np.sum((X - means[z]) ** 2, axis=1), 0.0)
        for j in empty:
            farthest = np.argmax(gaps)
            if gaps[farthest] <= 0:
                break
            means[j] = X[farthest]
            gaps = np.minimum(gaps, np.sum((X - means[j]) ** 2, axis=1))
    return means


def trimmed_lloyd(X, w, C, share, *, max_iter=300, tol=0.0, task=SILENT):
    """Iterate on eq. (1) from centres C until they converge."""

    def step(state):
        z, D2 = nearest_and_squared_distance(X, state.centers)
        v = kept_weights(D2, w, share)
        new = kept_means(X, v, z, state.centers)
        shift = float(np.sum((new - state.centers) ** 2))
        return TrimmedState(new, z, float(v @ D2), v, shift)

    run = iterate(
        step,
        TrimmedState(C, None, np.inf),
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.shift,
        watch=("shift",),
        task=task,
    )
    C = run.state.centers
    z, D2 = nearest_and_squared_distance(X, C)
    v = kept_weights(D2, w, share)
    return run._replace(state=TrimmedState(C, z, float(v @ D2), v, run.state.shift))


@dataclass(eq=False, repr=False)
class TrimmedKMeans(PrefixedOutput, Transformer, Clusterer, Estimator):
    """K-means that sets outliers aside; the module text gives the method.

    Parameters
    ----------
    n_clusters : int, default 8
        k.
    trim : float
        a, the share of the weight to leave out.
    init : "k-means++", "random", "farthest", array of shape (k, d) or function
        Where the centres start, as in `KMeans`. Outliers attract k-means++, so
        "random" with several starts is the default.
    n_init : "auto" or int
        Starts, of which the best is kept; "auto" is 10, or 1 for given centres.
    max_iter, tol
        As in `KMeans`.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    cluster_centers_ : array of shape (k, d)
    labels_ : array of shape (n,)
        The nearest centre, or -1 for a row farther than `radius_` from all.
    radius_ : float
        The largest distance of a kept row from its centre.
    inertia_ : float
        J of eq. (1).
    n_iter_, history_
        Turns of the best start; "objective" and "shift" of each.

    Examples
    --------
    >>> from pansophy.cluster import TrimmedKMeans
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0], [900.0]]
    >>> model = TrimmedKMeans(2, trim=1 / 7, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.ravel().round(6).tolist())
    [1.0, 11.0]
    >>> int(model.labels_[-1])
    -1
    """

    n_clusters: Count = 8
    _: KW_ONLY
    trim: Fraction = 0.1
    init: Init = "random"
    n_init: Literal["auto"] | Count = "auto"
    max_iter: Count = 300
    tol: NonNegative = 1e-4
    random_state: Seed = None
    verbose: Verbosity = 0

    _tensors = False

    def fit(self, X, y=None, sample_weight=None):
        """Find the centres of the rows that belong somewhere."""
        X, w = self._check_training_data(X, sample_weight=sample_weight)
        w = weights_like(X, w).astype(np.float64)
        check_enough_rows(X, self.n_clusters)
        if self.trim == 1:
            raise ValueError("trim=1 leaves no row to cluster; take less.")
        check_scale(self, X)
        rng = make_rng(self.random_state)
        tol = self.tol * row_mean_and_variance(X, w.astype(X.dtype))[1]
        n_init = number_of_starts(self.init, self.n_init)

        def one_start(i, task):
            C = initial_centers(X, w.astype(X.dtype), self.n_clusters, rng, self.init)
            return trimmed_lloyd(
                X, w, C, self.trim, max_iter=self.max_iter, tol=tol, task=task
            )

        result = self._run_driver(
            one_start,
            n_init=n_init,
            total=self.max_iter,
            X=X,
            snapshot=lambda state: {"cluster_centers_": state.centers},
        )
        state = result.state
        self.cluster_centers_ = state.centers
        self.inertia_ = state.objective
        D = center_distances(X, state.centers)
        self.radius_ = float(D.min(axis=1)[state.kept > 0].max()) * (1 + 1e-9)
        self.labels_ = self._labels(D)
        filled = np.unique(self.labels_[self.labels_ >= 0])
        warn_empty_clusters(len(filled), self.n_clusters)
        return self

    def predict(self, X):
        """The nearest centre, or -1 for a row farther than `radius_` from all."""
        return self._labels(self.transform(X))

    def _labels(self, D):
        z = np.argmin(D, axis=1)
        return np.where(D.min(axis=1) <= self.radius_, z, -1)

    def fit_predict(self, X, y=None, sample_weight=None):
        """`fit`, then the labels of the same rows."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def transform(self, X):
        """The distance from each row to each centre."""
        return center_distances(self._check_new_data(X), self.cluster_centers_)

    def fit_transform(self, X, y=None, sample_weight=None):
        """`fit`, then `transform` of the same rows."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    @property
    def _n_features_out(self):
        return self.cluster_centers_.shape[0]
