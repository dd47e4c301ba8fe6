"""Stacking: a final model learns how to combine the predictions of other models.

Members f_1 .. f_M and a final model g give y(x) = g(f_1(x), .., f_M(x)). To learn g,
predictions are needed for rows that the members were not fitted to. With folds
F_1 .. F_k,

    Z_im = f_m^(-k)(x_i)   for i in fold k,  f_m^(-k) fitted without fold k      (1)
    g fitted to (Z, y);   f_m fitted to all rows for later use                   (2)

so that g sees out-of-fold predictions only. A row's weight counts in both fits.
`groups` keeps rows that belong together in one fold. A linear g with fixed weights
that sum to 1 is voting.

Shapes    Z (n, M) numbers, or (n, M K) probabilities ((n, M) of two classes)
Refs      [Wolpert1992]; [Breiman1996Stacked]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.metadata_routing import MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from ..base import Classifier, Regressor, Transformer
from ..core.arrays.labels import class_codes
from ..core.arrays.weighted import check_sample_weight
from ..core.drivers.routing import routed_params, routing_enabled
from ..params import Flag, Jobs, ParameterError, ParameterRule, Verbosity
from ..typing import Fittable, Splits
from .committee import (
    AbstractCommittee,
    NamedEstimators,
    fit_clones,
    fit_with_params,
)
from .members import class_probabilities

PREDICTION_METHODS = ("predict_proba", "decision_function", "predict")
Prefit = Annotated[
    Any, ParameterRule("'prefit'", lambda v: isinstance(v, str) and v == "prefit")
]


def cross_val_predictions(estimator, X, y, params, splits, method, n_jobs=None):
    """Eq. (1) for one member; `params` are further arguments of its `fit`."""
    from sklearn.model_selection import cross_val_predict

    return cross_val_predict(
        estimator, X, y, cv=splits, method=method, n_jobs=n_jobs, params=params or None
    )


def choose_stack_method(estimator, wanted, name):
    """The method by which a member predicts."""
    options = PREDICTION_METHODS if wanted == "auto" else (wanted,)
    for option in options:
        if hasattr(estimator, option):
            return option
    raise ParameterError(
        f"Underlying estimator {name} does not implement the method {wanted}, which "
        "stack_method asks for."
    )


def prediction_columns(prediction):
    """A prediction as columns, without the first of two probabilities.

    A list has the probabilities of several outputs, of which each loses its first.
    """
    if isinstance(prediction, list):
        return np.hstack([np.asarray(p, float)[:, 1:] for p in prediction])
    Z = np.asarray(prediction, float)
    if Z.ndim == 1:
        return Z[:, None]
    return Z[:, 1:] if Z.shape[1] == 2 else Z


def final_estimator_has(name):
    """Whether the final estimator, fitted or not, has a method."""

    def has(self):
        final = getattr(self, "final_estimator_", None) or self._final_template()
        getattr(final, name)  # its AttributeError says what has no such method
        return True

    return has


class AbstractStacking(Transformer, AbstractCommittee):
    """Members, their out-of-fold predictions and a final model."""

    final_estimator: Any
    cv: Any
    n_jobs: Any
    passthrough: Any
    verbose: Any

    _tensors = False

    def _final_template(self):
        from ..linear_model import LogisticRegression, RidgeCV

        if self.final_estimator is not None:
            return self.final_estimator
        return LogisticRegression() if isinstance(self, Classifier) else RidgeCV()

    def _default_method(self):
        return "auto" if isinstance(self, Classifier) else "predict"

    def _fit_stack(self, X, y, w, classes, groups, fit_params):
        """Fit the members and, to their out-of-fold predictions, the final model."""
        members = self._members()
        params = self._member_params(members, w, fit_params)
        wanted = getattr(self, "stack_method", self._default_method())
        methods = [choose_stack_method(e, wanted, n) for n, e in members]
        prefit = isinstance(self.cv, str)
        if prefit and self.cv != "prefit":
            raise ParameterError(
                f"cv of {type(self).__name__} must be a number of folds, a splitter, "
                f"splits, 'prefit' or None, got {self.cv!r}."
            )
        if prefit:
            for _, e in members:
                check_is_fitted(e)
            fitted = [e for _, e in members]
            predictions = [getattr(e, m)(X) for e, m in zip(fitted, methods)]
        else:
            splits = self._splits(X, y, groups)
            fitted = fit_clones(members, X, y, params, self.n_jobs)
            predictions = [
                cross_val_predictions(e, X, y, params[n], splits, m, self.n_jobs)
                for (n, e), m in zip(members, methods)
            ]
        Z = self._final_features([prediction_columns(p) for p in predictions], X)
        weights = {} if w is None else {"sample_weight": w}
        final = fit_with_params(
            clone(self._final_template()),
            Z,
            y,
            {**fit_params, **weights},
            "final_estimator",
        )
        self._store_members(fitted, members, classes)
        self.stack_method_ = methods
        self.final_estimator_ = final
        self._widths = [prediction_columns(p).shape[1] for p in predictions]
        if self.verbose:
            print(f"[Stacking] {len(members)} members, {Z.shape[1]} columns")
        return self

    def _splits(self, X, y, groups):
        from sklearn.model_selection import check_cv

        cv = check_cv(self.cv, y, classifier=isinstance(self, Classifier))
        return list(cv.split(X, y, groups))

    def _final_features(self, columns, X):
        """The predictions side by side, and X itself with `passthrough`."""
        if not self.passthrough:
            return np.hstack(columns)
        if sp.issparse(X):
            return sp.hstack([*columns, X], format="csr")
        return np.hstack([*columns, np.asarray(X)])

    def transform(self, X):
        """The members' predictions, which the final model sees: (n, columns)."""
        X = self._prediction_rows(X)
        predictions = [
            self._predict_member(e, m, X)
            for e, m in zip(self.estimators_, self.stack_method_)
        ]
        return self._final_features([prediction_columns(p) for p in predictions], X)

    def _predict_member(self, estimator, method, X):
        several = isinstance(getattr(self, "classes_", None), list)
        if method == "predict_proba" and not (isinstance(self.cv, str) or several):
            return class_probabilities(estimator, X, len(self.classes_))
        return getattr(estimator, method)(X)

    def _final_prediction(self, X, params):
        """Prediction of the final model, `params` being arguments of its `predict`."""
        check_is_fitted(self)
        if routing_enabled():
            routed = routed_params(self, "predict", params)
            params = routed["final_estimator_"]["predict"]
        return self.final_estimator_.predict(self.transform(X), **params)

    def get_metadata_routing(self):
        """The members and the final model that arguments may go to."""
        router = super().get_metadata_routing()
        final = getattr(self, "final_estimator_", None) or self._final_template()
        mapping = MethodMapping().add(caller="predict", callee="predict")
        return router.add(final_estimator_=final, method_mapping=mapping)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def get_feature_names_out(self, input_features=None):
        """Names of the columns of `transform`."""
        check_is_fitted(self)
        stem = type(self).__name__.lower()
        names = []
        for (n, _), k in zip(self._members(), self._widths):
            names += [f"{stem}_{n}{j}" if k > 1 else f"{stem}_{n}" for j in range(k)]
        if self.passthrough:
            passed = getattr(self, "feature_names_in_", input_features)
            if passed is None:
                passed = [f"x{j}" for j in range(self.n_features_in_)]
            names += list(passed)
        return np.array(names, object)


@dataclass(eq=False, repr=False)
class StackingClassifier(Classifier, AbstractStacking):
    """Classifiers whose predictions a final classifier combines.

    Parameters
    ----------
    estimators : list of (str, classifier or regressor) or None, default=None
        The members; "drop" in the place of one leaves it out. None takes a logistic
        regression and a decision tree. A regressor is fitted to the numbers 0 .. K - 1
        of the classes.
    final_estimator : classifier or None, default=None
        What combines the predictions; None for logistic regression.
    cv : int, splitter, list of splits, "prefit" or None, default=None
        Folds of eq. (1), None for 5. "prefit" uses the members as they are, fitted to
        other rows.
    stack_method : {"auto", "predict_proba", "decision_function", "predict"}, \
default="auto"
        The method of the members; "auto" is the first of the three that they have.
    n_jobs : int or None, default=None
        Fits at the same time.
    passthrough : bool, default=False
        Whether the final classifier also sees X.
    verbose : int, default=0
        Whether to print what was stacked.

    Attributes
    ----------
    classes_ : array of shape (K,)
    estimators_ : list of members fitted to all rows
    named_estimators_ : Bunch
    final_estimator_ : classifier
    stack_method_ : list of str
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import StackingClassifier
    >>> X = np.arange(20.0)[:, None]
    >>> model = StackingClassifier().fit(X, X[:, 0] > 9)
    >>> model.predict([[3.0], [15.0]])
    array([False,  True])
    """

    estimators: NamedEstimators | None = None
    final_estimator: Fittable | None = None
    _: KW_ONLY
    cv: Splits | Prefit = None
    stack_method: Literal["auto", "predict_proba", "decision_function", "predict"] = (
        "auto"
    )
    n_jobs: Jobs = None
    passthrough: Flag = False
    verbose: Verbosity = 0

    def fit(self, X, y, sample_weight=None, groups=None, **fit_params):
        """Fit members and final classifier to classes, or to columns of 0 and 1.

        `groups` go to the splitter; `fit_params` need metadata routing.
        """
        inputs = self._check_inputs(X, y, sample_weight, fit_params)
        return self._fit_stack(*inputs, groups=groups, fit_params=fit_params)

    def _takes_member(self, estimator):
        """Classifiers, and regressors of the classes' numbers (ordered classes)."""
        return is_classifier(estimator) or is_regressor(estimator)

    @available_if(final_estimator_has("predict"))
    def predict(self, X, **predict_params):
        """Classes; `predict_params` go to the final classifier."""
        codes = np.asarray(self._final_prediction(X, predict_params), int)
        if not isinstance(self.classes_, list):
            return self.classes_[codes]
        return np.stack([c[v] for c, v in zip(self.classes_, codes.T)], axis=1)

    @available_if(final_estimator_has("predict_proba"))
    def predict_proba(self, X):
        """Probabilities of the final classifier: (n, K), or those of 1 by column."""
        Z = self.transform(X)
        if isinstance(self.classes_, list):
            p = self.final_estimator_.predict_proba(Z)
            return np.stack([q[:, -1] for q in p], axis=1) if isinstance(p, list) else p
        return class_probabilities(self.final_estimator_, Z, len(self.classes_))

    def _several_labels(self, y, sample_weight):
        """Codes of columns of 0 and 1, weights, and the classes of each column."""
        if type_of_target(y) != "multilabel-indicator":
            return super()._several_labels(y, sample_weight)
        y = y.toarray() if sp.issparse(y) else np.asarray(y)
        pairs = [class_codes(column) for column in y.T]
        codes = np.stack([codes for _, codes in pairs], axis=1)
        w = check_sample_weight(sample_weight, len(y))
        return codes, w, [classes for classes, _ in pairs]

    @available_if(final_estimator_has("decision_function"))
    def decision_function(self, X):
        """Scores of the final classifier."""
        Z = self.transform(X)
        return self.final_estimator_.decision_function(Z)


@dataclass(eq=False, repr=False)
class StackingRegressor(Regressor, AbstractStacking):
    """Regressors whose predictions a final regressor combines.

    Parameters
    ----------
    estimators : list of (str, regressor) or None, default=None
        The members; "drop" in the place of one leaves it out. None takes a ridge
        regression and a decision tree.
    final_estimator : regressor or None, default=None
        What combines the predictions; None for ridge regression with a chosen penalty.
    cv : int, splitter, list of splits, "prefit" or None, default=None
        Folds of eq. (1), None for 5. "prefit" uses the members as they are, fitted to
        other rows.
    n_jobs : int or None, default=None
        Fits at the same time.
    passthrough : bool, default=False
        Whether the final regressor also sees X.
    verbose : int, default=0
        Whether to print what was stacked.

    Attributes
    ----------
    estimators_ : list of members fitted to all rows
    named_estimators_ : Bunch
    final_estimator_ : regressor
    stack_method_ : list of str
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import StackingRegressor
    >>> X = np.arange(20.0)[:, None]
    >>> model = StackingRegressor().fit(X, 2 * X[:, 0])
    >>> model.predict([[5.0]]).round(0)
    array([10.])
    """

    estimators: NamedEstimators | None = None
    final_estimator: Fittable | None = None
    _: KW_ONLY
    cv: Splits | Prefit = None
    n_jobs: Jobs = None
    passthrough: Flag = False
    verbose: Verbosity = 0

    def fit(self, X, y, sample_weight=None, groups=None, **fit_params):
        """Fit members and final regressor.

        `groups` go to the splitter; `fit_params` need metadata routing.
        """
        inputs = self._check_inputs(X, y, sample_weight, fit_params)
        return self._fit_stack(*inputs, groups=groups, fit_params=fit_params)

    def predict(self, X, **predict_params):
        """Numbers; `predict_params` (`return_std`, ...) go to the final regressor."""
        return self._final_prediction(X, predict_params)
