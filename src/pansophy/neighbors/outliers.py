"""Outliers by neighbours: rows far from them, or of lower density than they are.

With d_k(x) the distance to the k-th nearest row and N(x) the k nearest rows,

    score(x) = -d_k(x),  or minus the mean distance to N(x)                      (1)

The local outlier factor compares densities instead, so that a row at the edge of a
dense group stands out where one in an evenly thin group does not:

    reach(x, i) = max(d_k(x_i), d(x, x_i))                                       (2)
    lrd(x) = 1 / mean_{i in N(x)} reach(x, i)                                    (3)
    LOF(x) = mean_{i in N(x)} lrd(x_i) / lrd(x)     about 1 inside a group       (4)

Fitted rows are not their own neighbours; for (1) a query that equals one of them is
taken to be that row, so it scores the same. A row is an outlier if its score is below
an offset: a quantile of the scores of the fitted rows, or -1.5 for LOF.

Cost      one k-nearest search of all rows; memory O(n k)
Shapes    X (n, d)
Refs      [Ramaswamy2000]; [Breunig2000]
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..base import OneClass
from ..core.arrays.arrays import all_finite, beside, is_foreign, namespace
from ..params import Count, Flag, Jobs, ParameterRule
from .neighbor_queries import AbstractNeighbors, Metric, Power

ContaminationFraction = Annotated[
    float, ParameterRule("a number above 0, at most 0.5", lambda v: 0 < v <= 0.5)
]
TINY = 1e-10  # keeps the density of copies finite


def local_reachability_density(D, J, reach_of):
    """Eqs. (2) and (3): (m,); reach_of (n,) is d_k of the fitted rows."""
    xp = namespace(D)
    return 1 / (xp.mean(xp.maximum(D, beside(reach_of, D)[J]), axis=1) + TINY)


def negative_outlier_factor(fitted, J, lrd):
    """Minus eq. (4): (m,)."""
    return -namespace(lrd).mean(beside(fitted, lrd)[J] / lrd[:, None], axis=1)


def inlier_or_outlier(scores):
    """-1 where negative, 1 elsewhere."""
    xp = namespace(scores)
    return 1 - 2 * xp.astype(scores < 0, xp.int64)


def _linear_quantile(values, q) -> float:
    """The q-quantile of a vector of any library, between neighbours by a line."""
    if not is_foreign(values):
        return float(np.percentile(values, 100.0 * q))
    xp = namespace(values)
    place = q * (values.shape[0] - 1)
    low = int(place)
    high = min(low + 1, values.shape[0] - 1)
    ordered = xp.sort(values)
    below = float(ordered[low])
    return below + (place - low) * (float(ordered[high]) - below)


def neighbors_of_fitted_rows(model):
    """(D, J) of the fitted rows, with as many neighbours as there are."""
    n = model.n_samples_fit_
    if model.n_neighbors > n - 1:
        warnings.warn(
            f"n_neighbors ({model.n_neighbors}) is greater than the total number of "
            f"other samples ({n - 1}). n_neighbors will be set to (n_samples - 1) for "
            "estimation.",
            UserWarning,
            stacklevel=3,
        )
    k = max(1, min(model.n_neighbors, n - 1))
    model.n_neighbors_ = model._check_n_neighbors(k, True)
    return model._find_nearest(None, model.n_neighbors_)


def available_for_novelty(novelty, name):
    """A test for `available_if`: whether the model looks at new rows."""

    def check(self):
        if self.novelty == novelty:
            return True
        raise AttributeError(f"{name} is not available when novelty={not novelty}.")

    return check


@dataclass(eq=False, repr=False)
class LocalOutlierFactor(OneClass, AbstractNeighbors):
    """Flags rows of lower density than their neighbours, eq. (4).

    Parameters
    ----------
    n_neighbors : int, default=20
        k.
    algorithm, leaf_size, metric, p, metric_params, n_jobs
        As in `NearestNeighbors`.
    contamination : "auto" or float, default="auto"
        Share of the fitted rows to be flagged; "auto" flags LOF above 1.5.
    novelty : bool, default=False
        False: the fitted rows themselves are scored, by `fit_predict`. True: new rows
        are, by `predict`.

    Attributes
    ----------
    negative_outlier_factor_ : array of shape (n,)
        Minus LOF of the fitted rows.
    offset_ : float
        Rows of a lower score are outliers.
    n_neighbors_ : int
        k, or all other rows if they are fewer.
    effective_metric_, effective_metric_params_
        The metric used.
    n_samples_fit_ : int
    n_features_in_ : int

    Examples
    --------
    >>> from pansophy.neighbors import LocalOutlierFactor
    >>> LocalOutlierFactor(2).fit_predict([[-1.1], [0.2], [101.1], [0.3]])
    array([ 1,  1, -1,  1])
    """

    n_neighbors: Count = 20
    _: KW_ONLY
    algorithm: Literal["auto", "kd_tree", "ball_tree", "brute"] = "auto"
    leaf_size: Count = 30
    metric: Metric = "minkowski"
    p: Power = 2
    metric_params: dict | None = None
    contamination: Literal["auto"] | ContaminationFraction = "auto"
    novelty: Flag = False
    n_jobs: Jobs = None

    def fit(self, X, y=None):
        """Find the neighbours of the rows and score each row.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        y : None
            Not used.

        Returns
        -------
        self : LocalOutlierFactor
        """
        X, _ = self._check_rows(X)
        self._store_rows(X)
        D, J = neighbors_of_fitted_rows(self)
        if not all_finite(D):
            raise ValueError(
                "distances between rows of X overflow: X is too large, scale it down."
            )
        xp = namespace(D)
        self._reach = xp.asarray(D[:, -1], copy=True)
        self._lrd = local_reachability_density(D, J, self._reach)
        self.negative_outlier_factor_ = negative_outlier_factor(self._lrd, J, self._lrd)
        self.offset_ = -1.5
        if self.contamination != "auto":
            self.offset_ = _linear_quantile(
                self.negative_outlier_factor_, self.contamination
            )
        if xp.min(self.negative_outlier_factor_) < -1e7 and not self.novelty:
            warnings.warn(
                "Duplicate values are leading to incorrect results. Increase the "
                "number of neighbors for more accurate results.",
                UserWarning,
                stacklevel=2,
            )
        return self

    @available_if(available_for_novelty(False, "fit_predict"))
    def fit_predict(self, X, y=None):
        """-1 for outliers among the rows fitted, 1 for the others."""
        self.fit(X)
        return inlier_or_outlier(self.negative_outlier_factor_ - self.offset_)

    @available_if(available_for_novelty(True, "score_samples"))
    def score_samples(self, X):
        """Minus LOF of new rows, eq. (4)."""
        X = self._check_queries(X)
        D, J = self._find_nearest(X, self.n_neighbors_)
        lrd = local_reachability_density(D, J, self._reach)
        return negative_outlier_factor(self._lrd, J, lrd)

    @available_if(available_for_novelty(True, "decision_function"))
    def decision_function(self, X):
        """score - offset: negative for outliers."""
        return self.score_samples(X) - self.offset_

    @available_if(available_for_novelty(True, "predict"))
    def predict(self, X):
        """-1 for outliers and 1 for the others."""
        return inlier_or_outlier(self.decision_function(X))


@dataclass(eq=False, repr=False)
class KNNOutlier(OneClass, AbstractNeighbors):
    """Flags rows that are far from their neighbours, eq. (1).

    Parameters
    ----------
    n_neighbors : int, default=5
        k.
    method : {"largest", "mean"}, default="largest"
        The distance to the k-th neighbour, or the mean of those to all k.
    contamination : float, default=0.1
        Share of the fitted rows to be flagged.
    algorithm, leaf_size, metric, p, metric_params, n_jobs
        As in `NearestNeighbors`.

    Attributes
    ----------
    scores_ : array of shape (n,)
        Eq. (1) of the fitted rows, each without itself.
    offset_ : float
        Rows of a lower score are outliers.
    n_neighbors_ : int
        k, or all other rows if they are fewer.
    n_samples_fit_, effective_metric_, effective_metric_params_
        As in `NearestNeighbors`.
    n_features_in_ : int

    Examples
    --------
    >>> from pansophy.neighbors import KNNOutlier
    >>> X = [[0.0], [0.1], [-0.1], [0.2], [9.0]]
    >>> KNNOutlier(2, contamination=0.2).fit_predict(X)
    array([ 1,  1,  1,  1, -1])
    """

    n_neighbors: Count = 5
    _: KW_ONLY
    method: Literal["largest", "mean"] = "largest"
    contamination: ContaminationFraction = 0.1
    algorithm: Literal["auto", "kd_tree", "ball_tree", "brute"] = "auto"
    leaf_size: Count = 30
    metric: Metric = "minkowski"
    p: Power = 2
    metric_params: dict | None = None
    n_jobs: Jobs = None

    def fit(self, X, y=None):
        """Score the rows by the distances of their neighbours.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        y : None
            Not used.

        Returns
        -------
        self : KNNOutlier
        """
        X, _ = self._check_rows(X)
        self._store_rows(X)
        self.scores_ = self._scores(neighbors_of_fitted_rows(self)[0])
        if not all_finite(self.scores_):
            raise ValueError("distances between rows of X overflow: scale the columns.")
        self.offset_ = _linear_quantile(self.scores_, self.contamination)
        return self

    def _scores(self, D):
        far = D[:, -1] if self.method == "largest" else namespace(D).mean(D, axis=1)
        return -far

    def fit_predict(self, X, y=None):
        """-1 for outliers among the rows fitted, each scored without itself."""
        self.fit(X)
        return inlier_or_outlier(self.scores_ - self.offset_)

    def score_samples(self, X):
        """Eq. (1): (m,), higher for more usual rows."""
        X = self._check_queries(X)
        D = self._find_nearest(X, self.n_neighbors_ + 1)[0]
        return self._scores(namespace(D).where(D[:, :1] == 0, D[:, 1:], D[:, :-1]))

    def decision_function(self, X):
        """score - offset: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X):
        """-1 for outliers and 1 for the others."""
        return inlier_or_outlier(self.decision_function(X))
