"""Directional regression tree: the targets are angles.

The mean of 350 and 10 degrees is 0, not 180: angles y_i are averaged as unit vectors,

    r = sum_i w_i (cos y_i, sin y_i),    R = |r| / W,    mean direction = arg r  (1)

R is 1 if all angles agree and 0 if they cancel. The spread 1 - R is the impurity; a
split into left and right gains

    W (1 - R) - W_l (1 - R_l) - W_r (1 - R_r) = |r_l| + |r_r| - |r| >= 0         (2)

by the triangle inequality, and two sums are all that a node needs. Turning all angles
turns the means and leaves every gain as it is. If r is 0 any direction is as good.
Of m angles at once, each has its r and the impurity is the mean of their spreads.

Time O(n d m) per level after one sort of each column.

Shapes    X (n, d)   y (n,) or (n, m)   w (n,)
Refs      [Fisher1993] mean direction and R
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from ..base import Regressor
from ..core.arrays.weighted import check_sample_weight
from ..params import Count, NonNegative, Positive, TwoOrMore
from ..typing import Seed
from .abstract_decision_tree import (
    AbstractDecisionTree,
    AngleSelection,
    BinCount,
    ColumnSelection,
    HalfAtMost,
    PositiveFraction,
    ProperFraction,
    fit_tree,
    leaf_values_of_rows,
    validate_training_data,
)
from .growing._structures import DIRECTION
from .growing.criteria import Criterion
from .storage.tree import LEAF, map_dense_blocks


@dataclass(eq=False, repr=False)
class DirectionalTreeRegressor(Regressor, AbstractDecisionTree):
    """A decision tree whose targets are angles, one or several.

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
    missing : {"default", "both", "mean", "mode", "model"}, default="default"

    Attributes
    ----------
    n_outputs_ : int
    max_features_ : int
    tree_ : Tree
        `value` holds mean directions, from 0 to below the period, `impurity` the
        spreads 1 - R. Of several angles, `value` (nodes, m, 2) holds the direction
        and R of each, and `impurity` their mean spread.
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

    The hour of day and the bearing of two places, both as turns:

    >>> model = DirectionalTreeRegressor(period=1.0)
    >>> model = model.fit([[0], [0], [1]], [[0.9, 0.2], [0.1, 0.3], [0.5, 0.75]])
    >>> model.predict([[0], [1]]).round(6)
    array([[0.  , 0.25],
           [0.5 , 0.75]])
    """

    period: Positive = 2 * np.pi
    _: KW_ONLY
    splitter: Literal["best", "random"] = "best"
    max_depth: Count | None = None
    min_samples_split: TwoOrMore | PositiveFraction = 2
    min_samples_leaf: Count | ProperFraction = 1
    min_weight_fraction_leaf: HalfAtMost = 0.0
    max_features: Count | PositiveFraction | Literal["sqrt", "log2"] | None = None
    random_state: Seed = None
    max_leaf_nodes: TwoOrMore | None = None
    min_impurity_decrease: NonNegative = 0.0
    ccp_alpha: NonNegative = 0.0
    max_bins: BinCount | None = None
    categorical_features: ColumnSelection | Literal["from_dtype"] | None = None
    directional_features: AngleSelection | None = None
    categorical_split: Literal["subset", "level"] = "subset"
    missing: Literal["default", "both", "mean", "mode", "model"] = "default"

    def fit(self, X, y, sample_weight=None):
        """Grow the tree for the angles y."""
        weigh = lambda y: check_sample_weight(sample_weight, len(y))
        X, y = validate_training_data(self, X, y, "numbers", weigh)
        t = to_radians(y, self.period).reshape(len(y), -1)
        w = weigh(y)
        self.n_outputs_ = m = t.shape[1]
        tree = fit_tree(self, X, t, w, Criterion(DIRECTION, m))
        value = from_radians(tree.value, self.period)
        if m > 1:
            R = resultant_lengths(tree, map_dense_blocks(X, tree.apply), t, w)
            value = np.concatenate((value, R[:, :, None]), axis=2)
        self.tree_ = tree._replace(value=value)
        return self

    def predict(self, X):
        """Mean directions of the leaf, from 0 to below the period: (n,) or (n, m)."""
        return self._plain(from_radians(np.angle(self._resultants(X)), self.period))

    def predict_spread(self, X):
        """1 - R, eq. (1), of the leaf: (n,) or (n, m)."""
        return self._plain(np.maximum(1.0 - np.abs(self._resultants(X)), 0.0))

    def _plain(self, answers):
        """Answers (n, m), as (n,) if there is one angle."""
        return answers[:, 0] if self.n_outputs_ == 1 else answers

    def _resultants(self, X):
        """(n, m) r / W by row, as complex numbers."""

        def parts(tree):
            t = to_radians(tree.value[:, :, 0], self.period)
            R = tree.value[:, :, -1]
            if self.n_outputs_ == 1:
                R = 1.0 - tree.impurity[:, None]
            return np.stack([R * np.cos(t), R * np.sin(t)], axis=2)

        r = leaf_values_of_rows(self, X, parts)
        return r[..., 0] + 1j * r[..., 1]

    def score(self, X, y, sample_weight=None):
        """Share of the spread of y that the tree explains: 1 is perfect, 0 the mean.

        1 - sum w (1 - cos(y - prediction)) / sum w (1 - cos(y - mean of y)), the mean
        of that over the angles if there are several.
        """
        t = to_radians(np.asarray(y, float), self.period)
        w = check_sample_weight(sample_weight, len(t))
        answers = self.predict(X)
        if t.shape != answers.shape:
            t = t.reshape(answers.shape)
        off = 1.0 - np.cos(t - to_radians(answers, self.period))
        shares = []
        for each, error in zip(np.atleast_2d(t.T), np.atleast_2d(off.T)):
            total = 1.0 - circular_mean(each, w)[1]
            error = np.average(error, weights=w)
            shares.append(1.0 - error / total if total > 0 else float(error == 0))
        return float(np.mean(shares))


def resultant_lengths(tree, leaf, t, w):
    """(nodes, m) R of eq. (1), from the leaves that the training rows are in."""
    unit = np.exp(1j * t) if w is None else w[:, None] * np.exp(1j * t)
    r = np.zeros((tree.node_count, t.shape[1]), complex)
    np.add.at(r, leaf, unit)
    left, right = tree.children_left, tree.children_right
    for v in range(tree.node_count - 1, -1, -1):  # children come after their parent
        if left[v] != LEAF:
            r[v] = r[left[v]] + r[right[v]]
    return np.minimum(np.abs(r) / tree.weighted_n_node_samples[:, None], 1.0)


def to_radians(y, period):
    """Angles of a period as radians."""
    return np.mod(np.asarray(y, float) / period, 1.0) * (2 * np.pi)


def from_radians(t, period):
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
