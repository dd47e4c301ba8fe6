"""Seeded k-means: known labels initialise the centres, and may be kept fixed.

    J(C, z) = sum_i w_i |x_i - c_{z_i}|^2                                       (1)

as in `pansophy.cluster.KMeans`, with one cluster for each class, initialised by

    c_j = mean of the rows known to be of class j                               (2)

"seeded" continues as k-means, and may move a known row to another cluster (for labels
that may be wrong). "constrained" minimises (1) over the z that agree with the labels: a
known row stays in its class, and counts towards the mean of that class in every
iteration. Neither step of an iteration raises J in either form.

With every row known it is the nearest class mean classifier; with one row known for
each class it is k-means from those rows.

Time O(n k d) an iteration. Memory O(n) beyond X.

Shapes    X (n, d)   C (k, d)   z, y, w (n,)
Refs      [Basu2002]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from ..base import Classifier, Estimator
from ..cluster.centers.kmeans import fixed_cluster_sums, lloyd
from ..cluster.centers.lloyd_iteration import nearest_centers, row_mean_and_variance
from ..core.arrays.labels import class_codes, known_labels
from ..distances import euclidean
from ..params import Count, NonNegative, Verbosity
from .abstract_semi_supervised import normalize_missing_labels


def _centers_of_classes(X, w, z, k, m):
    """Eq. (2): the mean of the rows of each class; m is a point near them."""
    cells = fixed_cluster_sums((X, w, z), k, m)
    return m + cells.sums / cells.mass[:, None]


def _seeded_lloyd(X, w, z, k, *, constrained, m, max_iter, tol, task):
    """Lloyd iterations from the class means; z is -1 where the class is not known.

    If `constrained`, known rows have weight 0 in the assignment of rows to clusters,
    and are added to the cluster of their class.
    """
    known = (z >= 0) & (w > 0)
    held = X[known], w[known], z[known]
    C = _centers_of_classes(*held, k, m)
    if not constrained:
        return lloyd(X, w, C, origin=m, max_iter=max_iter, tol=tol, task=task)
    run = lloyd(
        X,
        np.where(known, 0, w),
        C,
        origin=m,
        fixed=held,
        max_iter=max_iter,
        tol=tol,
        task=task,
    )
    labels = np.where(known, z, run.state.labels)
    return run._replace(state=run.state._replace(labels=labels))


@dataclass(eq=False, repr=False)
class SeededKMeans(Classifier, Estimator):
    """K-means with some labels given; the module text gives the method.

    Parameters
    ----------
    mode : "constrained" or "seeded"
        Whether known labels are kept, or only say where to start.
    max_iter : int
        Most iterations.
    tol : float
        Stop when the squared shift of the centres is at most this times the mean
        variance of the columns; 0 continues until no label changes.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The classes, one cluster each.
    cluster_centers_ : array of shape (k, d)
        C.
    transduction_ : array of shape (n,)
        The class given to each row of `fit`.
    labels_ : array of shape (n,)
        The same as positions in `classes_`.
    inertia_ : float
        J of eq. (1).
    n_iter_, history_, converged_, interrupted_
        How the run went; "objective", "shift" and "moved" in each iteration.

    Examples
    --------
    >>> from pansophy.semi_supervised import SeededKMeans
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> y = ["low", "", "", "", "", "high"]
    >>> SeededKMeans().fit(X, y).predict([[3.0], [7.0]]).tolist()
    ['low', 'high']
    """

    mode: Literal["constrained", "seeded"] = "constrained"
    _: KW_ONLY
    max_iter: Count = 300
    tol: NonNegative = 0.0
    verbose: Verbosity = 0

    _tensors = False

    def fit(self, X, y, sample_weight=None):
        """Find the centres.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            Classes; -1 (for text, the empty text) where not known.
        sample_weight : array of length n or None
            Row weights; k is the same as k equal rows.
        """
        X, y, w = self._check_training_data(
            X, normalize_missing_labels(y), sample_weight, y_kind="class", order="C"
        )
        w = np.ones(len(X), X.dtype) if w is None else w
        known = known_labels(y) & (w > 0)
        if not known.any():
            raise ValueError("y tells no class at all: at least one row must be known.")
        z = np.full(len(X), -1)
        self.classes_, z[known] = class_codes(y[known])
        m, variance = row_mean_and_variance(X, w)
        run = lambda task: _seeded_lloyd(
            X,
            w,
            z,
            len(self.classes_),
            constrained=self.mode == "constrained",
            m=m,
            max_iter=self.max_iter,
            tol=self.tol * variance,
            task=task,
        )
        state = self._run_driver(run, total=self.max_iter, X=X, y=y).state
        self.cluster_centers_ = state.centers.astype(X.dtype)
        self.labels_ = state.labels
        self.inertia_ = state.objective
        self.transduction_ = self.classes_[self.labels_]
        return self

    def predict(self, X):
        """The class whose centre is nearest."""
        X = self._check_new_data(X, order="C")
        return self.classes_[
            nearest_centers(X, self.cluster_centers_.astype(np.float64))
        ]

    def distances(self, X):
        """The distance from each row to each centre."""
        return euclidean(self._check_new_data(X, order="C"), self.cluster_centers_)
