"""k-nearest neighbours: a row is predicted from its k nearest fitted rows.

With N(x) the k nearest rows of x and v_i >= 0 the weight of neighbour i,

    P(c | x) = sum_{i in N(x)} v_i [y_i = c] / sum_{i in N(x)} v_i               (1)
    f(x)     = sum_{i in N(x)} v_i y_i / sum_{i in N(x)} v_i                     (2)

v_i is 1, or 1 / d(x, x_i), or a function of the distances; with 1 / d a neighbour at
distance 0 outvotes all others. The fit only stores the rows: k = 1 repeats the labels
of distinct fitted rows, k = n gives the proportions of the classes. At a tie the first
class wins.

`local_vote` approximates a Gaussian kernel machine: weights at distances beyond 2 h
count as 0 (exp(-4) = .018) and others as 1,

    f(x) = sum_{i: |x_i - x| <= 2 h} alpha_i y_i                                 (3)

Shapes    X (n, d)   y (n,) or (n, q)   queries (m, d)
Refs      [Cover1967]; [Dudani1976]
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from ..base import Classifier, Regressor
from ..core.arrays.arrays import all_finite, beside, device, is_foreign, namespace
from ..core.arrays.labels import class_codes
from ..distances import neighbor_search
from ..params import Count, Jobs
from ..persist.saved_state import IntArray, saved_state
from ..predictors.abstract_linear import classes_from_scores
from .neighbor_queries import AbstractNeighbors, Metric, Power


def neighbor_weights(D, weights):
    """v of eqs. (1) and (2): (m, k), or None for all ones."""
    if weights is None or weights == "uniform":
        return None
    if is_foreign(D):
        return _neighbor_tensor_weights(D, weights)
    if callable(weights):
        v = np.asarray(weights(D), float)
        if v.shape != D.shape or not (v >= 0).all():
            raise ValueError(
                "weights must return a number of at least 0 for every neighbour: "
                f"shape {D.shape}, got {v.shape}."
            )
        if not v.any(axis=1).all():
            raise ValueError(
                "All neighbors of some sample is getting zero weights. Please modify "
                "'weights' to avoid this case if you are using a user-defined function."
            )
        return v
    with np.errstate(divide="ignore"):
        v = 1 / D
    at_zero = np.isinf(v)
    equal = at_zero.any(axis=1)
    v[equal] = at_zero[equal]
    return v


def _neighbor_tensor_weights(D, weights):
    """`neighbor_weights` of distances that are a tensor."""
    if callable(weights):
        v = weights(D)
        if v.shape != D.shape or not all_finite(v) or bool((v < 0).any()):
            raise ValueError(
                "weights must return a number of at least 0 for every neighbour: "
                f"shape {tuple(D.shape)}, got {tuple(v.shape)}."
            )
        return v
    xp = namespace(D)
    at_zero = D == 0
    some = xp.any(at_zero, axis=1)[:, None]
    v = 1 / xp.where(at_zero, xp.ones_like(D), D)
    return xp.where(some, xp.astype(at_zero, D.dtype), v)


def class_shares_of_neighbors(codes, v, c):
    """Eq. (1): (m, c) from the classes of the neighbours (m, k)."""
    m, k = codes.shape
    if is_foreign(codes):
        xp = namespace(codes)
        v = (
            xp.ones(codes.shape, dtype=xp.float64, device=device(codes))
            if v is None
            else v
        )
        votes = [xp.sum(xp.where(codes == j, v, 0.0 * v), axis=1) for j in range(c)]
        total = xp.sum(v, axis=1)[:, None]
        return xp.stack(votes, axis=1) / xp.where(
            total == 0, xp.ones_like(total), total
        )
    P = np.zeros((m, c))
    every = np.arange(m)
    for j in range(k):
        P[every, codes[:, j]] += 1 if v is None else v[:, j]
    total = P.sum(axis=1, keepdims=True)
    return P / np.where(total == 0, 1, total)


def local_vote(X, alpha, Q, h, y=None):
    """Eq. (3): (m,), its sign being the class; alpha includes y if y is None.

    Examples
    --------
    >>> from pansophy.neighbors import local_vote
    >>> local_vote([[0.0], [1.0], [5.0]], [1, 1, 2], [[0.5], [4.0]], 1.0, [1, -1, -1])
    array([ 0., -2.])
    """
    a = np.asarray(alpha, float)
    a = a if y is None else a * np.asarray(y, float)
    index = neighbor_search.build_index(np.asarray(X, float))
    return neighbor_search.count_within(index, np.asarray(Q, float), 2 * h, a)


@saved_state(_y=IntArray("n_samples_fit_", None, low=0))
@dataclass(eq=False, repr=False)
class KNeighborsClassifier(Classifier, AbstractNeighbors):
    """The class that most of the nearest rows have.

    Parameters
    ----------
    n_neighbors : int, default=5
        k.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        v: ones, inverse distances, or a function of the distances (m, k).
    algorithm, leaf_size, p, metric, metric_params, n_jobs
        As in `NearestNeighbors`.

    Attributes
    ----------
    classes_ : array of shape (c,), or a list of them for several columns of y
    outputs_2d_ : bool
        Whether y had several columns.
    effective_metric_, effective_metric_params_
        The metric used.
    n_samples_fit_ : int
    n_features_in_ : int

    Examples
    --------
    >>> from pansophy.neighbors import KNeighborsClassifier
    >>> X, y = [[1.0], [2.0], [3.0], [6.0], [7.0]], ["A", "A", "A", "B", "B"]
    >>> KNeighborsClassifier(3).fit(X, y).predict_proba([[4.2]]).round(4)
    array([[0.6667, 0.3333]])
    """

    n_neighbors: Count = 5
    _: KW_ONLY
    weights: Literal["uniform", "distance"] | Callable | None = "uniform"
    algorithm: Literal["auto", "kd_tree", "ball_tree", "brute"] = "auto"
    leaf_size: Count = 30
    p: Power = 2
    metric: Metric = "minkowski"
    metric_params: dict | None = None
    n_jobs: Jobs = None

    def fit(self, X, y):
        """Store rows and classes.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), KDTree, BallTree or fitted model
        y : array of shape (n,) or (n, q)

        Returns
        -------
        self : KNeighborsClassifier
        """
        X, y, _ = self._check_rows(X, y, y_kind="labels")
        self._store_rows(X)
        self.outputs_2d_ = y.ndim == 2
        columns = y.T if self.outputs_2d_ else [y]
        encoded = [class_codes(column, X) for column in columns]
        self._y = namespace(X).stack([codes for _, codes in encoded], axis=1)
        classes = [values for values, _ in encoded]
        self.classes_ = classes if self.outputs_2d_ else classes[0]
        return self

    def _shares(self, X):
        X = self._check_queries(X)
        D, J = self._find_nearest(X, self._check_n_neighbors(None, X is None))
        v = neighbor_weights(D, self.weights)
        classes = self.classes_ if self.outputs_2d_ else [self.classes_]
        codes = beside(self._y, J)
        return [
            class_shares_of_neighbors(codes[:, t][J], v, len(c))
            for t, c in enumerate(classes)
        ]

    def predict_proba(self, X):
        """Eq. (1): (m, c); a list of them for several columns of y.

        X=None predicts the fitted rows, each without itself.
        """
        P = self._shares(X)
        return P if self.outputs_2d_ else P[0]

    def predict(self, X):
        """The class of highest share; X=None predicts the fitted rows."""
        P = self._shares(X)
        if not self.outputs_2d_:
            return classes_from_scores(self.classes_, P[0])
        pairs = zip(self.classes_, P, strict=True)
        columns = [classes_from_scores(c, p) for c, p in pairs]
        return namespace(*columns).stack(columns, axis=1)

    def score(self, X, y, sample_weight=None):
        """The share of classes that are right; X None leaves each row out."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = tags.target_tags.multi_output = True
        return tags


@dataclass(eq=False, repr=False)
class KNeighborsRegressor(Regressor, AbstractNeighbors):
    """The mean of the targets of the nearest rows.

    Parameters
    ----------
    n_neighbors : int, default=5
        k.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        v: ones, inverse distances, or a function of the distances (m, k).
    algorithm, leaf_size, p, metric, metric_params, n_jobs
        As in `NearestNeighbors`.

    Attributes
    ----------
    effective_metric_, effective_metric_params_
        The metric used.
    n_samples_fit_ : int
    n_features_in_ : int

    Examples
    --------
    >>> from pansophy.neighbors import KNeighborsRegressor
    >>> KNeighborsRegressor(2).fit([[0.0], [1.0], [5.0]], [0, 1, 7]).predict([[0.2]])
    array([0.5])
    """

    n_neighbors: Count = 5
    _: KW_ONLY
    weights: Literal["uniform", "distance"] | Callable | None = "uniform"
    algorithm: Literal["auto", "kd_tree", "ball_tree", "brute"] = "auto"
    leaf_size: Count = 30
    p: Power = 2
    metric: Metric = "minkowski"
    metric_params: dict | None = None
    n_jobs: Jobs = None

    def fit(self, X, y):
        """Store rows and numbers.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), KDTree, BallTree or fitted model
        y : array of shape (n,) or (n, q)

        Returns
        -------
        self : KNeighborsRegressor
        """
        X, y, _ = self._check_rows(X, y, y_kind="numbers")
        self._store_rows(X)
        xp = namespace(y)
        self._y = xp.astype(y, xp.float64)
        return self

    def predict(self, X):
        """Eq. (2); X=None predicts the fitted rows, each without itself."""
        X = self._check_queries(X)
        D, J = self._find_nearest(X, self._check_n_neighbors(None, X is None))
        v = neighbor_weights(D, self.weights)
        y = beside(self._y, J)[J]
        xp = namespace(y)
        if v is None:
            return xp.mean(y, axis=1)
        total = xp.sum(v, axis=1)
        if y.ndim == 3:
            if is_foreign(y):
                return xp.sum(v[:, :, None] * y, axis=1) / total[:, None]
            return np.einsum("mk,mkq->mq", v, y) / total[:, None]
        return xp.sum(v * y, axis=1) / total

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
