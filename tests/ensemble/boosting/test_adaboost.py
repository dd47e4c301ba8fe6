"""AdaBoost for classes and for numbers."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.ensemble as peer
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier as PeerTree

from pansophy.core.loops import threads
from pansophy.ensemble import AdaBoostClassifier, AdaBoostRegressor
from pansophy.ensemble.boosting import _adaboost as loops
from pansophy.ensemble.boosting.adaboost import loss_factor, vote_weight
from pansophy.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.oracles import ensemble as oracle

X10 = np.arange(10.0)[:, None]


T10 = np.array([1, 1, 1, -1, -1, -1, 1, 1, 1, -1])


@pytest.fixture(scope="module")
def two():
    return make_classification(400, 6, n_informative=4, flip_y=0.1, random_state=0)


@pytest.fixture(scope="module")
def three():
    return make_classification(
        400, 6, n_informative=4, n_classes=3, flip_y=0.1, random_state=1
    )


def exponential_loss(model, X, y):
    """Mean exp(-t F) with F the half-log weighted votes, after each round."""
    t = np.where(y == model.classes_[1], 1, -1)
    total = np.cumsum(model.estimator_weights_[: len(model)])
    decisions = list(model.staged_decision_function(X))
    return [np.mean(np.exp(-t * d * a / 4)) for d, a in zip(decisions, total)]


def test_ten_points():
    model = AdaBoostClassifier(n_estimators=3).fit(X10, T10)
    np.testing.assert_allclose(
        model.weighted_errors_, [0.3, 0.214286, 0.181818], atol=1e-6
    )
    half_log = model.estimator_weights_ / 2
    np.testing.assert_allclose(half_log, [0.423649, 0.649641, 0.752039], atol=1e-6)
    thresholds = [m.tree_.threshold[0] for m in model]
    assert thresholds == [2.5, 8.5, 5.5]
    reversed_third = model[2].predict([[0.0], [9.0]])
    np.testing.assert_array_equal(reversed_third, [-1, 1])
    wrong = [int(np.sum(p != T10)) for p in model.staged_predict(X10)]
    assert wrong == [3, 3, 0]
    bounds = np.cumprod(
        2 * np.sqrt(model.weighted_errors_ * (1 - model.weighted_errors_))
    )
    np.testing.assert_allclose(model.error_bounds_, bounds)


def test_ten_points_against_the_literal_version():
    slow = oracle.adaboost(X10[:, 0], T10, 3)
    model = AdaBoostClassifier(n_estimators=3).fit(X10, T10)
    for m, row in enumerate(slow):
        assert model.weighted_errors_[m] == pytest.approx(row["error"])
        assert model.estimator_weights_[m] == pytest.approx(2 * row["alpha"])
        assert model[m].tree_.threshold[0] == row["threshold"]
        assert model.error_bounds_[m] == pytest.approx(row["loss"])
    first = slow[0]["w"]
    right = AdaBoostClassifier(n_estimators=1).fit(X10, T10).predict(X10) == T10
    np.testing.assert_allclose(first[right], 0.071429, atol=1e-6)
    np.testing.assert_allclose(first[~right], 0.166667, atol=1e-6)


def test_weights_after_a_round():
    w, wrong = np.full(10, 0.1), np.zeros(10, np.uint8)
    wrong[6:9] = 1
    assert loops.reweight_rows(w, wrong, np.exp(vote_weight(0.3, 2)), 0.0)
    np.testing.assert_allclose(w[wrong == 0], 0.071429, atol=1e-6)
    np.testing.assert_allclose(w[wrong == 1], 0.166667, atol=1e-6)
    assert w[wrong == 1].sum() == pytest.approx(0.5)  # the learner's error now


@given(
    st.floats(0.01, 0.49),
    st.lists(st.floats(0.1, 5.0), min_size=2, max_size=20),
)
def test_the_learner_has_error_one_half_after_reweighting(share, raw):
    w = np.array(raw)
    wrong = np.zeros(len(w), np.uint8)
    wrong[: max(1, int(share * len(w)))] = 1
    w /= w.sum()
    e = float(w[wrong == 1].sum())
    loops.reweight_rows(w, wrong, np.exp(vote_weight(e, 2)), 0.0)
    assert w[wrong == 1].sum() == pytest.approx(0.5)
    assert loss_factor(e, vote_weight(e, 2), 2) == pytest.approx(
        2 * np.sqrt(e * (1 - e))
    )


@pytest.mark.parametrize("rate", [1.0, 0.5])
@pytest.mark.parametrize("depth", [1, 2])
def test_loss_never_rises_and_bounds_the_error(rate, depth, two):
    X, y = two
    base = DecisionTreeClassifier(max_depth=depth)
    model = AdaBoostClassifier(base, n_estimators=40, learning_rate=rate).fit(X, y)
    loss = model.error_bounds_
    assert np.all(np.diff(loss) <= 1e-12)
    np.testing.assert_allclose(exponential_loss(model, X, y), loss, rtol=1e-8)
    wrong = [1 - s for s in model.staged_score(X, y)]
    assert np.all(np.array(wrong) <= loss + 1e-12)
    if rate == 1.0:
        e = model.weighted_errors_
        np.testing.assert_allclose(
            loss, np.cumprod(2 * np.sqrt(e * (1 - e))), rtol=1e-8
        )


def test_loss_of_several_classes_never_rises(three):
    X, y = three
    model = AdaBoostClassifier(n_estimators=40).fit(X, y)
    assert np.all(np.diff(model.error_bounds_) <= 1e-12)


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_same_as_scikit_learn(depth, rate, two, three):
    for X, y in (two, three):
        X = X.astype(np.float32)
        options = {"n_estimators": 20, "learning_rate": rate, "random_state": 0}
        a = AdaBoostClassifier(DecisionTreeClassifier(max_depth=depth), **options)
        b = peer.AdaBoostClassifier(PeerTree(max_depth=depth), **options)
        a.fit(X, y), b.fit(X, y)
        agree = np.abs(a.estimator_errors_ - b.estimator_errors_) < 1e-9
        if depth == 1:  # deeper trees of scikit-learn break ties at random
            assert agree.all()
            np.testing.assert_allclose(a.estimator_weights_, b.estimator_weights_)
            np.testing.assert_allclose(
                a.decision_function(X), b.decision_function(X), atol=1e-9
            )
            np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X))
            np.testing.assert_allclose(
                a.feature_importances_, b.feature_importances_, atol=1e-9
            )
            for p, q in zip(a.staged_predict_proba(X), b.staged_predict_proba(X)):
                np.testing.assert_allclose(p, q)
        assert a.score(X, y) == pytest.approx(b.score(X, y), abs=0.05)


def test_same_rounds_for_any_way_of_fitting(three):
    """Trees on one table, by their leaves, are trees fitted and asked by themselves."""
    X, y = three
    fast = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=15)
    slow = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=2, smoothing=1e-9), n_estimators=15
    )
    pruned = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=2, ccp_alpha=1e-12), n_estimators=15
    )
    fast.fit(X, y), slow.fit(X, y), pruned.fit(X, y)
    for other in (slow, pruned):
        np.testing.assert_allclose(fast.weighted_errors_, other.weighted_errors_)
        np.testing.assert_allclose(
            fast.decision_function(X), other.decision_function(X), atol=1e-9
        )


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_regression_as_good_as_scikit_learn(loss):
    X, y = make_regression(600, 6, noise=5.0, random_state=0)
    ours, theirs = [], []
    for seed in range(3):
        options = {"loss": loss, "random_state": seed, "n_estimators": 30}
        fit = lambda cls, o=options: cls(**o).fit(X[:400], y[:400])
        ours.append(fit(AdaBoostRegressor).score(X[400:], y[400:]))
        theirs.append(fit(peer.AdaBoostRegressor).score(X[400:], y[400:]))
    assert np.mean(ours) > np.mean(theirs) - 0.04


def test_weighted_medians(rng):
    X, y = make_regression(80, 4, noise=5.0, random_state=0)
    model = AdaBoostRegressor(n_estimators=12, random_state=0).fit(X, y)
    P = np.stack([m.predict(X) for m in model], axis=1)
    a = model.estimator_weights_[: len(model)]
    for k, staged in enumerate(model.staged_predict(X), 1):
        slow = [oracle.weighted_median(p[:k], a[:k]) for p in P]
        np.testing.assert_allclose(staged, slow, atol=1e-9)
    np.testing.assert_allclose(model.predict(X), slow, atol=1e-9)


def test_regression_weights_follow_the_formula():
    X, y = make_regression(200, 4, noise=5.0, random_state=0)
    model = AdaBoostRegressor(n_estimators=10, random_state=0).fit(X, y)
    e = model.weighted_errors_
    a = model.estimator_weights_[: len(model)]
    np.testing.assert_allclose(a, np.log((1 - e) / e))
    assert np.all((e > 0) & (e < 0.5))


def test_any_member(two):
    X, y = two
    model = AdaBoostClassifier(LogisticRegression(), n_estimators=5).fit(X, y)
    assert model.score(X, y) > 0.65
    with pytest.raises(AttributeError, match="feature_importances_"):
        _ = model.feature_importances_
    with pytest.raises(ValueError, match="sample_weight"):
        AdaBoostClassifier(KNeighborsClassifier()).fit(X, y)
    line = AdaBoostRegressor(Ridge(), n_estimators=5, random_state=0).fit(X, X[:, 0])
    assert line.score(X, X[:, 0]) > 0.99


def test_names_missing_and_sparse(two):
    X, y = two
    names = np.array(["no", "yes"])[y]
    plain = AdaBoostClassifier(n_estimators=10).fit(X, y)
    named = AdaBoostClassifier(n_estimators=10).fit(X, names)
    np.testing.assert_array_equal(named.predict(X) == "yes", plain.predict(X) == 1)
    flat = np.where(np.abs(X) > 0.5, X, 0.0)
    dense = AdaBoostClassifier(n_estimators=10).fit(flat, y)
    sparse = AdaBoostClassifier(n_estimators=10).fit(sp.csc_array(flat), y)
    np.testing.assert_allclose(
        dense.decision_function(flat), sparse.decision_function(sp.csr_array(flat))
    )
    holes = X.copy()
    holes[::5, 0] = np.nan
    assert AdaBoostClassifier(n_estimators=10).fit(holes, y).score(holes, y) > 0.7


def test_weights_are_repetitions(two):
    X, y = two
    w = np.random.default_rng(0).integers(0, 4, len(y))
    a = AdaBoostClassifier(n_estimators=20).fit(X, y, sample_weight=w)
    b = AdaBoostClassifier(n_estimators=20).fit(np.repeat(X, w, 0), np.repeat(y, w))
    np.testing.assert_allclose(a.weighted_errors_, b.weighted_errors_, rtol=1e-8)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X))


def test_row_order_and_threads(two):
    X, y = two
    order = np.random.default_rng(0).permutation(len(y))
    a = AdaBoostClassifier(n_estimators=20).fit(X, y)
    b = AdaBoostClassifier(n_estimators=20).fit(X[order], y[order])
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X))
    with threads.limit_threads(1):
        c = AdaBoostClassifier(n_estimators=20).fit(X, y)
    np.testing.assert_array_equal(a.decision_function(X), c.decision_function(X))


def test_ends():
    X = np.arange(8.0)[:, None]
    perfect = AdaBoostClassifier().fit(X, X[:, 0] > 3)
    assert len(perfect) == 1
    assert perfect.estimator_errors_[0] == 0
    assert perfect.score(X, X[:, 0] > 3) == 1.0
    with pytest.raises(ValueError, match="chance"):
        AdaBoostClassifier().fit(np.zeros((4, 1)), [0, 1, 0, 1])
    flat = AdaBoostRegressor().fit(X, np.ones(8))
    assert len(flat) == 1
    np.testing.assert_allclose(flat.predict(X), 1.0)
    bad = AdaBoostRegressor(
        DecisionTreeRegressor(max_depth=1), random_state=0, n_estimators=200
    ).fit(X, X[:, 0] ** 2)
    assert len(bad) <= 200
    assert np.isfinite(bad.predict(X)).all()


def test_weights_too_large_are_told(two):
    X, y = two
    model = AdaBoostClassifier(n_estimators=30, learning_rate=1e3)
    with pytest.warns(UserWarning, match="infinite"):
        model.fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_rows_may_be_arrays_where_the_members_take_them():
    from sklearn.dummy import DummyClassifier, DummyRegressor

    rng = np.random.default_rng(0)
    X, c, y = rng.normal(size=(40, 3, 3)), rng.integers(0, 2, 40), rng.normal(size=40)
    classes = AdaBoostClassifier(DummyClassifier(strategy="most_frequent")).fit(X, c)
    assert classes.predict_proba(X).shape == (40, 2)
    assert AdaBoostRegressor(DummyRegressor()).fit(X, y).predict(X).shape == (40,)
    with pytest.raises(ValueError, match="dim 3"):
        AdaBoostClassifier().fit(X, c)


def test_members_whose_fit_returns_nothing():
    class Silent(DecisionTreeRegressor):
        def fit(self, X, y):
            super().fit(X, y)

    X = np.arange(30.0)[:, None]
    model = AdaBoostRegressor(Silent(max_depth=2), n_estimators=3, random_state=0)
    assert model.fit(X, X[:, 0]).score(X, X[:, 0]) > 0.8


def test_weights_do_not_vanish():
    """As in scikit-learn: positive weights keep a least value, zeros stay zero."""
    w = np.array([0.5, 1e-12, 0.0, 0.5])
    wrong = np.array([1, 0, 0, 0], np.uint8)
    assert loops.reweight_rows(w, wrong, 3.0, 1e-6)
    np.testing.assert_allclose(w, [0.75, 1e-6, 0.0, 0.25], rtol=1e-9)
    assert w[2] == 0
