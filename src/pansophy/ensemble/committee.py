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
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from ..base import Classifier, Estimator, check_sparse_structure, host_array
from ..core.arrays.labels import class_codes, plain_numbers, refuse_missing
from ..core.arrays.rows import is_dataset
from ..core.arrays.weighted import check_sample_weight
from ..core.drivers.routing import refuse_unrouted, routed_params, routing_enabled
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


SEVERAL_OUTPUTS = ("multilabel-indicator", "multiclass-multioutput")
NamedEstimators = Annotated[
    Any, ParameterRule("a list of (name, estimator) pairs", is_named_estimator_list)
]


class AbstractCommittee(Estimator):
    """Members in `estimators`, a list of (name, estimator), or None for a default."""

    estimators: Any

    _tensors = False

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
        clashes = sorted(set(names) & set(parameters))
        if clashes:
            raise ParameterError(
                f"Estimator names conflict with constructor arguments: {clashes!r}"
            )
        bad = [n for n in names if "__" in n]
        if bad:
            raise ParameterError(f"Estimator names must not contain __: got {bad!r}")
        kept = [(n, e) for n, e in given if not isinstance(e, str)]
        if not kept:
            raise ParameterError(
                "All estimators are dropped. At least one is required to be an "
                "estimator."
            )
        classifies = isinstance(self, Classifier)
        kind = "classifier" if classifies else "regressor"
        for n, e in kept:
            if not self._takes_member(e):
                raise ParameterError(
                    f"The estimator {type(e).__name__} should be a {kind} (member "
                    f"{n!r} of {name})."
                )
        return kept

    def _takes_member(self, estimator) -> bool:
        """Whether an estimator is of the kind that members must be."""
        classifies = isinstance(self, Classifier)
        return is_classifier(estimator) if classifies else is_regressor(estimator)

    def _check_inputs(self, X, y, sample_weight, fit_params) -> tuple:
        """X, y (codes or numbers), weights and the classes (or None), all checked."""
        refuse_unrouted(self, "fit", fit_params)
        given = self.estimators
        if isinstance(given, (list, tuple)) and not is_named_estimator_list(given):
            raise ParameterError(
                "Invalid 'estimators' attribute, 'estimators' should be a non-empty "
                f"list of (string, estimator) tuples, got {given!r}."
            )
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
        X = host_array(self, X)
        y = plain_numbers(host_array(self, y, "y"))
        check_consistent_length(X, y)
        if isinstance(self, Classifier) and type_of_target(y) in SEVERAL_OUTPUTS:
            return X, *self._several_labels(y, sample_weight)
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

    def _several_labels(self, y, sample_weight) -> tuple:
        """Codes, weights and classes of several columns of labels, where supported."""
        raise ValueError(
            "Multilabel and multi-output classification is not supported by "
            f"{type(self).__name__}: fit one for each column of y."
        )

    def _member_params(self, members, w, fit_params) -> dict:
        """Arguments of the members' `fit` by name: those they ask for, or weights."""
        if routing_enabled():
            routed = routed_params(self, "fit", fit_params, sample_weight=w)
            return {name: routed[name]["fit"] for name, _ in members}
        return {name: {} if w is None else {"sample_weight": w} for name, _ in members}

    def get_metadata_routing(self):
        """The members that arguments of `fit` may go to."""
        router = MetadataRouter(owner=self)
        for name, estimator in self._given():
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(**{name: estimator}, method_mapping=mapping)
        return router

    def _store_members(self, fitted, members, classes=None):
        """Store the classes and the fitted members under scikit-learn's names."""
        if classes is not None:
            self.classes_ = classes
        self.estimators_ = list(fitted)
        by_name = {n: e for (n, _), e in zip(members, fitted)}
        given = [(n, by_name.get(n, "drop")) for n, _ in self._given()]
        self.named_estimators_ = Bunch(**dict(given))
        for name in ("n_features_in_", "feature_names_in_"):
            results = [getattr(e, name) for e in fitted if hasattr(e, name)]
            if results:
                setattr(self, name, results[0])
            elif hasattr(self, name):
                delattr(self, name)

    def _prediction_rows(self, X):
        """X for a prediction; the model must be fitted."""
        check_is_fitted(self)
        return host_array(self, X)

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


def fit_with_params(model, X, y, params, name=""):
    """Fit with further arguments; an error names a member that takes no weights."""
    try:
        model.fit(X, y, **params)
    except TypeError as error:
        if "unexpected keyword argument 'sample_weight'" not in str(error):
            raise
        raise TypeError(
            f"Underlying estimator {type(model).__name__} does not support sample "
            f"weights (member {name!r})."
        ) from error
    return model


def fit_clone(estimator, X, y, params, name=""):
    """A copy, fitted with further arguments of `fit`."""
    return fit_with_params(clone(estimator), X, y, params, name)


def fit_clones(members, X, y, params, n_jobs=None) -> list:
    """Fitted copies of the members, each on all rows; `params` are by name."""
    return Parallel(n_jobs=n_jobs)(
        delayed(fit_clone)(estimator, X, y, params[name], name)
        for name, estimator in members
    )
