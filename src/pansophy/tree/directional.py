"""A regression tree for angles.

The mean of 350 and 10 degrees is 0, not 180: angles y_i are averaged as unit vectors,

    r = sum_i w_i (cos y_i, sin y_i),    R = |r| / W,    mean direction = arg r  (1)

R is 1 if all angles agree and 0 if they cancel. The spread 1 - R is the impurity; a
split into left and right gains

    W (1 - R) - W_l (1 - R_l) - W_r (1 - R_r) = |r_l| + |r_r| - |r| >= 0         (2)

by the triangle inequality, and two sums are all that a node needs. Turning all angles
turns the means and leaves every gain as it is. If r is 0 any direction is as good.

Time O(n d) per level after one sort of each column.

Shapes    X (n, d)   y (n,)   w (n,)
Refs      [Fisher1993] mean direction and R
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from ..base import Regressor
from ..params import Count, NonNegative, Positive
from ..typing import Seed
from ._layout import DIRECTION
from .abstract import (
    AbstractDecisionTree,
    Angles,
    Bins,
    Columns,
    HalfAtMost,
    OpenShare,
    Share,
    TwoOrMore,
    begin,
    fit_tree,
    values_at,
    weights_of,
)
from .criteria import Criterion


@dataclass(eq=False, repr=False)
class DirectionalTreeRegressor(Regressor, AbstractDecisionTree):
    """A decision tree whose targets are angles.

    Parameters
    ----------
    period : float, default=2 pi
        A full turn in the units of y: 360 for degrees, 24 for the hour of the day.
    splitter : {"best", "random"}, default="best"
    max_depth : int or None, default=None
    min_samples_split : int or float, default=2
    min_samples_leaf : int or float, default=1
    min_weight_fraction_leaf : float, default=0.0
    max_features : int, float, {"sqrt", "log2"} or None, default=None
    random_state : int, RandomState, Generator or None, default=None
    max_leaf_nodes : int or None, default=None
    min_impurity_decrease : float, default=0.0
    ccp_alpha : float, default=0.0
        All as in `DecisionTreeRegressor`.
    max_bins : int or None, default=None
    categorical_features : None, "from_dtype", mask, indices or names, default=None
    directional_features : None, mask, indices, names or dict, default=None
        Columns of X that are angles themselves.
    categorical_split : {"subset", "level"}, default="subset"
    missing : {"default", "both"}, default="default"

    Attributes
    ----------
    n_outputs_ : int
    max_features_ : int
    tree_ : Tree
        `value` holds mean directions, from 0 to below the period, `impurity` the
        spreads 1 - R.
    inputs_ : Inputs
    feature_importances_ : array of shape (n_features,)

    Examples
    --------
    >>> from pansophy.tree import DirectionalTreeRegressor
    >>> model = DirectionalTreeRegressor(period=360, max_depth=1)
    >>> model = model.fit([[0], [0], [1], [1]], [340, 40, 90, 110])
    >>> model.predict([[0], [1]]).round(6)
    array([ 10., 100.])
    >>> model.predict_spread([[0], [1]]).round(6)
    array([0.133975, 0.015192])
    """

    period: Positive = 2 * np.pi
    _: KW_ONLY
    splitter: Literal["best", "random"] = "best"
    max_depth: Count | None = None
    min_samples_split: TwoOrMore | Share = 2
    min_samples_leaf: Count | OpenShare = 1
    min_weight_fraction_leaf: HalfAtMost = 0.0
    max_features: Count | Share | Literal["sqrt", "log2"] | None = None
    random_state: Seed = None
    max_leaf_nodes: TwoOrMore | None = None
    min_impurity_decrease: NonNegative = 0.0
    ccp_alpha: NonNegative = 0.0
    max_bins: Bins | None = None
    categorical_features: Columns | Literal["from_dtype"] | None = None
    directional_features: Angles | None = None
    categorical_split: Literal["subset", "level"] = "subset"
    missing: Literal["default", "both"] = "default"

    def fit(self, X, y, sample_weight=None):
        """Grow the tree for the angles y."""
        weigh = lambda y: weights_of(sample_weight, len(y))
        X, y = begin(self, X, y, "number", weigh)
        self.n_outputs_ = 1
        t = radians(y, self.period)[:, None]
        tree = fit_tree(self, X, t, weigh(y), Criterion(DIRECTION, 1))
        value = angles(tree.value, self.period)
        self.tree_ = tree._replace(value=value)
        return self

    def predict(self, X):
        """The mean direction of the leaf, from 0 to below the period."""
        r = self._resultants(X)
        return angles(np.arctan2(r[:, 1], r[:, 0]), self.period)

    def predict_spread(self, X):
        """1 - R, eq. (1), of the leaf."""
        return 1.0 - np.hypot(*self._resultants(X).T)

    def _resultants(self, X):
        """r / W by row."""

        def vectors(tree):
            t, R = radians(tree.value[:, 0, 0], self.period), 1.0 - tree.impurity
            return np.stack([R * np.cos(t), R * np.sin(t)], axis=1)

        return values_at(self, X, vectors)

    def score(self, X, y, sample_weight=None):
        """Share of the spread of y that the tree explains: 1 is perfect, 0 the mean.

        1 - sum w (1 - cos(y - prediction)) / sum w (1 - cos(y - mean of y)).
        """
        t = radians(np.asarray(y, float), self.period)
        w = weights_of(sample_weight, len(t))
        off = 1.0 - np.cos(t - radians(self.predict(X), self.period))
        total = 1.0 - circular_mean(t, w)[1]
        error = np.average(off, weights=w)
        return 1.0 - error / total if total > 0 else float(error == 0)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


def radians(y, period):
    """Angles of a period as radians."""
    return np.mod(np.asarray(y, float) / period, 1.0) * (2 * np.pi)


def angles(t, period):
    """Radians as angles of a period, from 0 to below it."""
    y = np.mod(t / (2 * np.pi), 1.0) * period
    return np.where(y < period, y, 0.0)  # just below 0 rounds to a full turn


def circular_mean(t, w=None):
    """Mean direction and R, eq. (1), of angles in radians.

    >>> mean, R = circular_mean(np.radians([350, 10]))
    >>> round(abs(float(mean)), 6), round(float(R), 6)
    (0.0, 0.984808)
    """
    t = np.asarray(t, float)
    c, s = np.average(np.cos(t), weights=w), np.average(np.sin(t), weights=w)
    return np.arctan2(s, c), np.hypot(c, s)
