"""Rotation forest: each tree is grown on its own rotation of the columns.

For each tree the d columns are put into random groups of M. For each group some of
the classes are left out at random (none for numbers), three quarters of the rows left
are drawn with replacement, and the covariance of the group's columns over them,

    C = 1/n sum_i c_i (x_i - m)(x_i - m)^T = B diag(l) B^T                      (1)

gives the orthogonal block B, all its components kept, the largest first. The blocks of
all groups, with rows and columns put back in the order of the table, are the rotation

    R = P^T diag(B_1, .. B_G) P        R^T R = I                                (2)

and the tree is grown on X R. Nothing is lost, as no component is dropped; the trees
differ because a split on an axis of X R is oblique in X, and each tree has its own
axes: rows and classes are drawn again for each group. The prediction is the mean over
the trees.

- Trees do not depend on the scale of a column, principal components do: columns of
  very different size should be scaled first.
- The mean of the columns is subtracted before rotating, for accuracy; that shifts all
  values of a rotated column alike and changes no tree.
- `rotation="identity"` leaves out eq. (1); with `bootstrap=True` the forest is then a
  `BaggingClassifier` of the same seed.

Time per tree: O(n d M) to rotate, and its growth. Memory: a rotated copy of the table
in float32 for each tree under construction, which the method cannot do without.

Shapes    X (n, d)   B (groups, M, M)   R (d, d)
Refs      [Rodriguez2006]
"""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import column_or_1d

from ...base import Classifier, Estimator, Regressor
from ...core.arrays.labels import class_codes
from ...core.arrays.weighted import check_sample_weight
from ...core.drivers.progress import run_with_progress
from ...core.loops import threads
from ...params import Count, Flag, Jobs, Verbosity, number_rule
from ...persist.saved_state import (
    AnyValue,
    Each,
    FloatArray,
    IntArray,
    Part,
    saved_state,
)
from ...tree import DecisionTreeClassifier, DecisionTreeRegressor
from ...tree.growing.prepared_columns import (
    silent_float32_overflow,
    training_rows_as_float32,
)
from ...typing import Fittable, Seed
from ..members import (
    ResamplingPlan,
    bootstrap_counts,
    collect_members,
    fit_member,
    member_seeds,
    members_fit_columns,
    probabilities_or_votes,
    require_in_memory,
)
from . import _rotation_forest as loops

PositiveFraction = Annotated[
    float, number_rule("a fraction above 0, up to 1", 0, 1, open_low=True)
]
BLOCK = 1 << 13  # rows rotated at a time
FLOAT32_CHECKS = {"dtype": np.float32, "order": "C"}


@saved_state(
    mean=FloatArray("columns"),
    order=IntArray("groups", "size", low=-1, below="columns"),
    blocks=FloatArray("groups", "size", "size"),
)
class Rotation(NamedTuple):
    """R of eq. (2) by its blocks."""

    mean: np.ndarray  # (d,)
    order: np.ndarray  # (groups, M) columns, -1 where a group has fewer
    blocks: np.ndarray  # (groups, M, M)

    @property
    def n_columns(self) -> int:
        return len(self.mean)

    @property
    def matrix(self):
        """R (d, d)."""
        R = np.zeros((len(self.mean), len(self.mean)))
        for group, B in zip(self.order, self.blocks):
            columns = group[group >= 0]
            R[np.ix_(columns, columns)] = B[: len(columns), : len(columns)]
        return R

    def apply(self, X):
        """(X - mean) R as float32."""
        n = len(X)
        out = np.empty(X.shape, np.float32)
        rotate = lambda i: loops.rotate_rows(X, *self, i, min(i + BLOCK, n), out)
        for _ in threads.run_tasks((lambda i=i: rotate(i)) for i in range(0, n, BLOCK)):
            pass
        return out


def random_column_groups(rng, d, M):
    """(groups, M) random groups of columns, -1 where the last has fewer."""
    order = np.full(-(-d // M) * M, -1)
    order[:d] = rng.permutation(d)
    return order.reshape(-1, M)


def random_class_mask(rng, K):
    """A random subset of at least one of K classes, as a mask."""
    keep = rng.random(K) < 0.5
    keep[rng.integers(K)] = True
    return keep


def draw_rows_of_group(rng, codes, K, share, w):
    """Rows drawn with replacement for one group, as (rows, counts)."""
    rows = (
        np.flatnonzero(random_class_mask(rng, K)[codes]) if K else np.arange(len(codes))
    )
    p = None if w is None else w[rows]
    if len(rows) == 0 or (p is not None and not p.any()):
        rows = np.arange(len(codes))
        p = w
    p = None if p is None else p / p.sum()
    size = max(2, int(share * len(rows)))
    counts = bootstrap_counts(rng, len(rows), size, p)
    drawn = counts > 0
    return rows[drawn], counts[drawn]


def covariance_of_counts(Z, c):
    """Eq. (1) of rows Z (k, M) with counts c."""
    total = c.sum()
    Z = Z - c @ Z / total
    return (Z.T * c) @ Z / total


def principal_components(C):
    """Eigenvectors of covariances (G, M, M), the largest first, signs fixed."""
    B = np.linalg.eigh(C)[1][..., ::-1]
    at = np.argmax(np.abs(B), axis=-2, keepdims=True)
    sign = np.sign(np.take_along_axis(B, at, axis=-2))
    return np.ascontiguousarray(B * sign)


def draw_rotation(rng, X, mean, codes, K, w, M, share) -> Rotation:
    """A rotation of eq. (2); K is the number of classes, 0 for numbers."""
    order = random_column_groups(rng, X.shape[1], M)
    C = np.zeros((*order.shape, M))
    for g, group in enumerate(order):
        columns = group[group >= 0]
        m = len(columns)
        rows, c = draw_rows_of_group(rng, codes, K, share, w)
        Z = X[np.ix_(rows, columns)].astype(float)
        C[g, :m, :m] = covariance_of_counts(Z, c)
        # the missing columns of a short group come last: below every other variance
        C[g, range(m, M), range(m, M)] = -1.0
    return Rotation(mean, order, principal_components(C))


@saved_state(
    rotations_=Each(Part(Rotation, n_columns="n_features_in_"), "members"),
    estimators_=Each(AnyValue(), "members"),
    check=members_fit_columns,
)
class AbstractRotationForest(Estimator):
    """Members in `estimators_`, each with its rotation."""

    _tensors = False

    @abstractmethod
    def fit(self, X, y, sample_weight=None) -> Any: ...

    @abstractmethod
    def _default_estimator(self) -> Any:
        """The estimator that None stands for."""

    @abstractmethod
    def _predict_member(self, model, X) -> Any:
        """The prediction of a member for rotated rows."""

    def _check_inputs(self, X, y, y_kind):
        X = require_in_memory(self, X)
        with training_rows_as_float32(X):
            X, y, _ = self._check_training_data(X, y, y_kind=y_kind, **FLOAT32_CHECKS)
        return X, y

    def _fit_members(self, X, y, sample_weight, K):
        """Fit a rotation and a member for each seed; K is 0 for numbers."""
        n, d = X.shape
        w = check_sample_weight(sample_weight, n)
        default = self.estimator is None
        template = clone(self._default_estimator() if default else self.estimator)
        p = w / w.sum() if w is not None and self.bootstrap else None
        resampling = ResamplingPlan(n, d, n, d, self.bootstrap, False, p)
        mean = np.average(X, axis=0, weights=w).astype(float)

        def fit_one(seed):
            rotation = self._draw_rotation(seed, X, mean, y, K, w)
            counts = resampling.draw(seed)[1] if self.bootstrap else None
            weight = None if self.bootstrap else w
            Z = rotation.apply(X)
            return fit_member(template, seed, Z, y, None, counts, weight), rotation

        seeds = member_seeds(self.random_state, self.n_estimators)
        fit_each = lambda: threads.run_tasks((lambda s=s: fit_one(s)) for s in seeds)
        run = lambda task: collect_members(self, fit_each(), task)
        with threads.limit_threads(self.n_jobs):
            pairs = run_with_progress(
                self, run, total=len(seeds), X=X, y=y, verbose=self.verbose
            )
        self.estimator_ = template
        self.estimators_ = [model for model, _ in pairs]
        self.rotations_ = [rotation for _, rotation in pairs]
        return self

    def _draw_rotation(self, seed, X, mean, y, K, w) -> Rotation:
        """The rotation of the member with this seed."""
        d = X.shape[1]
        if self.rotation == "identity":
            return Rotation(np.zeros(d), np.arange(d)[:, None], np.ones((d, 1, 1)))
        rng = np.random.default_rng((int(seed), 2))
        M = min(self.n_features_in_group, d)
        return draw_rotation(rng, X, mean, y, K, w, M, self.sample_share)

    def _mean_prediction(self, X):
        """Mean of the members' predictions."""
        with silent_float32_overflow():
            X = self._check_new_data(require_in_memory(self, X), **FLOAT32_CHECKS)
        predict = lambda m, r: self._predict_member(m, r.apply(X))
        pairs = zip(self.estimators_, self.rotations_)
        with threads.limit_threads(self.n_jobs):
            predictions = threads.run_tasks((lambda p=p: predict(*p)) for p in pairs)
            return sum(predictions) / len(self.estimators_)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "estimators_")

    def __len__(self):
        return len(self.estimators_)

    def __getitem__(self, index):
        return self.estimators_[index]

    def __iter__(self):
        return iter(self.estimators_)


@dataclass(eq=False, repr=False)
class RotationForestClassifier(Classifier, AbstractRotationForest):
    """A rotation forest for classes.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The estimator of the members; None is a `DecisionTreeClassifier`.
    n_estimators : int, default=10
        Members.
    n_features_in_group : int, default=3
        M, the columns rotated together.
    sample_share : float, default=0.75
        Rows drawn for the components of a group, as a share of those of the classes
        drawn for it.
    bootstrap : bool, default=False
        Whether each member is fitted to rows drawn with replacement instead of all.
    rotation : {"pca", "identity"}, default="pca"
        "identity" leaves the columns as they are.
    n_jobs : int or None, default=None
        Threads at most; None and -1 for all cores.
    random_state : int, RandomState, Generator or None, default=None
        For groups, draws and the members' own random states.
    verbose : int, default=0
        Above 0 shows a progress bar.

    Attributes
    ----------
    estimator_ : estimator
    estimators_ : list
        The members; their classes are numbers from 0.
    rotations_ : list of Rotation
        What each member does to the columns; `.matrix` is R of eq. (2).
    classes_ : array of shape (n_classes,)
    n_classes_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pansophy.ensemble import RotationForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RotationForestClassifier(random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    estimator: Fittable | None = None
    n_estimators: Count = 10
    _: KW_ONLY
    n_features_in_group: Count = 3
    sample_share: PositiveFraction = 0.75
    bootstrap: Flag = False
    rotation: Literal["pca", "identity"] = "pca"
    n_jobs: Jobs = None
    random_state: Seed = None
    verbose: Verbosity = 0

    def fit(self, X, y, sample_weight=None):
        """Draw rotations and fit a member to each rotated table."""
        X, y = self._check_inputs(X, y, "class")
        self.classes_, codes = class_codes(y)
        self.n_classes_ = len(self.classes_)
        return self._fit_members(X, codes, sample_weight, self.n_classes_)

    def predict(self, X):
        """The class with the largest mean probability."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def predict_proba(self, X):
        """Mean probabilities of the members, or shares of their votes."""
        return self._mean_prediction(X)

    def predict_log_proba(self, X):
        """Logarithms of the mean probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _default_estimator(self):
        return DecisionTreeClassifier()

    def _predict_member(self, model, X):
        return probabilities_or_votes(model, X, self.n_classes_)


@dataclass(eq=False, repr=False)
class RotationForestRegressor(Regressor, AbstractRotationForest):
    """A rotation forest for numbers.

    Parameters
    ----------
    estimator : regressor or None, default=None
        The estimator of the members; None is a `DecisionTreeRegressor`.
    n_estimators : int, default=10
        Members.
    n_features_in_group : int, default=3
        M, the columns rotated together.
    sample_share : float, default=0.75
        Rows drawn for the components of a group, as a share of all.
    bootstrap : bool, default=False
        Whether each member is fitted to rows drawn with replacement instead of all.
    rotation : {"pca", "identity"}, default="pca"
        "identity" leaves the columns as they are.
    n_jobs : int or None, default=None
        Threads at most; None and -1 for all cores.
    random_state : int, RandomState, Generator or None, default=None
        For groups, draws and the members' own random states.
    verbose : int, default=0
        Above 0 shows a progress bar.

    Attributes
    ----------
    estimator_ : estimator
    estimators_ : list
        The members.
    rotations_ : list of Rotation
        What each member does to the columns; `.matrix` is R of eq. (2).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import RotationForestRegressor
    >>> X = np.random.default_rng(0).normal(size=(400, 4))
    >>> y = X[:, 0] + X[:, 1]
    >>> model = RotationForestRegressor(random_state=0).fit(X[:300], y[:300])
    >>> model.score(X[300:], y[300:]) > 0.8
    True
    """

    estimator: Fittable | None = None
    n_estimators: Count = 10
    _: KW_ONLY
    n_features_in_group: Count = 3
    sample_share: PositiveFraction = 0.75
    bootstrap: Flag = False
    rotation: Literal["pca", "identity"] = "pca"
    n_jobs: Jobs = None
    random_state: Seed = None
    verbose: Verbosity = 0

    def fit(self, X, y, sample_weight=None):
        """Draw rotations and fit a member to each rotated table."""
        X, y = self._check_inputs(X, y, "numbers")
        y = column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y
        return self._fit_members(X, y, sample_weight, 0)

    def predict(self, X):
        """The mean of the members' predictions."""
        return self._mean_prediction(X)

    def _default_estimator(self):
        return DecisionTreeRegressor()

    def _predict_member(self, model, X):
        return model.predict(X)
