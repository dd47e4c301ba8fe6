"""Estimators whose predictions come with intervals or sets: see `conformal`.

"split" fits on some rows and calibrates on the others: the surest promise, at the
price of rows. "cv+" fits a model for each fold and uses every row for both;
"jackknife+" is "cv+" with a fold for each row.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import LeaveOneOut, check_cv, train_test_split
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from ..base import Classifier, Estimator, Regressor
from ..compare.evaluation.conformal import (
    class_scores,
    cv_plus_interval,
    cv_plus_sets,
    fit_prediction_sets,
    prediction_sets,
    quantile_scores,
    score_quantile,
)
from ..core.arrays import arrays
from ..core.arrays.frames import rows_of_table
from ..core.arrays.labels import class_codes, refuse_missing
from ..core.arrays.unreadable import array_of_rows, what_is_unreadable
from ..core.random import draw_seed, make_rng
from ..params import Flag, OpenFraction, ParameterError, ParameterRule, check_params
from ..typing import Fittable, Seed, Splits

Probabilistic = Annotated[
    Any,
    ParameterRule(
        "a classifier with predict_proba", lambda m: hasattr(m, "predict_proba")
    ),
]


class AbstractConformalEstimator(Estimator):
    """Rows go to `estimator` as they come, so that it may be a pipeline."""

    estimator: Any
    cv: Any
    calibration_size: Any
    random_state: Any
    estimator_: Any

    def _default(self):
        from ..linear_model import LogisticRegression, Ridge

        return LogisticRegression() if isinstance(self, Classifier) else Ridge()

    def _model(self):
        return self._default() if self.estimator is None else self.estimator

    def _open(self, X, y):
        check_params(self)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None."
            )
        name = type(self).__name__
        X = array_of_rows(X, f"X of {name}") if isinstance(X, (list, tuple)) else X
        y = array_of_rows(y, f"y of {name}") if isinstance(y, (list, tuple)) else y
        X, y = _as_host_array(X), _as_host_array(y)
        check_consistent_length(X, y)
        if isinstance(self, Classifier):
            refuse_missing(y)
            y = column_or_1d(y, warn=True)
            check_classification_targets(y)
            self.classes_, y = class_codes(np.asarray(y))
            return X, y
        y = np.asarray(column_or_1d(y, warn=True))
        if what_is_unreadable(y) or not np.isfinite(y.astype(float)).all():
            raise ValueError(
                f"y of {type(self).__name__} must hold numbers without NaN or infinity."
            )
        return X, y.astype(float)

    def _keep(self, model):
        """Store the model that predicts, and what it says of its columns."""
        self.estimator_ = model
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
            elif hasattr(self, name):
                delattr(self, name)  # of an earlier fit
        return self

    def _split(self, y):
        """(rows to fit, rows to calibrate); classes in the same shares."""
        n = len(y)
        classes = isinstance(self, Classifier)
        fewest = int(np.bincount(y).min()) if classes else n
        if fewest < 2:
            raise ValueError(_too_few_rows_message(fewest, classes))
        part = min(max(1, round(self.calibration_size * n)), n - 1)
        if classes:
            K = len(self.classes_)
            part = min(max(part, K), n - K)
        seed = self.random_state
        seed = None if seed is None else draw_seed(make_rng(seed))
        options = {"test_size": part, "random_state": seed}
        return train_test_split(
            np.arange(n), stratify=y if classes else None, **options
        )

    def _folds(self, X, y, cv):
        """The fold that holds out each row (n,)."""
        classes, cv = isinstance(self, Classifier), 5 if cv is None else cv
        if isinstance(cv, (int, np.integer)):
            fewest = int(np.bincount(y).min()) if classes else len(y)
            if fewest < 2:
                raise ValueError(_too_few_rows_message(fewest, classes))
            cv = min(int(cv), fewest)
        fold = np.full(len(y), -1)
        for f, (_, test) in enumerate(check_cv(cv, y, classifier=classes).split(X, y)):
            fold[test] = f
        if np.any(fold < 0):
            raise ParameterError("cv must hold every row out once.")
        return fold

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self.estimator is None or hasattr(self.estimator, "fit"):
            inner = get_tags(self._model()).input_tags
            tags.input_tags.allow_nan = inner.allow_nan
            tags.input_tags.sparse = inner.sparse
        return tags


def _as_host_array(X):
    return arrays.to_numpy(X) if arrays.is_foreign(X) else X


def _all_class_probabilities(model, X, K):
    """Probabilities (n, K) of the codes below K; 0 for those a fold did not have."""
    from ..ensemble.members import class_probabilities

    return class_probabilities(model, X, K)


def _too_few_rows_message(n, classes) -> str:
    row_kind = "rows of each class" if classes else "rows"
    return f"calibration needs at least two {row_kind}, got {n} sample{'s' * (n != 1)}."


class ScaledResiduals(NamedTuple):
    """A model and a guess of how far it is off."""

    model: Any
    guess: Any
    least: float

    def at(self, X):
        """u(x) of eq. (3), or 1."""
        if self.guess is None:
            return 1.0
        return np.maximum(self.guess.predict(X), self.least)

    def scores(self, X, y):
        return np.abs(y - self.model.predict(X)) / self.at(X)


@dataclass(eq=False, repr=False)
class ConformalRegressor(Regressor, AbstractConformalEstimator):
    """A regressor with prediction intervals that cover as often as they promise.

    Parameters
    ----------
    estimator : regressor or None
        None is `Ridge()`, for "cqr" `QuantileRegressor()`.
    level : float, default=0.9
        How often an interval holds the truth.
    method : {"cv+", "split", "jackknife+", "cqr"}, default="cv+"
        "cqr" splits and fits two quantiles of an estimator with that parameter.
    spread : regressor or None
        Fitted to the absolute residuals, so that intervals are wide where errors are
        large; None makes them equally wide. Not for "cqr".
    cv : int, splitter or None, default=None
        Folds of "cv+"; 5 by default.
    calibration_size : float, default=0.25
        The share of rows that "split" and "cqr" calibrate on.
    random_state : None, int, RandomState or Generator
        Which rows those are.

    Attributes
    ----------
    estimator_ : regressor
        Gives `predict`; fitted on all rows for "cv+" and "jackknife+".
    estimators_ : list of regressors
        The models without one fold each, or the two quantiles.
    members_ : list of Spread
        The same with their guesses of how far they are off.
    reach_ : float or array (n,)
        Half the width of intervals of "split"; scores of the rows for "cv+".

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare import ConformalRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1))
    >>> y = X[:, 0] + rng.normal(size=200)
    >>> model = ConformalRegressor(level=0.9).fit(X, y)
    >>> low, high = model.predict_interval([[0.0]])[0]
    >>> bool(2.5 < high - low < 4)
    True
    """

    estimator: Fittable | None = None
    _: KW_ONLY
    level: OpenFraction = 0.9
    method: Literal["cv+", "split", "jackknife+", "cqr"] = "cv+"
    spread: Fittable | None = None
    cv: Splits = None
    calibration_size: OpenFraction = 0.25
    random_state: Seed = None

    def fit(self, X, y):
        """Fit the models and calibrate."""
        X, y = self._open(X, y)
        if self.method == "cqr":
            return self._fit_quantiles(X, y)
        if self.method == "split":
            fit, rest = self._split(y)
            fold_model = self._fit_one(rows_of_table(X, fit), y[fit])
            self.reach_ = score_quantile(
                fold_model.scores(rows_of_table(X, rest), y[rest]), self.level
            )
            self.members_ = [fold_model]
            return self._keep(fold_model.model)
        cv = LeaveOneOut() if self.method == "jackknife+" and len(y) > 1 else self.cv
        self.fold_ = self._folds(X, y, cv)
        self.reach_ = np.empty(len(y))
        self.members_ = []
        for f in range(self.fold_.max() + 1):
            held_out = np.flatnonzero(self.fold_ == f)
            rest = np.flatnonzero(self.fold_ != f)
            fold_model = self._fit_one(rows_of_table(X, rest), y[rest])
            self.reach_[held_out] = fold_model.scores(
                rows_of_table(X, held_out), y[held_out]
            )
            self.members_.append(fold_model)
        self.estimators_ = [member.model for member in self.members_]
        return self._keep(clone(self._model()).fit(X, y))

    def _fit_one(self, X, y):
        model = clone(self._model()).fit(X, y)
        if self.spread is None:
            return ScaledResiduals(model, None, 1.0)
        absolute_errors = np.abs(y - model.predict(X))
        min_width = (
            0.05 * float(absolute_errors.mean()) or 1.0
        )  # no interval of width 0
        return ScaledResiduals(
            model, clone(self.spread).fit(X, absolute_errors), min_width
        )

    def _fit_quantiles(self, X, y):
        from ..linear_model import QuantileRegressor

        model = QuantileRegressor(alpha=0.0)
        model = model if self.estimator is None else self.estimator
        if "quantile" not in model.get_params():
            raise ParameterError(
                "method='cqr' needs an estimator with a parameter 'quantile', got "
                f"{type(model).__name__}."
            )
        fit, rest = self._split(y)
        training_rows = rows_of_table(X, fit)
        tails = ((1 - self.level) / 2, (1 + self.level) / 2)
        make = lambda q: clone(model).set_params(quantile=q).fit(training_rows, y[fit])
        self.estimators_ = [make(q) for q in tails]
        low, high = (m.predict(rows_of_table(X, rest)) for m in self.estimators_)
        self.reach_ = score_quantile(quantile_scores(y[rest], low, high), self.level)
        return self._keep(make(0.5))

    def predict(self, X):
        """Numbers, without intervals."""
        check_is_fitted(self)
        return self.estimator_.predict(_as_host_array(X))

    def predict_interval(self, X) -> np.ndarray:
        """Low and high ends (n, 2)."""
        check_is_fitted(self)
        X = _as_host_array(X)
        if self.method == "cqr":
            low, high = (m.predict(X) for m in self.estimators_)
            ends = np.column_stack([low - self.reach_, high + self.reach_])
            return np.sort(ends, axis=1)  # quantiles may cross
        if self.method == "split":
            centre = self.estimator_.predict(X)
            reach = self.reach_ * self.members_[0].at(X)
            return np.column_stack([centre - reach, centre + reach])
        centres = np.column_stack([member.model.predict(X) for member in self.members_])
        spread = None
        if self.spread is not None:
            spread = np.column_stack([member.at(X) for member in self.members_])
        return cv_plus_interval(centres, self.reach_, self.fold_, self.level, spread)


@dataclass(eq=False, repr=False)
class ConformalClassifier(Classifier, AbstractConformalEstimator):
    """A classifier with sets of classes that hold the truth as often as promised.

    Parameters
    ----------
    estimator : classifier with `predict_proba` or None
        None is `LogisticRegression()`.
    level : float, default=0.9
        How often a set holds the truth.
    method : {"cv+", "split"}, default="cv+"
        Whether rows are used twice, or some kept for calibration only.
    kind : {"aps", "lac"}, default="aps"
        Sets that adapt to how hard a row is, or the smallest on average.
    by_class : bool, default=False
        Keep the promise within each class.
    cv : int, splitter or None, default=None
        Folds of "cv+"; 5 by default.
    calibration_size : float, default=0.25
        The share of rows that "split" calibrates on.
    random_state : None, int, RandomState or Generator
        Which rows those are.

    Attributes
    ----------
    classes_ : array (K,)
    estimator_ : classifier
        Gives `predict` and `predict_proba`.
    estimators_ : list of classifiers
        The models without one fold each.
    rule_ : SetRule
        For "split".

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare import ConformalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 1))
    >>> y = np.where(X[:, 0] + rng.normal(size=300) > 0, "yes", "no")
    >>> model = ConformalClassifier(level=0.9).fit(X, y)
    >>> model.predict_set([[-3.0], [0.0], [3.0]]).tolist()
    [[True, False], [True, True], [False, True]]
    """

    estimator: Probabilistic | None = None
    _: KW_ONLY
    level: OpenFraction = 0.9
    method: Literal["cv+", "split"] = "cv+"
    kind: Literal["aps", "lac"] = "aps"
    by_class: Flag = False
    cv: Splits = None
    calibration_size: OpenFraction = 0.25
    random_state: Seed = None

    def fit(self, X, y):
        """Fit the models and calibrate."""
        X, y = self._open(X, y)
        model = self._model()
        K = len(self.classes_)
        if self.method == "split":
            fit, rest = self._split(y)
            fold_model = clone(model).fit(rows_of_table(X, fit), y[fit])
            p = _all_class_probabilities(fold_model, rows_of_table(X, rest), K)
            self.rule_ = fit_prediction_sets(
                p, y[rest], self.level, self.kind, self.by_class
            )
            return self._keep(fold_model)
        self.fold_, self.codes_ = self._folds(X, y, self.cv), y
        self.estimators_ = []
        self.own_ = np.empty(len(y))
        for f in range(self.fold_.max() + 1):
            held_out = np.flatnonzero(self.fold_ == f)
            rest = np.flatnonzero(self.fold_ != f)
            fold_model = clone(model).fit(rows_of_table(X, rest), y[rest])
            s = class_scores(
                _all_class_probabilities(fold_model, rows_of_table(X, held_out), K),
                self.kind,
            )
            self.own_[held_out] = s[np.arange(len(s)), y[held_out]]
            self.estimators_.append(fold_model)
        return self._keep(clone(model).fit(X, y))

    def predict_proba(self, X):
        """Probabilities (n, K), as the classifier gives them."""
        check_is_fitted(self)
        return _all_class_probabilities(
            self.estimator_, _as_host_array(X), len(self.classes_)
        )

    def predict(self, X):
        """The most probable class."""
        p = self.predict_proba(X)
        return self.classes_[p.argmax(1)]

    def predict_set(self, X) -> np.ndarray:
        """Membership of each of `classes_` in the set of each row, (n, K) of bool."""
        check_is_fitted(self)
        X, K = _as_host_array(X), len(self.classes_)
        if self.method == "split":
            return prediction_sets(
                _all_class_probabilities(self.estimator_, X, K), self.rule_
            )
        s = [
            class_scores(_all_class_probabilities(m, X, K), self.kind)
            for m in self.estimators_
        ]
        labels = self.codes_ if self.by_class else None
        s = np.stack(s, axis=1)
        return cv_plus_sets(s, self.own_, self.fold_, self.level, labels)
