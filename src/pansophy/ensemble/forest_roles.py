"""Forests for classes and forests for numbers: what their fits and answers share."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from ..base import Classifier, Regressor
from ..params import (
    Count,
    Flag,
    Jobs,
    NonNegative,
    ParameterError,
    Rule,
    Verbosity,
)
from ..tree.abstract import (
    Bins,
    Columns,
    HalfAtMost,
    OpenShare,
    Share,
    Signs,
    TwoOrMore,
    begin,
    weights_of,
)
from ..tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from ..tree.extra_tree import ExtraTreeClassifier, ExtraTreeRegressor
from ..tree.roles import target_of_classes, target_of_numbers
from ..typing import Seed
from . import forest_uncertainty as spread
from .abstract_forest import AbstractForest
from .members import checks_warm_start

CLASS_WEIGHT_NAMES = ("balanced", "balanced_subsample")
ForestClassWeight = Annotated[
    Any,
    Rule(
        "'balanced', 'balanced_subsample', a dict by class or a list of dicts",
        lambda v: (
            isinstance(v, (dict, list))
            or (isinstance(v, str) and v in CLASS_WEIGHT_NAMES)
        ),
    ),
]


PositiveFactor = Annotated[float, Rule("a fraction above 0", lambda v: 0 < v < np.inf)]


@dataclass(eq=False, repr=False)
class AbstractSupervisedForest(AbstractForest):
    """The parameters of a forest that is told targets."""

    n_estimators: Count = 100
    _: KW_ONLY
    criterion: Any = ""
    max_depth: Count | None = None
    min_samples_split: TwoOrMore | Share = 2
    min_samples_leaf: Count | OpenShare = 1
    min_weight_fraction_leaf: HalfAtMost = 0.0
    max_features: Count | Share | Literal["sqrt", "log2"] | None = 1.0
    max_leaf_nodes: TwoOrMore | None = None
    min_impurity_decrease: NonNegative = 0.0
    bootstrap: Flag = True
    oob_score: Flag | Callable = False
    n_jobs: Jobs = None
    random_state: Seed = None
    verbose: Verbosity = 0
    warm_start: Flag = False
    ccp_alpha: NonNegative = 0.0
    max_samples: Count | PositiveFactor | None = None
    monotonic_cst: Signs | None = None
    max_bins: Bins | None = 255
    categorical_features: Columns | Literal["from_dtype"] | None = None


@dataclass(eq=False, repr=False)
class AbstractForestClassifier(Classifier, AbstractSupervisedForest):
    """The mean of the trees' class shares."""

    _: KW_ONLY
    criterion: Literal["gini", "entropy", "log_loss"] = "gini"
    class_weight: ForestClassWeight | None = None

    @checks_warm_start("forest_")
    def fit(self, X, y, sample_weight=None):
        """Grow the forest for the classes y, one column or several."""
        weigh = lambda y: self._weigh(y, sample_weight)
        X, y = begin(self, X, y, "labels", weigh)
        w = weigh(y)
        target = target_of_classes(self, y, X.shape[1], self._same_targets)
        if self.n_outputs_ > 1:
            self.n_classes_: Any = list(self.n_classes_)
        return self._grow(X, target.Y, w, target.criterion, target.signs)

    def _weigh(self, y, sample_weight):
        """Row weights times the factors of their classes, or None."""
        w = weights_of(sample_weight, len(y))
        if self.class_weight is None or (
            self.class_weight == "balanced_subsample" and self.bootstrap
        ):
            return w
        rule = self.class_weight
        rule = "balanced" if isinstance(rule, str) else rule
        factor = compute_sample_weight(rule, y[:, None] if y.ndim == 1 else y)
        return factor if w is None else w * factor

    def _same_targets(self, counts):
        if not (self.warm_start and hasattr(self, "forest_")):
            return
        before = self.n_classes_ if self.n_outputs_ > 1 else [self.n_classes_]
        if list(before) != list(counts):
            raise ValueError(
                f"y has {counts} classes by output, but warm_start keeps a forest for "
                f"{tuple(before)}."
            )

    def predict(self, X):
        """The class of the largest mean share; of equals the first."""
        best = self._mean(X).argmax(axis=2)
        if self.n_outputs_ == 1:
            return self.classes_[best[:, 0]]
        return np.stack([c[b] for c, b in zip(self.classes_, best.T)], axis=1)

    def predict_proba(self, X):
        """Mean of the trees' class shares, a list of arrays if several outputs."""
        mean = self._mean(X)
        if self.n_outputs_ == 1:
            return mean[:, 0]
        return [mean[:, o, :k] for o, k in enumerate(self.n_classes_)]

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`."""
        p = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(p) if self.n_outputs_ == 1 else [np.log(q) for q in p]

    def _member(self):
        drawn = self.splitter == "random"
        make = ExtraTreeClassifier if drawn else DecisionTreeClassifier
        model = make(**self._tree_options())
        if hasattr(self, "classes_"):
            one = self.n_outputs_ == 1
            counts = [self.n_classes_] if one else self.n_classes_
            codes = [np.arange(float(k)) for k in counts]
            model.classes_ = codes[0] if one else codes
            model.n_classes_ = self.n_classes_ if one else np.array(counts)
        return model

    def _set_oob(self, mean, y, covered):
        one = self.n_outputs_ == 1
        shares = mean[:, 0] if one else np.moveaxis(mean, 1, 2)
        self.oob_decision_function_ = shares
        if not len(covered):
            self.oob_score_ = np.nan
            return
        classes = [self.classes_] if one else self.classes_
        best = mean[covered].argmax(axis=2)
        pick = lambda codes: np.stack(
            [c[v.astype(int)] for c, v in zip(classes, codes.T)], axis=1
        )
        truth, guess = pick(y[covered]), pick(best)
        if one:
            truth, guess = truth[:, 0], guess[:, 0]
        if callable(self.oob_score):
            self.oob_score_ = self.oob_score(truth, guess)
        elif one:
            self.oob_score_ = float(accuracy_score(truth, guess))
        else:
            self.oob_score_ = float(np.mean(truth == guess))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@dataclass(eq=False, repr=False)
class AbstractForestRegressor(Regressor, AbstractSupervisedForest):
    """The mean of the trees' leaf values, and how they spread."""

    _: KW_ONLY
    criterion: Literal["squared_error", "friedman_mse", "absolute_error", "poisson"] = (
        "squared_error"
    )
    keep_targets: Flag = False

    @checks_warm_start("forest_")
    def fit(self, X, y, sample_weight=None):
        """Grow the forest for the numbers y, one column or several."""
        weigh = lambda y: weights_of(sample_weight, len(y))
        X, y = begin(self, X, y, "numbers", weigh)
        w = weigh(y)
        target = target_of_numbers(self, y, w, X.shape[1], self._same_targets)
        return self._grow(X, target.Y, w, target.criterion, target.signs)

    def _same_targets(self, outputs):
        kept = self.warm_start and hasattr(self, "forest_")
        if kept and self.n_outputs_ != outputs:
            raise ValueError(
                f"y has {outputs} outputs, but warm_start keeps a forest for "
                f"{self.n_outputs_}."
            )

    def predict(self, X, return_std=False):
        """Mean over the trees, (n,) or (n, outputs).

        `return_std` adds the standard deviation of the predictive distribution, see
        `predict_dist`.
        """
        if return_std:
            mean, variance = self.predict_dist(X)
            return mean, np.sqrt(variance)
        mean = self._mean(X)[:, :, 0]
        return mean[:, 0] if self.n_outputs_ == 1 else mean

    def predict_dist(self, X, *, within=None):
        """A Gaussian for every row: mean and variance over the trees.

        `within` adds the mean variance inside the leaves (law of total variance), so
        that the Gaussian is one of a new y; None does so where leaves keep it: one
        output, squared error, no monotone constraints. Fully grown leaves have none.
        """
        check_is_fitted(self, "forest_")
        if within is None:
            f = self.forest_
            kept = f.impurity is not None and len(f.impurity) == len(f.value)
            within = self.n_outputs_ == 1 and kept
        return spread.predictive_normal(self, X, within)

    def predict_quantiles(self, X, q=(0.05, 0.5, 0.95)):
        """Quantiles of y given X: training targets weighted by shared leaves.

        One level gives (n,), several (n, levels). Needs `keep_targets=True`.
        """
        check_is_fitted(self, "forest_")
        return spread.predictive_quantiles(self, X, q)

    def predict_variance(self, X, *, method="infinitesimal"):
        """How much the mean would vary with the training data, by jackknife.

        Parameters
        ----------
        X : array of shape (n, d)
        method : {"infinitesimal", "bootstrap"}
            Infinitesimal jackknife, or jackknife after bootstrap; both corrected for
            the number of trees. Needs bootstrap=True.
        """
        if method not in ("infinitesimal", "bootstrap"):
            raise ParameterError(
                f"method must be 'infinitesimal' or 'bootstrap', got {method!r}."
            )
        check_is_fitted(self, "forest_")
        return spread.jackknife_variance(self, X, method)

    def _member(self):
        options, drawn = self._tree_options(), self.splitter == "random"
        if self.criterion == "absolute_error":
            options["max_bins"] = None
        return (ExtraTreeRegressor if drawn else DecisionTreeRegressor)(**options)

    def _set_oob(self, mean, y, covered):
        one = self.n_outputs_ == 1
        guess = mean[:, 0, 0] if one else mean[:, :, 0]
        self.oob_prediction_ = guess
        if len(covered) < 2:
            self.oob_score_ = np.nan
            return
        truth = (y[:, 0] if one else y)[covered]
        score = self.oob_score if callable(self.oob_score) else r2_score
        self.oob_score_ = float(score(truth, guess[covered]))
