"""Gradient boosting with exact trees: small trees, one after another.

Each round fits a tree to the negative gradient of the loss in squares, every value of
a column being a possible threshold, and moves each leaf by one step of its own
(`boosting.py`, eq. 3). With `subsample` below 1 a round sees a part of the rows and
the others tell how much it helped.

    f(x) = start(x) + nu sum_t T_t(x)

The results are scikit-learn's for the same parameters, except: ties between equally
good splits go to the lowest feature; the start and the leaves of "quantile",
"absolute_error" and "huber" are the value at which the weights reach the level, midway
to the next where they reach it exactly; draws of `subsample` and `max_features`
differ. Missing values are accepted.

For more than some ten thousand rows HistGradientBoosting* is the faster choice.

Time O(n d depth) a round after one sort of every column; memory 8 bytes a value.

Shapes    X (n, d)   y (n,)
Refs      [Friedman2001] [Friedman2002]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from ..base import Classifier, Regressor
from ..losses.base import weighted_quantile
from ..params import Count, Flag, NonNegative, OpenFraction, Verbosity
from ..params import Rule as ParameterRule
from ..tree.abstract import HalfAtMost, OpenShare, Share, TwoOrMore
from ..typing import Seed
from .abstract_boosting import (
    LossObject,
    classes_from_raw,
    classification_loss,
    probabilities_from_raw,
    regression_loss,
    set_classes,
    targets_from_codes,
)
from .members import checks_warm_start
from .stages import AbstractGradientBoosting, InitEstimator
from .targets import (
    MULTICLASS_KINDS,
    QUANTILE_KINDS,
    check_target_domain,
    quantile_level_and_delta,
)

SubsampleFraction = Annotated[
    float, ParameterRule("a number above 0, up to 1", lambda v: 0 < v <= 1)
]
CriterionName = Literal["friedman_mse", "squared_error", "deprecated"]


@dataclass(eq=False, repr=False)
class GradientBoostingRegressor(Regressor, AbstractGradientBoosting):
    """Gradient boosting of numbers with exact trees.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "quantile", "poisson", \
            "gamma", "tweedie"} or Loss, default="squared_error"
        What is made small. "huber" takes its delta anew in each round, as the `alpha`
        quantile of the residuals; a `losses.huber(2.0)` keeps its own.
    learning_rate : float, default=0.1
        What the leaves are multiplied by.
    n_estimators : int, default=100
        Rounds.
    subsample : float, default=1.0
        Share of the rows that a round sees, drawn anew.
    criterion : {"friedman_mse", "squared_error", "deprecated"}, default="deprecated"
        Names of one and the same criterion.
    min_samples_split : int or float, default=2
        Rows a node needs to be split; a fraction is of all rows.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split must keep.
    min_weight_fraction_leaf : float, default=0.0
        Share of the total weight that each side of a split must keep.
    max_depth : int or None, default=3
        Most splits between root and leaf.
    min_impurity_decrease : float, default=0.0
        Gain, as a share of the total weight, that a split must reach.
    init : estimator, "zero" or None, default=None
        What boosting starts from; None is the best constant.
    random_state : int, RandomState, Generator or None, default=None
        For subsample, max_features and the rows held out.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Features drawn at each node.
    alpha : float, default=0.9
        The quantile of loss="quantile" and of the delta of loss="huber".
    verbose : int, default=0
        Whether to show a progress bar.
    max_leaf_nodes : int or None, default=None
        If given, nodes are split in the order of their gain until there are so many.
    warm_start : bool, default=False
        Whether `fit` adds rounds to those there are.
    validation_fraction : float, default=0.1
        Share of the rows held out for early stopping; none are where `fit` is given
        X_val and y_val.
    n_iter_no_change : int or None, default=None
        If given, stop after so many rounds without progress on rows held out.
    tol : float, default=1e-4
        Progress smaller than this is none.
    ccp_alpha : float, default=0.0
        Price of a leaf for cost-complexity pruning of each tree.

    Attributes
    ----------
    estimators_ : array of DecisionTreeRegressor, shape (n_estimators_, 1)
    trees_ : Trees
        The same end to end, leaf values times the learning rate.
    n_estimators_ : int
    n_trees_per_iteration_ : int
    init_ : estimator or "zero"
    train_score_ : array of shape (n_estimators_,)
        Loss of the rows that each round saw, after it; squared error is not halved.
    oob_improvement_, oob_scores_, oob_score_
        Loss of the rows that a round did not see, and its fall; if subsample < 1.
    feature_importances_ : array of shape (n_features,)
    max_features_ : int

    Examples
    --------
    >>> from pansophy.ensemble import GradientBoostingRegressor
    >>> model = GradientBoostingRegressor(n_estimators=200, max_depth=1)
    >>> model.fit([[1], [2], [3], [4]], [1.0, 1.0, 5.0, 7.0])
    GradientBoostingRegressor(max_depth=1, n_estimators=200)
    >>> model.predict([[0], [9]]).round(2)
    array([1., 7.])
    """

    _: KW_ONLY
    loss: (
        Literal[
            "squared_error",
            "absolute_error",
            "huber",
            "quantile",
            "poisson",
            "gamma",
            "tweedie",
        ]
        | LossObject
    ) = "squared_error"
    learning_rate: NonNegative = 0.1
    n_estimators: Count = 100
    subsample: SubsampleFraction = 1.0
    criterion: CriterionName = "deprecated"
    min_samples_split: TwoOrMore | Share = 2
    min_samples_leaf: Count | OpenShare = 1
    min_weight_fraction_leaf: HalfAtMost = 0.0
    max_depth: Count | None = 3
    min_impurity_decrease: NonNegative = 0.0
    init: InitEstimator | Literal["zero"] | None = None
    random_state: Seed = None
    max_features: Count | Share | Literal["sqrt", "log2"] | None = None
    alpha: OpenFraction = 0.9
    verbose: Verbosity = 0
    max_leaf_nodes: TwoOrMore | None = None
    warm_start: Flag = False
    validation_fraction: OpenFraction = 0.1
    n_iter_no_change: Count | None = None
    tol: NonNegative = 1e-4
    ccp_alpha: NonNegative = 0.0

    @checks_warm_start("trees_")
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        monitor=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
    ):
        """Boost on X, y; stop by X_val, y_val where they are given.

        `monitor(round, model, locals)` may end it by True.
        """
        X, y, w = self._take(X, y, sample_weight, "number")
        y = np.asarray(y, float)
        check_target_domain(self._loss_of(), y, type(self).__name__)
        held = self._given_rows(X_val, y_val, sample_weight_val)
        return self._boost(X, y, y, w, 1, monitor, held)

    def predict(self, X):
        """The predicted mean (or quantile) of each row."""
        return self._loss_of().link.inverse(self._raw(X)[:, 0])

    def staged_predict(self, X):
        """Predictions after each round."""
        for raw in self._staged_raw(X):
            yield self._loss_of().link.inverse(raw[:, 0])

    def apply(self, X):
        """(n, rounds) numbers of the leaves that rows fall into."""
        return super().apply(X)[:, :, 0]

    def _loss_of(self):
        return regression_loss(self.loss, self.alpha, type(self).__name__)

    def _plain(self, y, w):
        """The constant that boosting starts from by itself."""
        loss = self._loss_of()
        if loss.kind not in QUANTILE_KINDS:
            return DummyRegressor(strategy="mean")
        # the quantile of the leaves: unlike an interpolated one it minimises the loss,
        # and a weight of k moves it as k rows do
        best = float(
            weighted_quantile(
                np.asarray(y, float), w, quantile_level_and_delta(loss)[0]
            )
        )
        return DummyRegressor(strategy="constant", constant=best)


@dataclass(eq=False, repr=False)
class GradientBoostingClassifier(Classifier, AbstractGradientBoosting):
    """Gradient boosting of classes with exact trees.

    Parameters
    ----------
    loss : {"log_loss", "exponential"} or Loss, default="log_loss"
        What is made small; "exponential" is for two classes.
    learning_rate : float, default=0.1
        What the leaves are multiplied by.
    n_estimators : int, default=100
        Rounds; one tree each, or one per class if there are more than two.
    subsample : float, default=1.0
        Share of the rows that a round sees, drawn anew.
    criterion : {"friedman_mse", "squared_error", "deprecated"}, default="deprecated"
        Names of one and the same criterion.
    min_samples_split : int or float, default=2
        Rows a node needs to be split; a fraction is of all rows.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split must keep.
    min_weight_fraction_leaf : float, default=0.0
        Share of the total weight that each side of a split must keep.
    max_depth : int or None, default=3
        Most splits between root and leaf.
    min_impurity_decrease : float, default=0.0
        Gain, as a share of the total weight, that a split must reach.
    init : estimator, "zero" or None, default=None
        What boosting starts from; None is the shares of the classes.
    random_state : int, RandomState, Generator or None, default=None
        For subsample, max_features and the rows held out.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Features drawn at each node.
    verbose : int, default=0
        Whether to show a progress bar.
    max_leaf_nodes : int or None, default=None
        If given, nodes are split in the order of their gain until there are so many.
    warm_start : bool, default=False
        Whether `fit` adds rounds to those there are.
    validation_fraction : float, default=0.1
        Share of the rows held out for early stopping; none are where `fit` is given
        X_val and y_val.
    n_iter_no_change : int or None, default=None
        If given, stop after so many rounds without progress on rows held out.
    tol : float, default=1e-4
        Progress smaller than this is none.
    ccp_alpha : float, default=0.0
        Price of a leaf for cost-complexity pruning of each tree.

    Attributes
    ----------
    classes_ : array
    n_classes_ : int
    estimators_ : array of DecisionTreeRegressor, shape (n_estimators_, K)
    trees_ : Trees
        The same end to end, leaf values times the learning rate.
    n_estimators_ : int
    n_trees_per_iteration_ : int
        K: 1 for two classes, else one per class.
    init_ : estimator or "zero"
    train_score_ : array of shape (n_estimators_,)
        Loss of the rows that each round saw, after it; the deviance for two classes.
    oob_improvement_, oob_scores_, oob_score_
        Loss of the rows that a round did not see, and its fall; if subsample < 1.
    feature_importances_ : array of shape (n_features,)
    max_features_ : int

    Examples
    --------
    >>> from pansophy.ensemble import GradientBoostingClassifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 5
    >>> model = GradientBoostingClassifier().fit(X, ["a", "b", "b", "c"] * 5)
    >>> model.predict([[0, 0], [1, 0], [1, 1]])
    array(['a', 'b', 'c'], dtype='<U1')
    """

    _: KW_ONLY
    loss: Literal["log_loss", "exponential"] | LossObject = "log_loss"
    learning_rate: NonNegative = 0.1
    n_estimators: Count = 100
    subsample: SubsampleFraction = 1.0
    criterion: CriterionName = "deprecated"
    min_samples_split: TwoOrMore | Share = 2
    min_samples_leaf: Count | OpenShare = 1
    min_weight_fraction_leaf: HalfAtMost = 0.0
    max_depth: Count | None = 3
    min_impurity_decrease: NonNegative = 0.0
    init: InitEstimator | Literal["zero"] | None = None
    random_state: Seed = None
    max_features: Count | Share | Literal["sqrt", "log2"] | None = None
    verbose: Verbosity = 0
    max_leaf_nodes: TwoOrMore | None = None
    warm_start: Flag = False
    validation_fraction: OpenFraction = 0.1
    n_iter_no_change: Count | None = None
    tol: NonNegative = 1e-4
    ccp_alpha: NonNegative = 0.0

    @checks_warm_start("trees_")
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        monitor=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
    ):
        """Boost on X, y; stop by X_val, y_val where they are given.

        `monitor(round, model, locals)` may end it by True.
        """
        X, y, w = self._take(X, y, sample_weight, "class")
        codes = set_classes(self, y)
        self.n_classes_ = len(self.classes_)
        loss = self._loss_of()
        K = self.n_classes_ if loss.kind in MULTICLASS_KINDS else 1
        held = self._given_rows(X_val, y_val, sample_weight_val)
        return self._boost(X, targets_from_codes(loss, codes), y, w, K, monitor, held)

    def predict(self, X):
        """The class of highest raw prediction."""
        return classes_from_raw(self, self._raw(X))

    def predict_proba(self, X):
        """Class probabilities (n, classes)."""
        raw = self._raw(X)
        return probabilities_from_raw(self._loss_of(), raw)

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_function(self, X):
        """Raw predictions: (n,) for two classes, else (n, classes)."""
        raw = self._raw(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def staged_predict(self, X):
        """Classes after each round."""
        for raw in self._staged_raw(X):
            yield classes_from_raw(self, raw)

    def staged_predict_proba(self, X):
        """Class probabilities after each round."""
        for raw in self._staged_raw(X):
            yield probabilities_from_raw(self._loss_of(), raw)

    def staged_decision_function(self, X):
        """Raw predictions after each round."""
        for raw in self._staged_raw(X):
            yield raw[:, 0] if raw.shape[1] == 1 else raw

    def _loss_of(self):
        return classification_loss(self.loss, len(self.classes_), type(self).__name__)

    def _plain(self, y, w):
        """The constant that boosting starts from by itself."""
        return DummyClassifier(strategy="prior")
