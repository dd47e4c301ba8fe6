"""Exact boosters: scikit-learn's results, subsampling, starts, stopping."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.ensemble as theirs
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss

from pansophy import losses
from pansophy.ensemble import GradientBoostingClassifier as Classifier
from pansophy.ensemble import GradientBoostingRegressor as Regressor


def numbers(n=200, d=5):
    return make_regression(n, d, noise=10.0, random_state=0)


def classes(n=250, k=3):
    return make_classification(
        n, 6, n_informative=4, n_redundant=0, n_classes=k, random_state=0
    )


# -- parity ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_depth": 2, "min_samples_leaf": 7},
        {"max_leaf_nodes": 5, "max_depth": None},
        {"min_samples_split": 0.2, "min_weight_fraction_leaf": 0.05},
        {"min_impurity_decrease": 50.0},
        {"init": "zero"},
        {"init": LinearRegression()},
        {"ccp_alpha": 20.0},
    ],
    ids=str,
)
def test_numbers_as_scikit_learn(options):
    X, y = numbers()
    a = Regressor(n_estimators=25, **options).fit(X, y)
    b = theirs.GradientBoostingRegressor(n_estimators=25, random_state=0, **options)
    b.fit(X, y)
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(a.train_score_, b.train_score_, rtol=1e-8)
    np.testing.assert_allclose(
        a.feature_importances_, b.feature_importances_, atol=0.1
    )  # equally good splits may go to different features
    if "ccp_alpha" not in options:
        np.testing.assert_array_equal(a.apply(X).shape, b.apply(X).shape)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_classes_as_scikit_learn(k, weighted):
    X, y = classes(k=k)
    w = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    a = Classifier(n_estimators=20).fit(X, y, w)
    b = theirs.GradientBoostingClassifier(n_estimators=20).fit(X, y, w)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(a.train_score_, b.train_score_, rtol=1e-8)
    assert a.estimators_.shape == b.estimators_.shape
    np.testing.assert_allclose(
        a.estimators_[3, 0].tree_.value.max(), b.estimators_[3, 0].tree_.value.max()
    )


def test_exponential_as_scikit_learn():
    X, y = classes(k=2)
    a = Classifier(loss="exponential", n_estimators=20).fit(X, y)
    b = theirs.GradientBoostingClassifier(loss="exponential", n_estimators=20)
    b.fit(X, y)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "quantile"])
def test_kinked_losses_are_near_scikit_learn(loss):
    X, y = numbers(400)
    a = Regressor(loss=loss).fit(X, y)
    b = theirs.GradientBoostingRegressor(loss=loss).fit(X, y)
    np.testing.assert_allclose(a.train_score_[-1], b.train_score_[-1], rtol=0.15)


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "quantile"])
@pytest.mark.parametrize("alpha", [0.25, 0.9])
def test_weights_are_repeated_rows_for_kinked_losses(loss, alpha):
    X, y = numbers(40)
    w = np.random.default_rng(0).integers(0, 4, 40)
    options = {
        "loss": loss,
        "alpha": alpha,
        "n_estimators": 5,
        "min_samples_leaf": 0.01,
    }
    weighted = Regressor(**options).fit(X, y, w)
    repeated = Regressor(**options).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert weighted.init_.constant_ == repeated.init_.constant_
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-12)


def test_start_minimises_the_loss():
    y = np.array([0.0, 1.0, 2.0, 10.0])
    start = lambda w, level: (
        Regressor(loss="quantile", alpha=level, n_estimators=1)
        .fit(np.zeros((4, 1)), y, w)
        .init_.constant_.item()
    )
    assert start(None, 0.9) == 10.0
    assert start(None, 0.5) == 1.5  # any point from 1 to 2 is as good
    assert start([1, 1, 5, 1], 0.5) == 2.0
    assert start([0.5, 0.5, 2.5, 0.5], 0.25) == 1.5  # 1/4 of 4 is reached at 1


def test_first_leaf_of_absolute_error_is_a_median():
    X, y = np.arange(6.0)[:, None], np.array([0.0, 1, 5, 6, 20, 21])
    model = Regressor(
        loss="absolute_error", n_estimators=1, max_depth=1, learning_rate=1.0
    ).fit(X, y)
    cut = model.estimators_[0, 0].tree_.threshold[0]
    left = X[:, 0] <= cut
    expected = np.where(left, np.median(y[left]), np.median(y[~left]))
    np.testing.assert_allclose(model.predict(X), expected)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie", losses.huber(2.0)])
def test_losses_beyond_scikit_learn(loss):
    X, y = numbers()
    y = np.exp(y / y.std())
    model = Regressor(loss=loss, n_estimators=40).fit(X, y)
    assert np.all(np.diff(model.train_score_) < 1e-12)
    assert np.all(model.predict(X) > 0) or isinstance(loss, losses.Loss)


# -- subsampling, starts, stopping -----------------------------------------------


def test_subsample_tells_of_the_rows_left_out():
    X, y = numbers(300)
    model = Regressor(subsample=0.5, random_state=0, n_estimators=30).fit(X, y)
    assert model.oob_improvement_.shape == model.oob_scores_.shape == (30,)
    assert model.oob_score_ == model.oob_scores_[-1]
    assert model.oob_scores_[-1] < model.oob_scores_[0]
    assert model.oob_improvement_[0] > 0
    again = Regressor(subsample=0.5, random_state=0, n_estimators=30).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    other = Regressor(subsample=0.5, random_state=1, n_estimators=30).fit(X, y)
    assert not np.allclose(model.predict(X), other.predict(X))


def test_warm_start_goes_on_where_it_was():
    X, y = classes()
    options = {"subsample": 0.7, "max_features": 2, "random_state": 0}
    whole = Classifier(n_estimators=9, **options).fit(X, y)
    model = Classifier(n_estimators=4, warm_start=True, **options).fit(X, y)
    model.set_params(n_estimators=9).fit(X, y)
    np.testing.assert_allclose(whole.predict_proba(X), model.predict_proba(X))
    np.testing.assert_allclose(whole.train_score_, model.train_score_)
    with pytest.raises(ValueError, match="n_estimators=2"):
        model.set_params(n_estimators=2).fit(X, y)


def test_early_stopping():
    X, y = numbers(300)
    model = Regressor(
        n_estimators=500, learning_rate=0.5, n_iter_no_change=3, random_state=0
    ).fit(X, y)
    assert model.n_estimators_ < 500
    assert len(model.train_score_) == model.n_estimators_ == len(model.estimators_)
    assert "validation" in model.history_


@pytest.mark.parametrize("sparse", [False, True])
def test_early_stopping_by_own_validation_rows(sparse):
    X, y = classes(500)
    form = sp.csr_matrix if sparse else np.asarray
    options = {"n_estimators": 200, "learning_rate": 0.5, "n_iter_no_change": 3}
    model = Classifier(**options).fit(
        form(X[:300]), y[:300], X_val=form(X[300:]), y_val=y[300:]
    )
    assert model.n_estimators_ < 200
    late = log_loss(y[300:], model.predict_proba(X[300:]))
    np.testing.assert_allclose(model.history_["validation"].min(), late, rtol=1e-9)
    assert model.best_iteration_ == model.n_estimators_ < model.n_iter_
    longer = Classifier(**options, keep_best=False).fit(
        form(X[:300]), y[:300], X_val=form(X[300:]), y_val=y[300:]
    )
    assert longer.n_estimators_ == longer.n_iter_ > longer.best_iteration_
    # all the rows given to fit were used for growth
    same = Classifier(n_estimators=model.n_estimators_, learning_rate=0.5)
    np.testing.assert_allclose(
        model.predict_proba(X), same.fit(X[:300], y[:300]).predict_proba(X)
    )


def test_validation_weights_are_rows_and_bad_ones_are_refused():
    X, y = numbers(200)
    held = {"X_val": X[150:], "y_val": y[150:]}
    w = np.arange(50) % 3
    twice = {k: np.repeat(v, w, axis=0) for k, v in held.items()}
    model = Regressor(n_estimators=20, n_iter_no_change=4)
    a = model.fit(X[:150], y[:150], **held, sample_weight_val=w).history_["validation"]
    b = model.fit(X[:150], y[:150], **twice).history_["validation"]
    np.testing.assert_allclose(a, b)
    with pytest.raises(ValueError, match="y_val"):
        model.fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="shape"):
        model.fit(X, y, X_val=X, y_val=y[:3])
    with pytest.raises(ValueError, match="sample_weight_val"):
        model.fit(X, y, sample_weight_val=w)
    with pytest.raises(ValueError, match="n_iter_no_change"):
        Regressor().fit(X, y, **held)


def test_monitor_ends_the_rounds():
    X, y = numbers()
    seen = []

    def monitor(i, model, locals):
        seen.append(model.train_score_[-1])
        return i == 4

    model = Regressor().fit(X, y, monitor=monitor)
    assert model.n_estimators_ == 5
    np.testing.assert_allclose(seen, model.train_score_)


def test_init_must_give_probabilities():
    X, y = classes()
    model = Classifier(init=LogisticRegression(), n_estimators=5).fit(X, y)
    peer = theirs.GradientBoostingClassifier(init=LogisticRegression(), n_estimators=5)
    peer.fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    with pytest.raises(ValueError, match="predict_proba"):
        Classifier(init=LinearRegression()).fit(X, y)


# -- inputs ----------------------------------------------------------------------


def test_sparse_and_dense_agree():
    X, y = numbers()
    X[np.abs(X) < 0.7] = 0
    a, b = Regressor(n_estimators=10), Regressor(n_estimators=10)
    a.fit(X, y)
    b.fit(sp.csr_array(X), y)
    np.testing.assert_allclose(a.predict(X), b.predict(sp.csr_array(X)))


def test_missing_values_are_used():
    X, y = numbers()
    X[y > 0, 0] = np.nan
    assert Regressor().fit(X, y).score(X, y) > 0.95


def test_stages_and_importances():
    X, y = classes()
    model = Classifier(n_estimators=6).fit(X, y)
    *_, last = model.staged_decision_function(X)
    np.testing.assert_allclose(last, model.decision_function(X))
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_allclose(np.log(last), model.predict_log_proba(X))
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, model.predict(X))
    np.testing.assert_allclose(model.feature_importances_.sum(), 1)


def test_refusals():
    X, y = numbers()
    with pytest.raises(ValueError, match="one class"):
        Classifier().fit(X, np.ones(200))
    with pytest.raises(ValueError, match="binary classification"):
        Classifier(loss="exponential").fit(*classes())
    with pytest.raises(ValueError, match="non-negative"):
        Regressor(loss="poisson").fit(X, -np.abs(y))
    with pytest.raises(ValueError, match="loss of GradientBoostingRegressor"):
        Regressor(loss=losses.softmax).fit(X, y)


@pytest.mark.parametrize("cls", [Classifier, Regressor])
def test_rows_may_be_drawn_after_a_warm_start(cls):
    X, y = make_classification(80, random_state=0)
    model = cls(n_estimators=5, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=9, subsample=0.5).fit(X, y)
    for scores in (model.oob_scores_, model.oob_improvement_):
        np.testing.assert_array_equal(scores[:5], 0)
        assert np.all(scores[5:] != 0)
        assert len(scores) == 9
    # the first round after the switch is compared with what it started from
    assert abs(model.oob_improvement_[5]) < model.oob_scores_[5]
    model.set_params(n_estimators=12, subsample=1.0).fit(X, y)
    model.set_params(n_estimators=14, subsample=0.5).fit(X, y)
    assert len(model.oob_scores_) == 14
    np.testing.assert_array_equal(model.oob_scores_[9:12], 0)
    twice = cls(n_estimators=3, subsample=0.5, warm_start=True, random_state=0)
    twice.fit(X, y)
    twice.set_params(n_estimators=6).fit(X, y)
    once = cls(n_estimators=6, subsample=0.5, random_state=0).fit(X, y)
    np.testing.assert_allclose(twice.oob_improvement_, once.oob_improvement_)


def test_a_split_for_early_stopping_keeps_every_class():
    X = np.arange(10.0)[:, None]
    y = [0, 0] + [1] * 8
    options = {"n_iter_no_change": 3, "random_state": 0, "n_estimators": 5}
    with pytest.raises(ValueError, match="missing some classes"):
        Classifier(validation_fraction=0.8, **options).fit(X, y)
    assert Classifier(validation_fraction=0.4, **options).fit(X, y).n_estimators_ <= 5


def test_members_have_the_parameters_they_were_grown_with():
    X, y = make_regression(60, random_state=0)
    model = Regressor(n_estimators=3, max_depth=1, min_samples_leaf=4, warm_start=True)
    model.fit(X, y)
    model.set_params(n_estimators=5, max_depth=2).fit(X, y)
    assert [m.max_depth for m in model.estimators_[:, 0]] == [1, 1, 1, 2, 2]
    assert model.estimators_[0, 0].min_samples_leaf == 4
    total = sum(m.predict(X) for m in model.estimators_[:, 0])
    start = model.init_.predict(X)
    np.testing.assert_allclose(start + 0.1 * total, model.predict(X))


def test_a_start_that_takes_no_weights_is_named():
    from sklearn.pipeline import make_pipeline

    X, y = make_regression(40, random_state=0)
    init = make_pipeline(LinearRegression())
    model = Regressor(n_estimators=2, init=init).fit(X, y)
    with pytest.raises(ValueError, match="initial estimator Pipeline does not support"):
        model.fit(X, y, sample_weight=np.ones(40))
    with pytest.raises(ValueError, match="init of GradientBoostingRegressor"):
        Regressor(init=LinearRegression).fit(X, y)
