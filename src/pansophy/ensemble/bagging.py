"""Bagging: the average of many copies of an estimator, each fitted to its own sample.

Member b is fitted to a draw D_b of rows (with replacement, all n of them by default)
and of columns, and the prediction is the mean over the B members,

    f(x) = 1/B sum_b f_b(x)                                                     (1)

of class probabilities (of votes, where a member has no probabilities) or of numbers.
If the members have variance s^2 and correlation r, the bag has

    r s^2 + (1 - r) s^2 / B                                                     (2)

so bagging helps estimators that change much with the data. All rows and some of the
columns is the random subspace method, some of both is random patches.

Out of the bag: a row is missing from a share (1 - 1/n)^n -> 1/e of the draws. The mean
of (1) over the members that did not see it is a prediction as on new data. Rows that
every member has seen have none; `oob_missing_` lists them, and the score is over the
others.

Weights. Rows drawn with replacement are drawn with probability proportional to their
weight, as in scikit-learn; where rows are not drawn with replacement the weights are
handed on to the members.

Decision trees of this package are grown by threads on one table that is checked and
sorted once (`ensemble/forests/tree_table.py`); other estimators are fitted by joblib.
What a member draws depends on its seed alone, so n_jobs does not change the model.

Time B times that of a member. Memory O(n) per member while it is fitted; draws are not
kept but drawn again from the seed.

Shapes    X (n, d)   y (n,)   counts (n,)
Refs      [Breiman1996]; [Ho1998] subspaces; [Louppe2012] patches
"""

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from ..base import Classifier, Estimator, Regressor
from ..core.arrays.labels import class_codes
from ..core.arrays.weighted import check_sample_weight
from ..core.drivers.progress import run_with_progress
from ..core.drivers.routing import refuse_unrouted, routed_params
from ..core.loops import threads
from ..params import Count, Flag, Jobs, ParameterError, Verbosity
from ..persist.saved_state import AnyValue, Each, IntArray, saved_state
from ..tree import DecisionTreeClassifier, DecisionTreeRegressor
from ..tree.abstract_decision_tree import PositiveFraction
from ..typing import Fittable, Seed
from .forests.level_coding import LevelCoding, check_fit_table, check_prediction_table
from .forests.tree_table import (
    TreeTable,
    can_share_table,
    check_float32_rows,
    has_threshold_tree,
    is_own_tree,
    mean_of_packed_trees,
    pack_member_trees,
)
from .members import (
    ResamplingPlan,
    checks_warm_start,
    collect_members,
    fit_member,
    member_seeds,
    members_fit_columns,
    number_of_columns_to_draw,
    number_of_rows_to_draw,
    probabilities_or_votes,
    takes_sample_weight,
)

OUT_OF_BAG_ATTRIBUTES = (
    "oob_score_",
    "oob_decision_function_",
    "oob_prediction_",
    "oob_missing_",
)


def available_if_member_has(method):
    """A method that exists where the estimator (or the first member) has it."""

    def has(bag):
        fitted = getattr(bag, "estimators_", None)
        return hasattr(fitted[0] if fitted else bag._template(), method)

    return available_if(has)


def columns_of_member(X, columns):
    """The columns that a member drew; no copy if these are all."""
    every = len(columns) == X.shape[1] and bool(np.all(np.diff(columns) == 1))
    return X if every else X[:, columns]


class BaggingTask(NamedTuple):
    """Data and settings that the members of a bag are fitted from."""

    template: Any
    resampling: ResamplingPlan
    X: Any
    y: np.ndarray
    w: np.ndarray | None  # weights that are handed on to the members
    table: TreeTable | None  # for decision trees of this package
    coding: LevelCoding | None
    params: dict  # further arguments of the members' fit


def fit_bagged_member(seed, task: BaggingTask):
    """The member of a seed, fitted to what it draws, and its columns."""
    columns, counts = task.resampling.draw(seed)
    counts = None if task.resampling.all_rows else counts
    drawn_columns = None if task.resampling.all_columns else columns
    if task.table is None:
        template = task.template
        if task.coding is not None:
            template = task.coding.template_for_columns(template, drawn_columns)
        model = fit_member(
            template, seed, task.X, task.y, drawn_columns, counts, task.w, task.params
        )
        return model, columns
    model = task.table.clone_with_seed(seed)
    weight = counts
    if task.w is not None:
        weight = task.w if counts is None else counts * task.w
    task.table.grow(model, weight, drawn_columns)
    return model, columns


@saved_state(
    estimators_=Each(AnyValue(), "members"),
    estimators_features_=Each(IntArray(None, low=0, below="n_features_in_"), "members"),
    check=members_fit_columns,
)
class AbstractBagging(Estimator):
    """Members in `estimators_`, each with its seed and its columns."""

    _tensors = False

    @abstractmethod
    def fit(self, X, y, sample_weight=None) -> Any: ...

    @abstractmethod
    def _default_estimator(self) -> Any:
        """The estimator that None stands for."""

    @abstractmethod
    def _predict_member(self, model, X, method, params=None) -> Any:
        """The prediction of one member for rows."""

    @abstractmethod
    def _set_oob(self, mean, y, covered) -> None:
        """Store out-of-bag predictions and their score."""

    def _template(self):
        return self._default_estimator() if self.estimator is None else self.estimator

    def _fit_members(self, X, y, sample_weight, fit_params):
        """Fit the members that are missing, and predict out of the bag."""
        refuse_unrouted(self, "fit", fit_params)
        params = self._routed(fit_params, "fit", "fit")
        for name in OUT_OF_BAG_ATTRIBUTES:
            self.__dict__.pop(name, None)
        resampling, w = self._resampling(X, sample_weight)
        if self.oob_score and not self.bootstrap:
            raise ParameterError("oob_score needs bootstrap=True.")
        if self.oob_score and self.warm_start:
            raise ParameterError("oob_score needs warm_start=False.")
        warm = self.warm_start and hasattr(self, "estimators_")
        n_kept = len(self.estimators_) if warm else 0
        if self.n_estimators < n_kept:
            raise ParameterError(
                f"n_estimators={self.n_estimators} must be at least the {n_kept} "
                "members that warm_start keeps."
            )
        if n_kept == self.n_estimators:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new "
                "members.",
                stacklevel=3,
            )
            return self
        self.__dict__.pop("_forest", None)
        self.estimator_ = clone(self._template())
        seeds = member_seeds(self.random_state, self.n_estimators, n_kept)
        run = lambda task: collect_members(
            self,
            self._each_member(resampling, seeds, X, y, w, params),
            task,
            "member",
            n_kept,
        )
        with threads.limit_threads(self.n_jobs):
            pairs = run_with_progress(
                self, run, total=len(seeds), X=X, y=y, verbose=self.verbose
            )
            self._store(pairs, (resampling, seeds[: len(pairs)]), warm)
            _ = self._forest  # packed now: predictions leave the model as it is
            if self.oob_score:
                self._score_out_of_bag(X, y)
        return self

    def _resampling(self, X, sample_weight):
        """Resampling of rows and columns; weights that members get, or None."""
        n, d = X.shape
        w = check_sample_weight(sample_weight, n)
        n_rows = number_of_rows_to_draw(
            self.max_samples, n, w if self.bootstrap else None
        )
        n_columns = number_of_columns_to_draw(self.max_features, d)
        if not self.bootstrap and n_rows > n:
            raise ParameterError(
                f"max_samples={self.max_samples} rows cannot be drawn from {n} without "
                "replacement."
            )
        if n_columns > d and not self.bootstrap_features:
            raise ParameterError(f"max_features={n_columns} is more than the {d} of X.")
        handed_on = w is not None and not self.bootstrap
        if handed_on and not takes_sample_weight(self._template()):
            raise ValueError(
                f"{type(self._template()).__name__} takes no sample_weight; use "
                "bootstrap=True to draw rows by weight."
            )
        p = w / w.sum() if w is not None and self.bootstrap else None
        plan = ResamplingPlan(
            n, d, n_rows, n_columns, self.bootstrap, self.bootstrap_features, p
        )
        return plan, None if self.bootstrap else w

    def _store(self, pairs, draws, warm):
        """Store members, their columns and draws, after those of an earlier fit."""
        if not warm:
            self.estimators_, self.estimators_features_, self._draws = [], [], []
        self.estimators_ = [*self.estimators_, *(model for model, _ in pairs)]
        columns = [columns for _, columns in pairs]
        self.estimators_features_ = [*self.estimators_features_, *columns]
        self._draws = [*self._draws, draws]

    def _each_member(self, resampling, seeds, X, y, w, params):
        """(member, columns) one after the other, computed a few at a time."""
        template = self.estimator_
        table = TreeTable(template, X, y) if can_share_table(template) else None
        if table is not None and not (resampling.all_columns or table.takes_features):
            table = None
        coding = getattr(self, "coding_", None)
        if params:
            table = None
        task = BaggingTask(template, resampling, X, y, w, table, coding, params)
        if is_own_tree(template):
            return threads.run_tasks(
                (lambda s=s: fit_bagged_member(s, task)) for s in seeds
            )
        pool = Parallel(n_jobs=self.n_jobs, return_as="generator")
        return pool(delayed(fit_bagged_member)(s, task) for s in seeds)

    @cached_property
    def _forest(self):
        """All members in one packed forest where they are trees of numbers."""
        if not all(has_threshold_tree(m) for m in self.estimators_):
            return None
        every = all(plan.all_columns for plan, _ in self._draws)
        columns = None if every else self.estimators_features_
        return pack_member_trees(self.estimators_, columns, self.n_features_in_)

    def _routed(self, params, caller, callee) -> dict:
        """Arguments of a method that go to a method of the members."""
        refuse_unrouted(self, caller, params)
        if not params:
            return {}
        return routed_params(self, caller, params)["estimator"][callee]

    def get_metadata_routing(self):
        """The methods of the members that arguments may go to."""
        has = lambda name: hasattr(self._template(), name)
        mean = "predict_proba" if has("predict_proba") else "predict"
        logs = "predict_log_proba" if has("predict_log_proba") else mean
        mapping = MethodMapping().add(caller="fit", callee="fit")
        mapping.add(caller="decision_function", callee="decision_function")
        mapping.add(caller="predict", callee=mean)
        mapping.add(caller="predict_proba", callee=mean)
        mapping.add(caller="predict_log_proba", callee=logs)
        router = MetadataRouter(owner=self)
        return router.add(estimator=self._template(), method_mapping=mapping)

    def _mean_prediction(self, X, method, params=None):
        """Mean of the members' predictions, eq. (1), with arguments for the members."""
        check_is_fitted(self)
        if self._forest is not None and not params:
            with threads.limit_threads(self.n_jobs):
                mean = mean_of_packed_trees(self._forest, check_float32_rows(self, X))
            if method == "predict_proba":
                return mean[:, 0]
            return mean[:, 0, 0] if mean.shape[1] == 1 else mean[:, :, 0]
        X = check_prediction_table(self, X)
        with threads.limit_threads(self.n_jobs):
            pool = Parallel(n_jobs=self.n_jobs, return_as="generator")
            predict = delayed(self._predict_member)
            predictions = pool(
                predict(m, columns_of_member(X, c), method, params)
                for m, c in zip(self.estimators_, self.estimators_features_)
            )
            return sum(predictions) / len(self)

    def _score_out_of_bag(self, X, y):
        """Predictions of each row by the members that have not drawn it."""
        method = "predict_proba" if hasattr(self, "classes_") else "predict"
        counts = (plan.draw(seed)[1] for plan, seeds in self._draws for seed in seeds)

        def predict(model, columns, drawn):
            rows = np.flatnonzero(drawn == 0)
            if not len(rows):
                return rows, None
            part = columns_of_member(X[rows], columns)
            return rows, self._predict_member(model, part, method)

        triples = zip(self.estimators_, self.estimators_features_, counts)
        total = None
        times = np.zeros(len(y), np.int64)
        for rows, answer in threads.run_tasks(
            (lambda t=t: predict(*t)) for t in triples
        ):
            if answer is not None:
                if total is None:
                    total = np.zeros((len(y), *answer.shape[1:]))
                total[rows] += answer
                times[rows] += 1
        self._store_out_of_bag(total, times, y)

    def _store_out_of_bag(self, total, times, y):
        self.oob_missing_ = np.flatnonzero(times == 0)
        if len(self.oob_missing_):
            warnings.warn(
                "Some inputs do not have OOB scores. This probably means too few "
                "estimators were used to compute any reliable oob estimates. "
                f"{len(self.oob_missing_)} of {len(y)} rows were drawn by every "
                "member; oob_missing_ lists them.",
                stacklevel=4,
            )
        if total is None:
            shape = (len(y), self.n_classes_) if hasattr(self, "classes_") else y.shape
            total = np.zeros(shape)
        share = np.where(times > 0, times, np.nan)
        mean = total / (share if total.ndim == 1 else share[:, None])
        self._set_oob(mean, y, np.flatnonzero(times))

    @property
    def estimators_samples_(self):
        """Rows that each member drew, ascending; drawn again from the seeds."""
        drawn = [plan.draw(seed)[1] for plan, seeds in self._draws for seed in seeds]
        return [np.repeat(np.arange(len(c)), c) for c in drawn]

    def __sklearn_is_fitted__(self):
        return hasattr(self, "estimators_")

    def __len__(self):
        return len(self.estimators_)

    def __getitem__(self, index):
        return self.estimators_[index]

    def __iter__(self):
        return iter(self.estimators_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self._template()).input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.allow_nan = inner.allow_nan
        categorical = getattr(self._template(), "categorical_features", None)
        tags.input_tags.string = categorical is not None
        return tags


@dataclass(eq=False, repr=False)
class BaggingClassifier(Classifier, AbstractBagging):
    """A bag of classifiers.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The estimator to copy; None is a `DecisionTreeClassifier`.
    n_estimators : int, default=10
        Members, B of eq. (1).
    max_samples : int, float or None, default=None
        Rows that a member draws: None for as many as there are; a fraction is of
        their number, or of the total weight.
    max_features : int or float, default=1.0
        Columns that a member draws.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement.
    bootstrap_features : bool, default=False
        Whether columns are drawn with replacement.
    oob_score : bool, default=False
        Whether to predict each row by the members that have not seen it.
    warm_start : bool, default=False
        Whether another `fit` keeps the members and adds those that are missing.
    n_jobs : int or None, default=None
        Most threads for decision trees of this package, None and -1 for all cores;
        joblib's jobs for other estimators, None for one.
    random_state : int, RandomState, Generator or None, default=None
        For the draws and for the members' own random states.
    verbose : int, default=0
        Above 0 shows a progress bar.

    Attributes
    ----------
    estimator_ : estimator
    estimators_ : list
        The members; their classes are numbers from 0.
    estimators_samples_ : list of arrays
        Rows that each member drew, repeated as often as drawn.
    estimators_features_ : list of arrays
        Columns that each member drew.
    classes_ : array of shape (n_classes,)
    n_classes_ : int
    oob_score_ : float
        Accuracy out of the bag.
    oob_decision_function_ : array of shape (n, n_classes)
        Probabilities out of the bag; NaN for rows that every member has seen.
    oob_missing_ : array
        The numbers of those rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pansophy.ensemble import BaggingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bag = BaggingClassifier(n_estimators=50, oob_score=True, random_state=0)
    >>> bag.fit(X, y).oob_score_ > 0.9
    True
    >>> bag.predict([[5.0, 3.4, 1.5, 0.2]])
    array([0])
    """

    estimator: Fittable | None = None
    n_estimators: Count = 10
    _: KW_ONLY
    max_samples: Count | PositiveFraction | None = None
    max_features: Count | PositiveFraction = 1.0
    bootstrap: Flag = True
    bootstrap_features: Flag = False
    oob_score: Flag = False
    warm_start: Flag = False
    n_jobs: Jobs = None
    random_state: Seed = None
    verbose: Verbosity = 0

    @checks_warm_start("estimators_")
    def fit(self, X, y, sample_weight=None, **fit_params):
        """Fit the members to draws of the rows of X and their classes y.

        `fit_params` are for the members and need metadata routing.
        """
        X, y = check_fit_table(self, self._template(), X, y, "class", sample_weight)
        self.classes_, codes = class_codes(y)
        self.n_classes_ = len(self.classes_)
        return self._fit_members(X, codes, sample_weight, fit_params)

    def predict(self, X, **params):
        """The class with the largest mean probability.

        `params` of this and the other methods are for the members and need metadata
        routing.
        """
        best = np.argmax(self._probabilities(X, params, "predict"), axis=1)
        return self.classes_[best]

    def predict_proba(self, X, **params):
        """Mean probabilities of the members, or shares of their votes, eq. (1)."""
        return self._probabilities(X, params, "predict_proba")

    def _probabilities(self, X, params, caller):
        has = hasattr(self._template(), "predict_proba")
        params = self._routed(params, caller, "predict_proba" if has else "predict")
        return self._mean_prediction(X, "predict_proba", params)

    def predict_log_proba(self, X, **params):
        """Logarithms of the mean probabilities."""
        if params and hasattr(self._template(), "predict_log_proba"):
            params = self._routed(params, "predict_log_proba", "predict_log_proba")
            p = self._mean_prediction(X, "predict_log_proba", params)
        else:
            p = self._probabilities(X, params, "predict_log_proba")
        with np.errstate(divide="ignore"):
            return np.log(p)

    @available_if_member_has("decision_function")
    def decision_function(self, X, **params):
        """Mean of the members' decision functions."""
        params = self._routed(params, "decision_function", "decision_function")
        return self._mean_prediction(X, "decision_function", params)

    def _default_estimator(self):
        return DecisionTreeClassifier()

    def _predict_member(self, model, X, method, params=None):
        if method == "predict_proba":
            return probabilities_or_votes(model, X, self.n_classes_, params)
        answer = getattr(model, method)(X, **(params or {}))
        if method == "decision_function":
            return answer
        p = np.zeros((len(answer), self.n_classes_))
        p[:, np.asarray(model.classes_, int)] = np.exp(answer)
        return p

    def _set_oob(self, mean, y, covered):
        self.oob_decision_function_ = mean
        right = np.argmax(mean[covered], axis=1) == y[covered]
        self.oob_score_ = float(np.mean(right)) if len(right) else np.nan


@dataclass(eq=False, repr=False)
class BaggingRegressor(Regressor, AbstractBagging):
    """A bag of regressors.

    Parameters
    ----------
    estimator : regressor or None, default=None
        The estimator to copy; None is a `DecisionTreeRegressor`.
    n_estimators : int, default=10
        Members, B of eq. (1).
    max_samples : int, float or None, default=None
        Rows that a member draws: None for as many as there are; a fraction is of
        their number, or of the total weight.
    max_features : int or float, default=1.0
        Columns that a member draws.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement.
    bootstrap_features : bool, default=False
        Whether columns are drawn with replacement.
    oob_score : bool, default=False
        Whether to predict each row by the members that have not seen it.
    warm_start : bool, default=False
        Whether another `fit` keeps the members and adds those that are missing.
    n_jobs : int or None, default=None
        Most threads for decision trees of this package, None and -1 for all cores;
        joblib's jobs for other estimators, None for one.
    random_state : int, RandomState, Generator or None, default=None
        For the draws and for the members' own random states.
    verbose : int, default=0
        Above 0 shows a progress bar.

    Attributes
    ----------
    estimator_ : estimator
    estimators_ : list
        The members.
    estimators_samples_ : list of arrays
        Rows that each member drew, repeated as often as drawn.
    estimators_features_ : list of arrays
        Columns that each member drew.
    oob_score_ : float
        R^2 out of the bag.
    oob_prediction_ : array of shape (n,)
        Predictions out of the bag; NaN for rows that every member has seen.
    oob_missing_ : array
        The numbers of those rows.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import BaggingRegressor
    >>> x = np.linspace(0, 3, 200)[:, None]
    >>> bag = BaggingRegressor(n_estimators=20, random_state=0).fit(x, np.sin(x[:, 0]))
    >>> bag.predict([[1.5]]).round(2)
    array([1.])
    """

    estimator: Fittable | None = None
    n_estimators: Count = 10
    _: KW_ONLY
    max_samples: Count | PositiveFraction | None = None
    max_features: Count | PositiveFraction = 1.0
    bootstrap: Flag = True
    bootstrap_features: Flag = False
    oob_score: Flag = False
    warm_start: Flag = False
    n_jobs: Jobs = None
    random_state: Seed = None
    verbose: Verbosity = 0

    @checks_warm_start("estimators_")
    def fit(self, X, y, sample_weight=None, **fit_params):
        """Fit the members to draws of the rows of X and the numbers y.

        `fit_params` are for the members and need metadata routing.
        """
        X, y = check_fit_table(self, self._template(), X, y, "numbers", sample_weight)
        y = column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y
        return self._fit_members(X, y, sample_weight, fit_params)

    def predict(self, X, **params):
        """The mean of the members' predictions, eq. (1).

        `params` are for the members and need metadata routing.
        """
        params = self._routed(params, "predict", "predict")
        return self._mean_prediction(X, "predict", params)

    def _default_estimator(self):
        return DecisionTreeRegressor()

    def _predict_member(self, model, X, method, params=None):
        return model.predict(X, **(params or {}))

    def _set_oob(self, mean, y, covered):
        self.oob_prediction_ = mean
        with warnings.catch_warnings():  # R^2 of one row is not defined
            warnings.simplefilter("ignore")
            score = r2_score(y[covered], mean[covered]) if len(covered) else np.nan
        self.oob_score_ = float(score)
