"""Gradient boosting with exact trees: small trees, added one after another.

Each round fits a tree to the negative gradient of the loss in least squares, where
every value of a column is a possible threshold, and sets each leaf by one Newton step
(`boosting.py`, eq. 4). With `subsample` below 1 a round sees some of the rows, and the
others show how much it helped.

    f(x) = init(x) + nu sum_t T_t(x)

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

import math
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from ...base import Classifier, Regressor
from ...core.arrays.weighted import check_sample_weight, weighted_quantile
from ...core.random import make_rng
from ...losses import base as kinds
from ...params import (
    Count,
    Flag,
    NonNegative,
    OpenFraction,
    ParameterRule,
    TwoOrMore,
    Verbosity,
)
from ...tree.abstract_decision_tree import (
    HalfAtMost,
    PositiveFraction,
    ProperFraction,
    refuse_tiny_spread,
    resolve_max_features,
    validate_training_data,
)
from ...tree.decision_tree import DecisionTreeRegressor
from ...tree.growing.grower import NO_DEPTH_LIMIT, GrowthLimits
from ...tree.growing.prepared_columns import prepare_columns
from ...typing import Seed
from ..members import checks_warm_start
from .abstract_boosting import (
    AbstractBoosting,
    LossObject,
    classes_from_raw,
    classification_loss,
    concatenate_trees,
    keeps_best_rounds,
    probabilities_from_raw,
    regression_loss,
    set_classes,
    targets_from_codes,
)
from .boosting import (
    MULTICLASS_KINDS,
    QUANTILE_KINDS,
    Booster,
    BoostingOptions,
    BoostingRows,
    check_target_domain,
    quantile_level_and_delta,
)

EPS = np.finfo(float).eps
DEVIANCE_KINDS = (kinds.HALF_SQUARED, kinds.LOGISTIC)  # scores are deviances of these
InitEstimator = Annotated[
    Any,
    ParameterRule(
        "an estimator",
        lambda v: (
            hasattr(v, "fit") and hasattr(v, "predict") and not isinstance(v, type)
        ),
    ),
]
SubsampleFraction = Annotated[
    float, ParameterRule("a number above 0, up to 1", lambda v: 0 < v <= 1)
]
TREE_PARAMETERS = (
    "max_depth",
    "max_leaf_nodes",
    "max_features",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "min_impurity_decrease",
    "ccp_alpha",
)
CriterionName = Literal["friedman_mse", "squared_error", "deprecated"]


class AbstractGradientBoosting(AbstractBoosting):
    """Boosting with exact trees by eq. (4) of `boosting.py`."""

    _tensors = False

    def _initial_raw(self, X):
        K = self.n_trees_per_iteration_
        if isinstance(self.init_, str):
            return np.zeros((len(X), K))
        return raw_prediction_of_init(self, X)

    def _check_inputs(self, X, y, sample_weight, y_kind):
        """X as float32, y and w, all checked; rows of weight 0 are dropped."""
        X, y = validate_training_data(self, X, y, y_kind)
        w = check_sample_weight(sample_weight, X.shape[0])
        if w is not None and not np.all(w > 0):
            keep = np.flatnonzero(w > 0)
            X = X.tocsr()[keep] if sp.issparse(X) else X[keep]
            y, w = y[keep], w[keep]
        return X, y, w

    def _boost(self, X, y, labels, w, K, monitor, given):
        """Run the rounds and store the result; labels are y before encoding.

        `given` are the user's validation rows, or None.
        """
        warm = self._continues()
        kept = self._kept_trees(K)
        if self.n_estimators < len(kept) // K:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to the "
                f"{len(kept) // K} rounds that a warm start goes on from."
            )
        if not warm:
            self._seed = int(make_rng(self.random_state).integers(0, 2**62))
        self.n_trees_per_iteration_ = K
        (X, y, labels, w), held_out = self._hold_out(X, y, labels, w, given)
        self.max_features_ = resolve_max_features(self.max_features, X.shape[1])
        if not warm:
            self._fit_init(X, labels, w)
            self.trees_ = concatenate_trees([], X.shape[1])
        X = X.toarray() if sp.issparse(X) else X
        rows = BoostingRows(X, y, w, self._current_raw_columns(X))
        validation = None
        if held_out is not None:
            V, y_val, w_val = held_out
            V = V.toarray() if sp.issparse(V) else V
            validation = BoostingRows(V, y_val, w_val, self._current_raw_columns(V))
        options = self._boosting_options(
            len(y), float(len(y) if w is None else w.sum())
        )
        booster = Booster(prepare_columns(X, w), rows, options, self._seed, validation)
        self._run_rounds(booster, kept, warm, X, y, monitor)
        return self

    def _current_raw_columns(self, X):
        """(K, n) raw predictions of the trees so far."""
        raw = self._add_rounds(X, self._initial_raw(X), 0, None)
        return np.ascontiguousarray(raw.T)

    def _hold_out(self, X, y, labels, w, given):
        """Training rows and, for early stopping, validation rows."""
        if given is not None and self.n_iter_no_change is None:
            raise ValueError(
                "X_val and y_val are given, but n_iter_no_change=None; it must be a "
                "number of rounds to use them."
            )
        if given is not None or self.n_iter_no_change is None:
            return (X, y, labels, w), given
        stratify = labels if hasattr(self, "classes_") else None
        X = X.tocsr() if sp.issparse(X) else X
        train, test = train_test_split(
            np.arange(X.shape[0]),
            test_size=self.validation_fraction,
            stratify=stratify,
            random_state=self._seed % 2**32,
        )
        part = lambda r: None if w is None else w[r]
        if stratify is not None and len(np.unique(labels[train])) < len(self.classes_):
            raise ValueError(
                "The training data after the early stopping split is missing some "
                "classes. Try using another random seed, or a smaller "
                "validation_fraction."
            )
        held_out = X[test], y[test], part(test)
        return (X[train], y[train], labels[train], part(train)), held_out

    def _fit_init(self, X, labels, w):
        """Fit what boosting starts from, into `init_`."""
        if isinstance(self.init, str):
            self.init_ = self.init
            return
        self.init_ = (
            self._default_init(labels, w) if self.init is None else clone(self.init)
        )
        if w is None:
            self.init_.fit(X, labels)
            return
        try:
            self.init_.fit(X, labels, sample_weight=w)
        except (TypeError, ValueError) as error:  # the second is a pipeline's
            refused = ("argument 'sample_weight'", "accept the sample_weight parameter")
            if not any(text in str(error) for text in refused):
                raise
            raise ValueError(
                f"The initial estimator {type(self.init_).__name__} does not support "
                "sample weights."
            ) from error

    def _boosting_options(self, n, total) -> BoostingOptions:
        """The parameters as options of the rounds."""
        count = lambda v: int(v) if isinstance(v, Integral) else math.ceil(v * n)
        min_leaf = count(self.min_samples_leaf)
        limits = GrowthLimits(
            max_depth=int(NO_DEPTH_LIMIT if self.max_depth is None else self.max_depth),
            min_split=max(count(self.min_samples_split), 2, 2 * min_leaf),
            min_leaf=min_leaf,
            min_weight=float(self.min_weight_fraction_leaf) * total * self.subsample,
            min_gain=(float(self.min_impurity_decrease) - EPS) * total * self.subsample,
            max_leaves=int(self.max_leaf_nodes or 0),
            max_features=self.max_features_,
        )
        loss = self._loss()
        adapts = loss.kind == kinds.HUBER and isinstance(self.loss, str)
        return BoostingOptions(
            loss,
            float(self.learning_rate),
            limits,
            newton=False,
            subsample=float(self.subsample),
            huber_quantile=getattr(self, "alpha", None) if adapts else None,
            ccp_alpha=float(self.ccp_alpha),
        )

    def _run_rounds(self, booster, kept, warm, X, y, monitor):
        """The rounds with their scores, the stopping rule and the monitor."""
        self._factor = 2.0 if self._loss().kind in DEVIANCE_KINDS else 1.0
        options = {name: getattr(self, name) for name in TREE_PARAMETERS}
        earlier = self._tree_options if warm else []
        self._tree_options = [*earlier, (len(kept), options)]
        scores = RoundScores(self, booster, warm, monitor)
        state = booster.initial_state(kept)
        before = getattr(self, "history_", {}) if warm else {}
        rounds = self.n_estimators - len(kept) // booster.K
        result = self._run_driver(
            lambda task: booster.run(state, rounds, scores.stop, task, scores.record),
            total=rounds,
            X=X,
            y=y,
            snapshot=lambda s: {
                "trees_": concatenate_trees(s.trees, self.n_features_in_)
            },
        )
        scores.store(result.state)
        self.best_iteration_ = self.n_estimators_
        if scores.validation:
            self.best_iteration_ = 1 + int(np.argmin(scores.validation))
        if keeps_best_rounds(self, booster):
            scores.keep_rounds(result.state, self.best_iteration_)
        for name, values in before.items():
            self.history_[name] = np.concatenate((values, self.history_.get(name, [])))

    @property
    def estimators_(self):
        """(rounds, K) decision trees, leaf values without the learning rate."""
        check_is_fitted(self)
        out = np.empty(self.trees_.n_trees, object)
        for t, tree in enumerate(self.trees_.to_list()):
            if self.learning_rate:
                tree = tree._replace(value=tree.value / self.learning_rate)
            model = DecisionTreeRegressor(**self._options_of_tree(t))
            model.tree_ = tree
            model.inputs_ = self.inputs_
            model.n_outputs_ = 1
            model.n_features_in_ = self.n_features_in_
            model.max_features_ = self.max_features_
            out[t] = model
        return out.reshape(-1, self.n_trees_per_iteration_)

    def _options_of_tree(self, t) -> dict:
        """Parameters that tree t was grown with; a warm start may have changed them."""
        for first, options in reversed(getattr(self, "_tree_options", [])):
            if t >= first:
                return options
        return {name: getattr(self, name) for name in TREE_PARAMETERS}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class RoundScores:
    """Scores of the rounds, kept on the model, and whether to stop."""

    def __init__(self, model, booster, warm, monitor):
        self.model = model
        self.booster = booster
        self.monitor = monitor
        earlier = lambda name: list(getattr(model, name, [])) if warm else []
        self.train = earlier("train_score_")
        self.oob = earlier("oob_scores_")
        self.improvements = earlier("oob_improvement_")
        self.follows = 0 < len(self.oob) == len(self.train)  # a round with such a score
        # rounds of an earlier fit that saw all rows have 0 for what was not drawn
        skipped = [0.0] * (len(self.train) - len(self.oob))
        self.oob += skipped
        self.improvements += skipped
        self.validation = [np.inf] * len(self.train)  # rounds of an earlier fit
        self.recent = np.full(model.n_iter_no_change or 0, np.inf)
        self.halt = False

    def record(self, state):
        """Append the scores after a round."""
        model = self.model
        factor = model._factor
        i = len(self.train)
        self.train.append(factor * state.objective)
        if model.subsample < 1:
            self.oob.append(factor * state.oob_loss)
            before = self.oob[-2] if self.follows else factor * state.oob_loss_before
            self.improvements.append(before - self.oob[-1])
            self.follows = True
        if self.monitor is not None:
            self.store(state)
            self.halt = bool(self.monitor(i, model, {"state": state}))
        if self.booster.validation is not None:
            late = factor * state.validation
            self.validation.append(late)
            if np.any(late + model.tol < self.recent):
                self.recent[i % len(self.recent)] = late
            else:
                self.halt = True
        return state

    def stop(self, state):
        return self.halt

    def keep_rounds(self, state, n):
        """Set the fitted attributes to those of the first n rounds."""
        self.train, self.oob = self.train[:n], self.oob[:n]
        self.improvements = self.improvements[:n]
        n_trees = n * self.model.n_trees_per_iteration_
        done = self.model.n_iter_
        self.store(state._replace(trees=state.trees[:n_trees]))
        self.model.n_iter_ = done

    def store(self, state):
        """Set the fitted attributes from the rounds so far."""
        model = self.model
        model.trees_ = concatenate_trees(state.trees, model.n_features_in_)
        model.n_estimators_ = model.trees_.n_trees // model.n_trees_per_iteration_
        model.n_iter_ = model.n_estimators_
        model.train_score_ = np.array(self.train)
        if model.subsample < 1 and len(self.oob) == len(self.train):
            model.oob_scores_ = np.array(self.oob)
            model.oob_improvement_ = np.array(self.improvements)
            model.oob_score_ = float(self.oob[-1])


def raw_prediction_of_init(model, X):
    """(n, K) raw predictions of the estimator that boosting starts from."""
    loss = model._loss()
    first = model.init_
    if not hasattr(model, "classes_"):
        return loss.link(np.asarray(first.predict(X), float)).reshape(len(X), 1)
    if not hasattr(first, "predict_proba"):
        raise ValueError(
            f"init of {type(model).__name__} must have predict_proba, "
            f"{type(first).__name__} has not."
        )
    p = np.clip(np.asarray(first.predict_proba(X), float), EPS, 1 - EPS)
    if model.n_trees_per_iteration_ > 1:
        logs = np.log(p)
        return logs - logs.mean(axis=1, keepdims=True)
    odds = np.log(p[:, 1]) - np.log1p(-p[:, 1])
    return (odds / 2 if loss.kind == kinds.EXPONENTIAL else odds)[:, None]


@dataclass(eq=False, repr=False)
class GradientBoostingRegressor(Regressor, AbstractGradientBoosting):
    """Gradient boosting of numbers with exact trees.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "quantile", "poisson", \
            "gamma", "tweedie"} or Loss, default="squared_error"
        The loss to minimise. "huber" sets its delta in each round, as the `alpha`
        quantile of the residuals; a `losses.huber(2.0)` keeps its own.
    learning_rate : float, default=0.1
        Factor of the leaf values.
    n_estimators : int, default=100
        Rounds.
    subsample : float, default=1.0
        Share of the rows that are drawn for each round.
    criterion : {"friedman_mse", "squared_error", "deprecated"}, default="deprecated"
        All names mean the same criterion.
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
        What the rounds start from; None is the best constant.
    random_state : int, RandomState, Generator or None, default=None
        For subsample, max_features and the rows held out.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Features drawn at each node.
    alpha : float, default=0.9
        The quantile of loss="quantile" and of the delta of loss="huber".
    verbose : int, default=0
        Whether to show a progress bar.
    max_leaf_nodes : int or None, default=None
        If given, nodes are split in the order of their gain up to so many leaves.
    warm_start : bool, default=False
        Whether `fit` adds rounds to those of the last fit.
    validation_fraction : float, default=0.1
        Share of the rows held out for early stopping; none are where `fit` is given
        X_val and y_val.
    n_iter_no_change : int or None, default=None
        If given, stop after so many rounds without improvement on held-out rows.
    tol : float, default=1e-4
        Smaller improvements do not count.
    keep_best : "auto" or bool, default="auto"
        Whether the model ends with the round of the best loss on held-out rows;
        otherwise it has all rounds that were done (as scikit-learn's has). "auto" is
        True where rows are held out, unless warm_start is set.
    ccp_alpha : float, default=0.0
        Cost of a leaf in cost-complexity pruning of each tree.

    Attributes
    ----------
    estimators_ : array of DecisionTreeRegressor, shape (n_estimators_, 1)
    trees_ : Trees
        The same concatenated, leaf values times the learning rate.
    n_estimators_ : int
        Rounds that the model has.
    best_iteration_ : int
        Rounds up to the best loss on held-out rows; n_estimators_ without them.
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
    min_samples_split: TwoOrMore | PositiveFraction = 2
    min_samples_leaf: Count | ProperFraction = 1
    min_weight_fraction_leaf: HalfAtMost = 0.0
    max_depth: Count | None = 3
    min_impurity_decrease: NonNegative = 0.0
    init: InitEstimator | Literal["zero"] | None = None
    random_state: Seed = None
    max_features: Count | PositiveFraction | Literal["sqrt", "log2"] | None = None
    alpha: OpenFraction = 0.9
    verbose: Verbosity = 0
    max_leaf_nodes: TwoOrMore | None = None
    warm_start: Flag = False
    validation_fraction: OpenFraction = 0.1
    n_iter_no_change: Count | None = None
    tol: NonNegative = 1e-4
    keep_best: Literal["auto"] | Flag = "auto"
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
        X, y, w = self._check_inputs(X, y, sample_weight, "number")
        y = np.asarray(y, float)
        check_target_domain(self._loss(), y, type(self).__name__)
        if self._loss().kind not in QUANTILE_KINDS:
            refuse_tiny_spread(y, type(self).__name__)
        given = self._validation_rows(X_val, y_val, sample_weight_val)
        return self._boost(X, y, y, w, 1, monitor, given)

    def predict(self, X):
        """The predicted mean (or quantile) of each row."""
        return self._loss().link.inverse(self._raw(X)[:, 0])

    def staged_predict(self, X):
        """Predictions after each round."""
        for raw in self._staged_raw(X):
            yield self._loss().link.inverse(raw[:, 0])

    def apply(self, X):
        """(n, rounds) numbers of the leaves that rows fall into."""
        return super().apply(X)[:, :, 0]

    def _loss(self):
        return regression_loss(self.loss, self.alpha, type(self).__name__)

    def _default_init(self, y, w):
        """The constant that boosting starts from for init=None."""
        loss = self._loss()
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
        The loss to minimise; "exponential" is for two classes.
    learning_rate : float, default=0.1
        Factor of the leaf values.
    n_estimators : int, default=100
        Rounds; one tree each, or one per class if there are more than two.
    subsample : float, default=1.0
        Share of the rows that are drawn for each round.
    criterion : {"friedman_mse", "squared_error", "deprecated"}, default="deprecated"
        All names mean the same criterion.
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
        What the rounds start from; None is the shares of the classes.
    random_state : int, RandomState, Generator or None, default=None
        For subsample, max_features and the rows held out.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Features drawn at each node.
    verbose : int, default=0
        Whether to show a progress bar.
    max_leaf_nodes : int or None, default=None
        If given, nodes are split in the order of their gain up to so many leaves.
    warm_start : bool, default=False
        Whether `fit` adds rounds to those of the last fit.
    validation_fraction : float, default=0.1
        Share of the rows held out for early stopping; none are where `fit` is given
        X_val and y_val.
    n_iter_no_change : int or None, default=None
        If given, stop after so many rounds without improvement on held-out rows.
    tol : float, default=1e-4
        Smaller improvements do not count.
    keep_best : "auto" or bool, default="auto"
        Whether the model ends with the round of the best loss on held-out rows;
        otherwise it has all rounds that were done (as scikit-learn's has). "auto" is
        True where rows are held out, unless warm_start is set.
    ccp_alpha : float, default=0.0
        Cost of a leaf in cost-complexity pruning of each tree.

    Attributes
    ----------
    classes_ : array
    n_classes_ : int
    estimators_ : array of DecisionTreeRegressor, shape (n_estimators_, K)
    trees_ : Trees
        The same concatenated, leaf values times the learning rate.
    n_estimators_ : int
        Rounds that the model has.
    best_iteration_ : int
        Rounds up to the best loss on held-out rows; n_estimators_ without them.
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
    min_samples_split: TwoOrMore | PositiveFraction = 2
    min_samples_leaf: Count | ProperFraction = 1
    min_weight_fraction_leaf: HalfAtMost = 0.0
    max_depth: Count | None = 3
    min_impurity_decrease: NonNegative = 0.0
    init: InitEstimator | Literal["zero"] | None = None
    random_state: Seed = None
    max_features: Count | PositiveFraction | Literal["sqrt", "log2"] | None = None
    verbose: Verbosity = 0
    max_leaf_nodes: TwoOrMore | None = None
    warm_start: Flag = False
    validation_fraction: OpenFraction = 0.1
    n_iter_no_change: Count | None = None
    tol: NonNegative = 1e-4
    keep_best: Literal["auto"] | Flag = "auto"
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
        X, y, w = self._check_inputs(X, y, sample_weight, "class")
        codes = set_classes(self, y)
        self.n_classes_ = len(self.classes_)
        loss = self._loss()
        K = self.n_classes_ if loss.kind in MULTICLASS_KINDS else 1
        given = self._validation_rows(X_val, y_val, sample_weight_val)
        return self._boost(X, targets_from_codes(loss, codes), y, w, K, monitor, given)

    def predict(self, X):
        """The class of highest raw prediction."""
        return classes_from_raw(self, self._raw(X))

    def predict_proba(self, X):
        """Class probabilities (n, classes)."""
        raw = self._raw(X)
        return probabilities_from_raw(self._loss(), raw)

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
            yield probabilities_from_raw(self._loss(), raw)

    def staged_decision_function(self, X):
        """Raw predictions after each round."""
        for raw in self._staged_raw(X):
            yield raw[:, 0] if raw.shape[1] == 1 else raw

    def _loss(self):
        return classification_loss(self.loss, len(self.classes_), type(self).__name__)

    def _default_init(self, y, w):
        """The constant that boosting starts from for init=None."""
        return DummyClassifier(strategy="prior")
