"""Gradient boosting on bins: the fast booster, for tables of any size.

Columns become up to 255 bins; every round grows a tree best first on sums of first
and second derivatives by bin (`boosting.py`, eq. 2). Missing values go to the side
where they do best, categories are split into two sets, monotone and interaction
constraints hold in every tree.

    f(x) = b + sum_t nu T_t(x)      mean = g^-1(f): identity, log, sigmoid, softmax

X may be a Parquet file or dataset: it is read twice, and kept as one byte per value.

Time O(n d) a tree, whatever its size up to the depth; memory n d bytes and O(n).

Shapes    X (n, d)   y (n,)
Refs      [Friedman2001] [Chen2016] [Ke2017]
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from ..base import Classifier, Regressor
from ..params import (
    Count,
    Flag,
    Fraction,
    NonNegative,
    OpenFraction,
    Positive,
    Verbosity,
)
from ..tree.abstract import Bins, Share, TwoOrMore
from ..typing import Matrix, Seed, Words
from .abstract_boosting import (
    LossObject,
    class_weights,
    classes_from_raw,
    classification_loss,
    probabilities_from_raw,
    regression_loss,
    set_classes,
    targets_from_codes,
)
from .histograms import (
    AbstractHistGradientBoosting,
    Interactions,
    Splitter,
    seed_of_fit,
)
from .members import checks_warm_start
from .targets import MULTICLASS_KINDS, check_target_domain


@dataclass(eq=False, repr=False)
class HistGradientBoostingRegressor(Regressor, AbstractHistGradientBoosting):
    """Gradient boosting of numbers on binned columns.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "gamma", "poisson", "quantile", \
            "huber", "tweedie", "pinball"} or Loss, default="squared_error"
        What is made small. "gamma", "poisson" and "tweedie" predict through a log
        link. Any loss of numbers of `pansophy.losses` can be given as an object, with
        a parameter of its own: `losses.huber(2.0)`, `losses.tweedie(1.7)`.
    quantile : float or None, default=None
        Which quantile loss="quantile" asks for.
    learning_rate : float, default=0.1
        What leaf values are multiplied by.
    max_iter : int, default=100
        Rounds at most; a round is one tree.
    max_leaf_nodes : int or None, default=31
        Leaves of a tree at most; the split of largest gain comes first.
    max_depth : int or None, default=None
        Splits between root and leaf at most.
    min_samples_leaf : int, default=20
        Rows in a leaf at least.
    l2_regularization : float, default=0.0
        Price of the square of a leaf value.
    max_features : float, default=1.0
        Share of the features that each node chooses from, drawn anew.
    max_bins : int, default=255
        Bins of a column at most, besides the one for missing values.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        A mask, indices or names; "from_dtype" takes the categorical and text columns
        of a data frame.
    monotonic_cst : array-like of -1, 0, 1, dict or None, default=None
        By feature (or feature name): predictions may only fall, are free, may only
        rise.
    interaction_cst : {"pairwise", "no_interactions"}, list of lists or None, \
            default=None
        Features that may meet on one path of a tree.
    warm_start : bool, default=False
        Whether `fit` adds rounds to those there are, up to max_iter.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop when the score of the validation rows rests; "auto" is True
        for more than 10,000 rows.
    scoring : str, callable or None, default="loss"
        What is watched: the loss, or a scorer; None is the model's own score.
    validation_fraction : int, float, splitter or None, default=0.1
        Rows held out for early stopping: how many, which share, or the first split
        of a splitter. None watches the training rows.
    n_iter_no_change : int, default=10
        Rounds without progress until a stop.
    tol : float, default=1e-7
        Progress smaller than this is none.
    verbose : int, default=0
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=None
        For the rows held out and for max_features.

    Attributes
    ----------
    trees_ : Trees
        All trees end to end, leaf values times the learning rate.
    baseline_ : array of shape (1,)
        The raw prediction before the first tree.
    n_iter_ : int
    n_trees_per_iteration_ : int
    train_score_, validation_score_ : arrays of shape (n_iter_ + 1,)
        Scores before the first round and after each; empty without early stopping.
    do_early_stopping_ : bool
    is_categorical_ : mask of shape (n_features,) or None
    feature_importances_ : array of shape (n_features,)
        Share of the total gain.
    history_ : dict
        "objective", the mean training loss, and "validation", by round.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import HistGradientBoostingRegressor
    >>> X = np.arange(200.0)[:, None]
    >>> model = HistGradientBoostingRegressor(max_iter=50).fit(X, np.sqrt(X[:, 0]))
    >>> bool(abs(model.predict([[100.0]])[0] - 10) < 0.2)
    True
    """

    loss: (
        Literal[
            "squared_error",
            "absolute_error",
            "gamma",
            "poisson",
            "quantile",
            "huber",
            "tweedie",
            "pinball",
        ]
        | LossObject
    ) = "squared_error"
    _: KW_ONLY
    quantile: Fraction | None = None
    learning_rate: Positive = 0.1
    max_iter: Count = 100
    max_leaf_nodes: TwoOrMore | None = 31
    max_depth: Count | None = None
    min_samples_leaf: Count = 20
    l2_regularization: NonNegative = 0.0
    max_features: Share = 1.0
    max_bins: Bins = 255
    categorical_features: Literal["from_dtype"] | Words | Matrix | None = "from_dtype"
    monotonic_cst: dict | Words | Matrix | None = None
    interaction_cst: Literal["pairwise", "no_interactions"] | Interactions | None = None
    warm_start: Flag = False
    early_stopping: Literal["auto"] | Flag = "auto"
    scoring: str | Callable | None = "loss"
    validation_fraction: Count | OpenFraction | Splitter | None = 0.1
    n_iter_no_change: Count = 10
    tol: NonNegative = 1e-7
    verbose: Verbosity = 0
    random_state: Seed = None

    @checks_warm_start("trees_")
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
    ):
        """Boost on X, y; stop by X_val, y_val where they are given."""
        X, y, w = self._take(X, y, sample_weight, "number")
        y = np.asarray(y, float)
        used = y if w is None else y[w > 0]
        check_target_domain(self._loss_of(), used, type(self).__name__)
        self._seed = seed_of_fit(self)
        held = self._given_rows(X_val, y_val, sample_weight_val)
        (X, y, w), held = self._held_out(X, y, w, held, False)
        return self._boost(X, y, w, held, 1)

    def predict(self, X):
        """The predicted mean (or quantile) of each row."""
        return self._loss_of().link.inverse(self._raw(X)[:, 0])

    def staged_predict(self, X):
        """Predictions after each round."""
        for raw in self._staged_raw(X):
            yield self._loss_of().link.inverse(raw[:, 0])

    def _loss_of(self):
        return regression_loss(self.loss, self.quantile, type(self).__name__)


@dataclass(eq=False, repr=False)
class HistGradientBoostingClassifier(Classifier, AbstractHistGradientBoosting):
    """Gradient boosting of classes on binned columns.

    Parameters
    ----------
    loss : {"log_loss", "exponential"} or Loss, default="log_loss"
        What is made small: the log loss of two or more classes, the exponential loss
        of two, or any loss of classes of `pansophy.losses` as an object.
    learning_rate : float, default=0.1
        What leaf values are multiplied by.
    max_iter : int, default=100
        Rounds at most; a round is one tree, or one per class if there are several.
    max_leaf_nodes : int or None, default=31
        Leaves of a tree at most; the split of largest gain comes first.
    max_depth : int or None, default=None
        Splits between root and leaf at most.
    min_samples_leaf : int, default=20
        Rows in a leaf at least.
    l2_regularization : float, default=0.0
        Price of the square of a leaf value.
    max_features : float, default=1.0
        Share of the features that each node chooses from, drawn anew.
    max_bins : int, default=255
        Bins of a column at most, besides the one for missing values.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        A mask, indices or names; "from_dtype" takes the categorical and text columns
        of a data frame.
    monotonic_cst : array-like of -1, 0, 1, dict or None, default=None
        By feature (or feature name): the second class's probability may only fall,
        is free, may only rise.
    interaction_cst : {"pairwise", "no_interactions"}, list of lists or None, \
            default=None
        Features that may meet on one path of a tree.
    warm_start : bool, default=False
        Whether `fit` adds rounds to those there are, up to max_iter.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop when the score of the validation rows rests; "auto" is True
        for more than 10,000 rows.
    scoring : str, callable or None, default="loss"
        What is watched: the loss, or a scorer; None is the model's own score.
    validation_fraction : int, float, splitter or None, default=0.1
        Rows held out for early stopping: how many, which share, or the first split
        of a splitter. None watches the training rows.
    n_iter_no_change : int, default=10
        Rounds without progress until a stop.
    tol : float, default=1e-7
        Progress smaller than this is none.
    verbose : int, default=0
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=None
        For the rows held out and for max_features.
    class_weight : dict, "balanced" or None, default=None
        Weights of the rows by class.

    Attributes
    ----------
    classes_ : array
    trees_ : Trees
        All trees end to end, leaf values times the learning rate.
    baseline_ : array of shape (n_trees_per_iteration_,)
        The raw predictions before the first tree.
    n_iter_ : int
    n_trees_per_iteration_ : int
        1 for two classes, else one per class.
    train_score_, validation_score_ : arrays of shape (n_iter_ + 1,)
        Scores before the first round and after each; empty without early stopping.
    do_early_stopping_ : bool
    is_categorical_ : mask of shape (n_features,) or None
    feature_importances_ : array of shape (n_features,)
        Share of the total gain.
    history_ : dict
        "objective", the mean training loss, and "validation", by round.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import HistGradientBoostingClassifier
    >>> X = np.arange(200.0)[:, None]
    >>> y = np.where(X[:, 0] < 60, "low", "high")
    >>> model = HistGradientBoostingClassifier(max_iter=20).fit(X, y)
    >>> model.predict([[10.0], [150.0]])
    array(['low', 'high'], dtype='<U4')
    """

    loss: Literal["log_loss", "exponential"] | LossObject = "log_loss"
    _: KW_ONLY
    learning_rate: Positive = 0.1
    max_iter: Count = 100
    max_leaf_nodes: TwoOrMore | None = 31
    max_depth: Count | None = None
    min_samples_leaf: Count = 20
    l2_regularization: NonNegative = 0.0
    max_features: Share = 1.0
    max_bins: Bins = 255
    categorical_features: Literal["from_dtype"] | Words | Matrix | None = "from_dtype"
    monotonic_cst: dict | Words | Matrix | None = None
    interaction_cst: Literal["pairwise", "no_interactions"] | Interactions | None = None
    warm_start: Flag = False
    early_stopping: Literal["auto"] | Flag = "auto"
    scoring: str | Callable | None = "loss"
    validation_fraction: Count | OpenFraction | Splitter | None = 0.1
    n_iter_no_change: Count = 10
    tol: NonNegative = 1e-7
    verbose: Verbosity = 0
    random_state: Seed = None
    class_weight: dict | Literal["balanced"] | None = None

    @checks_warm_start("trees_")
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
    ):
        """Boost on X, y; stop by X_val, y_val where they are given."""
        X, y, w = self._take(X, y, sample_weight, "class")
        w = class_weights(self.class_weight, y, w)
        codes = set_classes(self, y)
        loss = self._loss_of()
        y = targets_from_codes(loss, codes)
        self._seed = seed_of_fit(self)
        held = self._given_rows(X_val, y_val, sample_weight_val)
        (X, y, w), held = self._held_out(X, y, w, held, True)
        K = len(self.classes_) if loss.kind in MULTICLASS_KINDS else 1
        return self._boost(X, y, w, held, K)

    def predict(self, X):
        """The class of highest raw prediction."""
        return classes_from_raw(self, self._raw(X))

    def predict_proba(self, X):
        """Class probabilities (n, classes)."""
        raw = self._raw(X)
        return probabilities_from_raw(self._loss_of(), raw)

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
