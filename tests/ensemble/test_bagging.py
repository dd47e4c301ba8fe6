"""Bagging of any estimator."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.ensemble as peer
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

from pansophy.core.loops import threads
from pansophy.ensemble import BaggingClassifier, BaggingRegressor
from pansophy.ensemble.members import (
    clone_with_seed,
    fit_member,
)
from pansophy.params import ParameterError
from pansophy.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.oracles import ensemble as oracle


@pytest.fixture(scope="module")
def classes():
    return make_classification(
        300, 8, n_informative=5, n_classes=3, flip_y=0.05, random_state=0
    )


@pytest.fixture(scope="module")
def numbers():
    return make_regression(300, 6, noise=10.0, random_state=1)


def same_tree(a, b):
    for x, y in zip(a, b):
        np.testing.assert_array_equal(x, y)


def test_one_member_without_resampling_is_the_base_model(classes, numbers):
    X, y = classes
    bag = BaggingClassifier(n_estimators=1, bootstrap=False).fit(X, y)
    tree = DecisionTreeClassifier().fit(X, y)
    np.testing.assert_array_equal(bag.predict_proba(X), tree.predict_proba(X))
    same_tree(bag.estimators_[0].tree_, tree.tree_)
    X, y = numbers
    bag = BaggingRegressor(n_estimators=1, bootstrap=False).fit(X, y)
    tree = DecisionTreeRegressor().fit(X, y)
    np.testing.assert_allclose(bag.predict(X), tree.predict(X), rtol=1e-12)


def test_weights_are_handed_on_where_nothing_is_drawn(classes):
    X, y = classes
    w = np.random.default_rng(0).integers(0, 4, len(y))
    plain = {"n_estimators": 1, "bootstrap": False}
    a = BaggingClassifier(**plain).fit(X, y, sample_weight=w)
    b = BaggingClassifier(**plain).fit(np.repeat(X, w, 0), np.repeat(y, w))
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    "base",
    [
        DecisionTreeClassifier(),
        DecisionTreeClassifier(max_features=3, min_samples_leaf=0.02),
        DecisionTreeClassifier(class_weight="balanced", max_depth=3),
        DecisionTreeClassifier(ccp_alpha=0.01, criterion="entropy"),
        DecisionTreeClassifier(splitter="random", max_leaf_nodes=9),
    ],
    ids=repr,
)
def test_members_on_one_table_are_those_fitted_by_themselves(base, classes):
    X, y = classes
    bag = BaggingClassifier(base, n_estimators=4, random_state=3).fit(X, y)
    [(plan, seeds)] = bag._draws
    for seed, model in zip(seeds, bag):
        _, counts = plan.draw(seed)
        alone = clone_with_seed(base, seed).fit(X, y, sample_weight=counts)
        same_tree(alone.tree_, model.tree_)
        assert alone.get_params() == model.get_params()
        np.testing.assert_array_equal(alone.predict(X), model.predict(X))


@pytest.mark.parametrize("replace", [False, True])
def test_members_on_some_columns_too(replace, classes):
    X, y = classes
    bag = BaggingClassifier(
        max_features=5, bootstrap_features=replace, n_estimators=4, random_state=3
    ).fit(X, y)
    [(plan, seeds)] = bag._draws
    for seed, model in zip(seeds, bag):
        columns, counts = plan.draw(seed)
        alone = fit_member(bag.estimator_, seed, X, y, columns, counts)
        same_tree(alone.tree_, model.tree_)
        np.testing.assert_array_equal(
            alone.predict(X[:, columns]), model.predict(X[:, columns])
        )


def test_regression_members_too(numbers):
    X, y = numbers
    bag = BaggingRegressor(n_estimators=3, random_state=0).fit(X, y)
    [(plan, seeds)] = bag._draws
    for seed, model in zip(seeds, bag):
        counts = plan.draw(seed)[1]
        alone = fit_member(bag.estimator_, seed, X, y, None, counts)
        np.testing.assert_allclose(alone.predict(X), model.predict(X), atol=1e-9)


def test_the_mean_of_the_members(classes, numbers):
    X, y = classes
    bag = BaggingClassifier(max_features=0.6, random_state=0).fit(X, y)
    answers = [m.predict_proba(X[:, c]) for m, c in zip(bag, bag.estimators_features_)]
    np.testing.assert_allclose(bag.predict_proba(X), np.mean(answers, axis=0))
    assert len(bag) == 10
    assert bag[1] is bag.estimators_[1]
    X, y = numbers
    bag = BaggingRegressor(random_state=0).fit(X, np.column_stack([y, -y]))
    answers = [m.predict(X) for m in bag]
    np.testing.assert_allclose(bag.predict(X), np.mean(answers, axis=0))


def test_drawn_rows_and_columns(classes):
    X, y = classes
    patches = BaggingClassifier(
        max_samples=0.5, max_features=3, bootstrap=False, random_state=0
    ).fit(X, y)
    for rows, columns in zip(patches.estimators_samples_, patches.estimators_features_):
        assert len(rows) == len(np.unique(rows)) == 150
        assert len(columns) == len(np.unique(columns)) == 3
    bag = BaggingClassifier(bootstrap_features=True, random_state=0).fit(X, y)
    assert any(len(np.unique(c)) < 8 for c in bag.estimators_features_)
    share = np.mean([len(np.unique(r)) / 300 for r in bag.estimators_samples_])
    assert share == pytest.approx(1 - (1 - 1 / 300) ** 300, abs=0.03)


def test_variance_falls_with_members():
    rng = np.random.default_rng(0)
    x = np.linspace(-1, 1, 21)[:, None]
    answers = {1: [], 5: [], 25: []}
    for seed in range(30):
        X = rng.uniform(-1, 1, (60, 1))
        y = np.sin(3 * X[:, 0]) + 0.5 * rng.normal(size=60)
        for B, found in answers.items():
            bag = BaggingRegressor(n_estimators=B, random_state=seed).fit(X, y)
            found.append(bag.predict(x))
    one, five, many = (np.var(a, axis=0).mean() for a in answers.values())
    assert one > 1.3 * five > 1.3 * many


def test_as_good_as_scikit_learn(classes):
    X, y = classes
    ours, theirs = [], []
    for seed in range(5):
        options = {"n_estimators": 30, "random_state": seed, "oob_score": True}
        ours.append(BaggingClassifier(**options).fit(X, y).oob_score_)
        theirs.append(peer.BaggingClassifier(**options).fit(X, y).oob_score_)
    assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=0.03)


@pytest.mark.filterwarnings("ignore:.*drawn by every member")
@pytest.mark.parametrize("features", [1.0, 0.5])
def test_out_of_bag_equals_a_slow_computation(features, classes, numbers):
    X, y = classes
    X, y = X[:80], y[:80]
    options = {"n_estimators": 6, "max_features": features, "oob_score": True}
    bag = BaggingClassifier(random_state=0, **options).fit(X, y)
    parts = bag.estimators_, bag.estimators_samples_, bag.estimators_features_
    slow = oracle.out_of_bag(*parts, X, 3)
    np.testing.assert_allclose(bag.oob_decision_function_, slow, atol=1e-12)
    none = np.flatnonzero(np.isnan(slow[:, 0]))
    np.testing.assert_array_equal(bag.oob_missing_, none)
    seen = ~np.isnan(slow[:, 0])
    assert bag.oob_score_ == np.mean(slow[seen].argmax(axis=1) == y[seen])
    X, y = numbers
    X, y = X[:80], y[:80]
    bag = BaggingRegressor(random_state=0, **options).fit(X, y)
    parts = bag.estimators_, bag.estimators_samples_, bag.estimators_features_
    slow = oracle.out_of_bag(*parts, X, 1)[:, 0]
    np.testing.assert_allclose(bag.oob_prediction_, slow, atol=1e-9)


def test_rows_without_a_member_are_reported(classes):
    X, y = classes
    with pytest.warns(UserWarning, match="drawn by every member"):
        bag = BaggingClassifier(n_estimators=2, oob_score=True, random_state=0).fit(
            X, y
        )
    assert 0.3 < len(bag.oob_missing_) / len(y) < 0.5
    assert np.isnan(bag.oob_decision_function_[bag.oob_missing_]).all()
    assert bag.oob_score_ > 0.4


def test_a_row_is_out_of_about_a_third_of_the_bags(classes):
    X, y = classes
    bag = BaggingClassifier(n_estimators=100, random_state=0).fit(X, y)
    drawn = np.array(
        [np.bincount(r, minlength=300) > 0 for r in bag.estimators_samples_]
    )
    assert np.mean(~drawn) == pytest.approx(np.exp(-1), abs=0.01)


@pytest.mark.parametrize(
    "base",
    [LogisticRegression(), KNeighborsClassifier(), LinearSVC(), DecisionTreeClassifier(
        smoothing=1.0)],
    ids=lambda b: type(b).__name__,
)  # fmt: skip
def test_any_classifier(base, classes):
    X, y = classes
    labels = np.array(["a", "b", "c"])[y]
    bag = BaggingClassifier(base, random_state=0, oob_score=True, n_estimators=20)
    bag.fit(X, labels)
    assert bag.score(X, labels) > 0.6
    assert abs(bag.predict_proba(X).sum(axis=1) - 1).max() < 1e-9
    assert bag.oob_score_ > 0.5
    assert hasattr(bag, "decision_function") == hasattr(base, "decision_function")
    if hasattr(base, "decision_function"):
        mean = np.mean([m.decision_function(X) for m in bag], axis=0)
        np.testing.assert_allclose(bag.decision_function(X), mean)


def test_words_reach_a_pipeline():
    X = np.array([["a", "x"], ["b", "y"], ["a", "y"], ["b", "x"]] * 10, dtype=object)
    y = (X[:, 0] == "a").astype(int)
    base = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    bag = BaggingClassifier(base, random_state=0).fit(X, y)
    assert bag.score(X, y) == 1.0


def test_missing_and_sparse_pass_through(classes):
    X, y = classes
    holes = X.copy()
    holes[::7, 2] = np.nan
    assert BaggingClassifier(random_state=0).fit(holes, y).score(holes, y) > 0.9
    sparse = np.where(np.abs(X) > 0.5, X, 0.0)
    a = BaggingClassifier(random_state=0).fit(sparse, y)
    b = BaggingClassifier(random_state=0).fit(sp.csr_array(sparse), y)
    wide = sp.csc_array(sparse)
    np.testing.assert_allclose(a.predict_proba(sparse), b.predict_proba(wide))
    with pytest.raises(ValueError, match="NaN"):
        BaggingClassifier(LogisticRegression()).fit(holes, y)


def test_classes_missing_from_a_draw():
    X = np.arange(12.0)[:, None]
    y = np.array([0] * 6 + [1] * 5 + [2])
    bag = BaggingClassifier(KNeighborsClassifier(1), random_state=0).fit(X, y)
    assert {len(m.classes_) for m in bag} == {2, 3}
    assert bag.predict_proba(X).shape == (12, 3)


def test_threads_change_nothing(classes):
    X, y = classes
    fit = lambda jobs: BaggingClassifier(random_state=0, n_jobs=jobs).fit(X, y)
    with threads.limit_threads(1):
        alone = fit(None).predict_proba(X)
    for jobs in (1, 2, -1):
        np.testing.assert_array_equal(fit(jobs).predict_proba(X), alone)


def test_warm_start_goes_on(classes):
    X, y = classes
    bag = BaggingClassifier(n_estimators=4, warm_start=True, random_state=0).fit(X, y)
    first = list(bag.estimators_)
    bag.set_params(n_estimators=9).fit(X, y)
    assert bag.estimators_[:4] == first
    whole = BaggingClassifier(n_estimators=9, random_state=0).fit(X, y)
    np.testing.assert_array_equal(bag.predict_proba(X), whole.predict_proba(X))
    for a, b in zip(bag.estimators_samples_, whole.estimators_samples_):
        np.testing.assert_array_equal(a, b)
    with pytest.warns(UserWarning, match="does not fit new members"):
        bag.fit(X, y)
    with pytest.raises(ParameterError, match="at least the 9"):
        bag.set_params(n_estimators=3).fit(X, y)


def test_weights_are_drawn(classes):
    X, y = classes
    w = (y == 1).astype(float) + 0.1 * (np.arange(len(y)) < 5)
    bag = BaggingClassifier(random_state=0).fit(X, y, sample_weight=w)
    for rows in bag.estimators_samples_:
        assert np.all(w[rows] > 0)
    assert np.mean(bag.predict(X) == 1) > 0.7


def test_bad_settings(classes):
    X, y = classes
    with pytest.raises(ParameterError, match="max_samples"):
        BaggingClassifier(max_samples=400, bootstrap=False).fit(X, y)
    with pytest.raises(ParameterError, match="max_features"):
        BaggingClassifier(max_features=9).fit(X, y)
    with pytest.raises(ParameterError, match="bootstrap=True"):
        BaggingClassifier(bootstrap=False, oob_score=True).fit(X, y)
    with pytest.raises(ParameterError, match="warm_start=False"):
        BaggingClassifier(warm_start=True, oob_score=True).fit(X, y)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        BaggingClassifier(KNeighborsClassifier(), bootstrap=False).fit(
            X, y, sample_weight=np.ones(len(y))
        )


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_matrix, sp.csc_array])
def test_members_get_the_sparse_form_of_the_rows(container):
    seen = []

    class Listening(LogisticRegression):
        def fit(self, X, y):  # returns nothing, which some estimators do
            seen.append(type(X))
            super().fit(X, y)

    X, y = make_classification(60, random_state=0)
    bag = BaggingClassifier(Listening(), 3, max_features=0.5, random_state=0)
    bag.fit(container(X), y)
    assert set(seen) == {container}
    dense = BaggingClassifier(LogisticRegression(), 3, max_features=0.5, random_state=0)
    dense.fit(X, y)
    assert bag.predict_proba(container(X)).shape == dense.predict_proba(X).shape
    assert all(isinstance(m, Listening) for m in bag.estimators_)


def test_scores_of_an_earlier_fit_go():
    X, y = make_classification(60, random_state=0)
    bag = BaggingClassifier(n_estimators=30, oob_score=True, random_state=0).fit(X, y)
    assert bag.oob_score_ > 0.5
    bag.set_params(warm_start=True, oob_score=False, n_estimators=35).fit(X, y)
    for name in ("oob_score_", "oob_decision_function_", "oob_missing_"):
        assert not hasattr(bag, name)
