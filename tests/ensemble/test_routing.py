"""Metadata routing of ensembles: as in scikit-learn, whose answers are compared."""

import numpy as np
import pytest
import sklearn
import sklearn.ensemble as peers
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, Ridge

import pansophy.ensemble as ours

X = np.random.default_rng(0).normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)
CALLS: list = []  # (method, arguments) of every call of a member


class Listening(BaseEstimator):
    """Remembers the metadata that its methods get."""

    def fit(self, X, y, sample_weight=None, metadata="none"):
        CALLS.append(("fit", sample_weight is not None, np.size(metadata)))
        self.classes_ = np.unique(y)

    def predict(self, X, metadata="none"):
        CALLS.append(("predict", metadata))
        return np.zeros(len(X), int)


class ListeningClassifier(ClassifierMixin, Listening):
    def predict_proba(self, X, metadata="none"):
        CALLS.append(("predict_proba", metadata))
        return np.tile([0.25, 0.75], (len(X), 1))


class ListeningRegressor(RegressorMixin, Listening):
    pass


def member(kind):
    return ListeningClassifier() if kind == "Classifier" else ListeningRegressor()


def calls_of(model, *steps):
    """What the members were called with, or the type of the error."""
    CALLS.clear()
    try:
        for method, arguments in steps:
            getattr(model, method)(X, *([Y] if method == "fit" else []), **arguments)
    except Exception as error:
        return type(error)
    return list(CALLS)


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
@pytest.mark.parametrize("family", ["Voting", "Stacking", "Bagging"])
@pytest.mark.parametrize("asks", [True, False, None])
def test_metadata_goes_where_scikit_learn_sends_it(family, kind, asks):
    def build(package):
        inner = member(kind).set_fit_request(metadata=asks, sample_weight=asks)
        cls = getattr(package, family + kind)
        if family == "Bagging":
            inner = inner.set_predict_request(metadata=asks)
            if kind == "Classifier":
                inner = inner.set_predict_proba_request(metadata=asks)
            return cls(inner, n_estimators=2, random_state=0)
        if family == "Voting":
            return cls([("a", inner), ("b", clone(inner))])
        final = LogisticRegression() if kind == "Classifier" else Ridge()
        return cls([("a", inner)], final_estimator=final, cv=2)

    fit = [("fit", {"metadata": "m"})]
    weighted = [("fit", {"sample_weight": np.ones(len(X))})]
    predict = [("fit", {}), ("predict", {"metadata": "m"})]
    cases = [fit, weighted] + ([predict] if family == "Bagging" else [])
    with sklearn.config_context(enable_metadata_routing=True):
        for steps in cases:
            a = calls_of(build(ours), *steps)
            assert a == calls_of(build(peers), *steps)
            if asks is None and steps is fit:
                assert a is UnsetMetadataPassedError


@pytest.mark.parametrize("family", ["Voting", "Stacking", "Bagging"])
def test_extra_arguments_need_routing(family):
    inner = LogisticRegression()
    cls = getattr(ours, f"{family}Classifier")
    model = cls(inner) if family == "Bagging" else cls([("a", inner)])
    with pytest.raises(ValueError, match="enable_metadata_routing=True"):
        model.fit(X, Y, metadata=1)


def test_rows_that_are_drawn_bring_their_metadata():
    seen = []

    class Rows(ClassifierMixin, BaseEstimator):
        def fit(self, X, y, key):
            seen.append((X[:, 0], key))
            self.classes_ = np.unique(y)

        def predict(self, X):
            return np.zeros(len(X), int)

    with sklearn.config_context(enable_metadata_routing=True):
        bag = ours.BaggingClassifier(Rows().set_fit_request(key=True), n_estimators=2)
        bag.fit(X, Y, key=X[:, 0])
    for column, key in seen:
        np.testing.assert_array_equal(column, key)
