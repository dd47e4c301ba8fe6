"""Stacking: out-of-fold answers only, parity with scikit-learn, voting as a case."""

import numpy as np
import pytest
import sklearn.ensemble as peer
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVC

from pansophy import persist
from pansophy.ensemble import StackingClassifier, StackingRegressor, VotingRegressor
from pansophy.params import ParameterError


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.2 * rng.normal(size=80)
    return X, y, np.array(["a", "b", "c"])[(y > -0.5).astype(int) + (y > 0.7)]


def regressors():
    return [("ridge", Ridge(1.0)), ("near", KNeighborsRegressor(3))]


class Recorder(RegressorMixin, BaseEstimator):
    """A final regressor that keeps what it was shown."""

    def fit(self, X, y, sample_weight=None):
        self.X_, self.y_, self.w_ = X, y, sample_weight
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return X.mean(axis=1)


def test_the_final_model_sees_out_of_fold_answers_only(data):
    X, y, _ = data
    cv = KFold(4, shuffle=True, random_state=0)
    model = StackingRegressor(regressors(), Recorder(), cv=cv).fit(X, y)
    shown = model.final_estimator_.X_
    for m, (_, e) in enumerate(regressors()):
        np.testing.assert_allclose(shown[:, m], cross_val_predict(e, X, y, cv=cv))
    # a member that knows its rows by heart is shown to know nothing of new ones
    heart = [("heart", KNeighborsRegressor(1))]
    noise = np.random.default_rng(1).normal(size=len(y))
    model = StackingRegressor(heart, Recorder(), cv=cv).fit(X, noise)
    # of 80 pairs: beyond 0.65 with a chance of 1e-10
    assert abs(np.corrcoef(model.final_estimator_.X_[:, 0], noise)[0, 1]) < 0.65
    np.testing.assert_allclose(model.transform(X)[:, 0], noise)  # fitted to all rows


class Fixed(RegressorMixin, BaseEstimator):
    """A linear final regressor with fixed weights."""

    def fit(self, X, y):
        self.coef_ = np.array([0.7, 0.3])
        self.n_features_in_ = 2
        return self

    def predict(self, X):
        return X @ self.coef_


def test_fixed_weights_are_voting(data):
    X, y, _ = data
    stack = StackingRegressor(regressors(), Fixed()).fit(X, y)
    vote = VotingRegressor(regressors(), weights=[0.7, 0.3]).fit(X, y)
    np.testing.assert_allclose(stack.predict(X), vote.predict(X))


@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("method", ["auto", "predict"])
@pytest.mark.parametrize("two", [False, True])
def test_classifier_same_as_scikit_learn(passthrough, method, two, data):
    X, _, c = data
    c = np.where(c == "a", "a", "b") if two else c
    members = [("nb", GaussianNB()), ("svc", LinearSVC(random_state=0))]
    options = {"cv": 3, "passthrough": passthrough, "stack_method": method}
    final = LogisticRegression()
    ours = StackingClassifier(members, final, **options).fit(X, c)
    theirs = peer.StackingClassifier(members, final, **options).fit(X, c)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))
    ours.decision_function(X)
    assert ours.stack_method_ == theirs.stack_method_
    np.testing.assert_array_equal(
        ours.get_feature_names_out(), theirs.get_feature_names_out()
    )


def test_regressor_same_as_scikit_learn(data):
    X, y, _ = data
    w = np.linspace(0.5, 2, len(y))
    members = [("a", Ridge(1.0)), ("b", Ridge(100.0))]
    ours = StackingRegressor(members, Ridge()).fit(X, y, w)
    theirs = peer.StackingRegressor(members, Ridge()).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))


def test_weights_reach_members_and_final(data):
    X, y, _ = data
    w = np.linspace(0.5, 2, len(y))
    members = [("a", Ridge(1.0))]
    model = StackingRegressor(members, Recorder(), cv=4).fit(X, y, w)
    np.testing.assert_array_equal(model.final_estimator_.w_, w)
    whole = Ridge(1.0).fit(X, y, w)
    np.testing.assert_allclose(model.estimators_[0].coef_, whole.coef_)


def test_groups_stay_in_one_fold(data):
    X, y, _ = data
    groups = np.arange(len(y)) // 8
    cv = GroupKFold(5)
    model = StackingRegressor(regressors(), Recorder(), cv=cv).fit(X, y, groups=groups)
    expected = cross_val_predict(Ridge(1.0), X, y, cv=cv, groups=groups)
    np.testing.assert_allclose(model.final_estimator_.X_[:, 0], expected)


def test_fitted_members(data):
    X, y, _ = data
    members = [(n, e.fit(X[:40], y[:40])) for n, e in regressors()]
    model = StackingRegressor(members, Ridge(), cv="prefit").fit(X[40:], y[40:])
    assert model.estimators_[0] is members[0][1]
    theirs = peer.StackingRegressor(members, Ridge(), cv="prefit").fit(X[40:], y[40:])
    np.testing.assert_allclose(model.predict(X), theirs.predict(X))


def test_better_than_its_members(data):
    """Than the worst of them: 20 test rows alone may say otherwise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.2 * rng.normal(size=1000)
    train, test = slice(0, 300), slice(300, None)
    model = StackingRegressor(regressors()).fit(X[train], y[train])
    alone = [e.fit(X[train], y[train]).score(X[test], y[test]) for _, e in regressors()]
    assert model.score(X[test], y[test]) > min(alone)


def test_saved_without_pickle(data, tmp_path):
    X, y, c = data
    for model, target in ((StackingClassifier(), c), (StackingRegressor(), y)):
        model.fit(X, target)
        persist.save(model, tmp_path / "m")
        again = persist.load(tmp_path / "m")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_what_is_refused(data):
    X, y, c = data
    with pytest.raises(ParameterError, match="cv of StackingRegressor must be"):
        StackingRegressor(cv="none").fit(X, y)
    members = [("svc", LinearSVC())]
    with pytest.raises(ParameterError, match="predict_proba"):
        StackingClassifier(members, stack_method="predict_proba").fit(X, c)


@pytest.mark.parametrize("method", ["auto", "predict", "predict_proba"])
@pytest.mark.parametrize("passthrough", [False, True])
def test_columns_of_labels_as_in_scikit_learn(method, passthrough):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    Y = (X[:, :3] + 0.3 * rng.normal(size=(90, 3)) > 0).astype(int)
    members = [
        ("near", KNeighborsClassifier()),
        ("forest", RandomForestClassifier(5, random_state=0)),
    ]
    options = {
        "final_estimator": KNeighborsClassifier(),
        "stack_method": method,
        "passthrough": passthrough,
    }
    ours = StackingClassifier(members, cv=KFold(3), **options).fit(X, Y)
    theirs = peer.StackingClassifier(members, cv=KFold(3), **options).fit(X, Y)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert [c.tolist() for c in ours.classes_] == [[0, 1]] * 3
    p = ours.predict_proba(X)
    np.testing.assert_array_equal(p > 0.5, ours.predict(X) == 1)
    with pytest.raises(ValueError, match="multi-output"):
        ours.fit(X, Y + np.arange(90)[:, None] % 3)


def test_the_final_model_gets_arguments_of_predict():
    from sklearn.linear_model import BayesianRidge

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    model = StackingRegressor([("a", Ridge())], final_estimator=BayesianRidge())
    mean, spread = model.fit(X, y).predict(X, return_std=True)
    np.testing.assert_array_equal(mean, model.predict(X))
    assert np.all(spread > 0)


def test_a_regressor_may_be_a_member_of_a_stack_of_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    c = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = StackingClassifier([("ridge", Ridge())]).fit(X, c)
    assert model.score(X, c) > 0.8
    assert model.predict_proba(X).shape == (90, 3)


def test_weights_are_never_dropped():
    X = np.arange(20.0)[:, None]
    y = X[:, 0]
    final = KNeighborsRegressor(2)
    model = StackingRegressor([("a", Ridge())], final_estimator=final)
    with pytest.raises(TypeError, match=r"KNeighborsRegressor.*final_estimator"):
        model.fit(X, y, sample_weight=np.ones(20))
    with pytest.raises(TypeError, match=r"KNeighborsRegressor.*'near'"):
        StackingRegressor([("near", final)]).fit(X, y, sample_weight=np.ones(20))


def test_a_missing_method_of_the_final_model_says_whose():
    X = np.arange(20.0)[:, None]
    model = StackingClassifier([("a", GaussianNB())], final_estimator=LinearSVC())
    model.fit(X, X[:, 0] > 9)
    with pytest.raises(AttributeError) as error:
        model.predict_proba(X)
    assert "LinearSVC" in str(error.value.__cause__)
