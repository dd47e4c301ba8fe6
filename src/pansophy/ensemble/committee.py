"""Ensembles of named estimators: their parameters by name, checks and fits.

Rows go to the members unchanged, so that a member may be a pipeline that selects the
columns of a data frame. Classes go to them as integers from 0, so that a class has the
same column in every prediction.
"""

from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import Bunch, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
)

from ..base import Classifier, Estimator, check_sparse_structure
from ..core import arrays
from ..core.labels import class_codes, plain_numbers, refuse_missing
from ..core.rows import is_dataset
from ..core.weighted import check_sample_weight
from ..params import ParameterError, ParameterRule, check_params


def is_named_estimator_list(value):
    """Whether a value is a list of (name, estimator or "drop")."""
    pair = lambda p: (
        isinstance(p, (tuple, list))
        and len(p) == 2
        and isinstance(p[0], str)
        and (hasattr(p[1], "fit") or (isinstance(p[1], str) and p[1] == "drop"))
    )
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(map(pair, value))


NamedEstimators = Annotated[
    Any, ParameterRule("a list of (name, estimator) pairs", is_named_estimator_list)
]


class AbstractCommittee(Estimator):
    """Members in `estimators`, a list of (name, estimator), or None for a default."""

    estimators: Any

    def get_params(self, deep=True):
        """Parameters, and with `deep` those of the members as name__parameter."""
        out = super().get_params(deep=deep)
        if deep and is_named_estimator_list(self.estimators):
            for name, estimator in self.estimators:
                out[name] = estimator
                if hasattr(estimator, "get_params"):
                    nested = estimator.get_params(deep=True).items()
                    out.update({f"{name}__{key}": value for key, value in nested})
        return out

    def set_params(self, **params):
        """Set parameters; a member's name sets that member ("drop" leaves it out)."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        if is_named_estimator_list(self.estimators):
            known = [name for name, _ in self.estimators]
            new = {name: params.pop(name) for name in known if name in params}
            if new:
                self.estimators = [(n, new.get(n, e)) for n, e in self.estimators]
        super().set_params(**params)
        return self

    @property
    def named_estimators(self):
        """The members as they were given, by name."""
        return Bunch(**dict(self._given()))

    def _default_estimators(self) -> list:
        """Members for estimators=None: a linear model and a tree."""
        from ..linear_model import LogisticRegression, Ridge
        from ..tree import DecisionTreeClassifier, DecisionTreeRegressor

        if isinstance(self, Classifier):
            tree = DecisionTreeClassifier(max_depth=5, random_state=0)
            return [("linear", LogisticRegression()), ("tree", tree)]
        tree = DecisionTreeRegressor(max_depth=5, random_state=0)
        return [("linear", Ridge()), ("tree", tree)]

    def _given(self) -> list:
        """(name, estimator) of all members, those that are dropped included."""
        return (
            self._default_estimators()
            if self.estimators is None
            else list(self.estimators)
        )

    def _members(self) -> list:
        """(name, estimator) of the members that take part, checked."""
        given = self._given()
        name = type(self).__name__
        names = [n for n, _ in given]
        if len(set(names)) < len(names):
            raise ParameterError(f"Names provided are not unique: {names!r}")
        parameters = type(self)._get_param_names()
        bad = [n for n in names if "__" in n or n in parameters]
        if bad:
            raise ParameterError(
                f"a member of {name} may not be named {bad[0]!r}: names have no '__' "
                "and differ from the parameters."
            )
        kept = [(n, e) for n, e in given if not isinstance(e, str)]
        if not kept:
            raise ParameterError(
                "All estimators are dropped. At least one is required to be an "
                "estimator."
            )
        classifies = isinstance(self, Classifier)
        kind = "classifier" if classifies else "regressor"
        is_right_kind = is_classifier if classifies else is_regressor
        for n, e in kept:
            if not is_right_kind(e):
                raise ParameterError(
                    f"The estimator {type(e).__name__} should be a {kind} (member "
                    f"{n!r} of {name})."
                )
        return kept

    def _check_inputs(self, X, y, sample_weight=None):
        """X, y (codes or numbers), weights and the classes (or None), all checked."""
        check_params(self)
        if is_dataset(X):
            raise TypeError(f"{type(self).__name__} needs its rows in memory.")
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None."
            )
        refuse_missing(y)
        if sparse.issparse(X):
            check_sparse_structure(X)
        X = array_as_numpy(X)
        y = plain_numbers(array_as_numpy(y))
        check_consistent_length(X, y)
        y = column_or_1d(y, warn=True)
        classes = None
        if len(y) == 0:
            raise ValueError(
                f"{type(self).__name__} needs at least one row, got 0 sample(s)."
            )
        if isinstance(self, Classifier):
            check_classification_targets(y)
            classes, y = class_codes(np.asarray(y))
        return X, y, check_sample_weight(sample_weight, len(y)), classes

    def _store_members(self, fitted, members, classes=None):
        """Store the classes and the fitted members under scikit-learn's names."""
        if classes is not None:
            self.classes_ = classes
        self.estimators_ = list(fitted)
        by_name = {n: e for (n, _), e in zip(members, fitted)}
        given = [(n, by_name.get(n, "drop")) for n, _ in self._given()]
        self.named_estimators_ = Bunch(**dict(given))
        for name in ("n_features_in_", "feature_names_in_"):
            found = [getattr(e, name) for e in fitted if hasattr(e, name)]
            if found:
                setattr(self, name, found[0])
            elif hasattr(self, name):
                delattr(self, name)

    def _prediction_rows(self, X):
        """X for a prediction; the model must be fitted."""
        check_is_fitted(self)
        return array_as_numpy(X)

    @property
    def le_(self):
        """scikit-learn's encoder of the classes."""
        from sklearn.preprocessing import LabelEncoder

        if not isinstance(self, Classifier) or not hasattr(self, "classes_"):
            raise AttributeError(f"{type(self).__name__} has no le_ before fit.")
        return LabelEncoder().fit(self.classes_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        try:
            inner = [get_tags(e).input_tags for _, e in self._given() if e != "drop"]
        except (AttributeError, TypeError, ValueError):
            return tags  # not a list of pairs: fit raises
        tags.input_tags.allow_nan = all(t.allow_nan for t in inner)
        tags.input_tags.sparse = all(t.sparse for t in inner)
        return tags


def array_as_numpy(X):
    """X as NumPy if it is an array of another library, else unchanged."""
    return arrays.to_numpy(X) if arrays.is_foreign(X) else X


def take_rows(X, rows):
    """Some rows of an array, a sparse matrix, a data frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    if hasattr(X, "shape"):
        return X[rows]
    return np.asarray(X)[rows]


def fit_clone(estimator, X, y, w=None, name=""):
    """A fitted copy."""
    if w is None:
        return clone(estimator).fit(X, y)
    if not has_fit_parameter(estimator, "sample_weight"):
        kind = type(estimator).__name__
        raise TypeError(
            f"Underlying estimator {kind} ({name!r}) does not support sample weights."
        )
    return clone(estimator).fit(X, y, sample_weight=w)


def fit_clones(members, X, y, w=None, n_jobs=None) -> list:
    """Fitted copies of the members, each on all rows."""
    return Parallel(n_jobs=n_jobs)(
        delayed(fit_clone)(estimator, X, y, w, name) for name, estimator in members
    )
