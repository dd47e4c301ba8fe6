"""Lasso and elastic net: worked numbers, gaps, paths, scikit-learn, weights, edges."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pansophy.base import InterruptedFitWarning
from pansophy.linear_model import ElasticNet, Lasso
from pansophy.optim.nonsmooth import working_set
from pansophy.params import ParameterError
from tests.linear_model.small_problems import sparse_problem
from tests.oracles import coordinate as oracle


def test_worked_numbers():
    X, y = np.array([[1.0], [2], [3]]), np.array([1.0, 2, 2])
    for strength, best in [(2, 0.7142857), (10, 0.4285714), (22, 0.0)]:
        model = Lasso(alpha=strength / 6, fit_intercept=False).fit(X, y)
        assert model.coef_[0] == pytest.approx(best, abs=1e-7)
    # points on y = 2x + 1: sum of squares + |a|, free intercept, gives a = 1.75
    X, y = np.array([[0.0], [1], [2]]), np.array([1.0, 3, 5])
    assert Lasso(alpha=1 / 6).fit(X, y).coef_[0] == pytest.approx(1.75)
    both = np.column_stack([X, np.ones(3)])
    fit = Lasso(alpha=1 / 6, fit_intercept=False, tol=1e-12).fit(both, y)
    np.testing.assert_allclose(fit.coef_, [2, 0.833333], atol=1e-6)
    # sum of squares + .5 |w|_1 + .5 |w|^2
    mixed = ElasticNet(alpha=0.25, l1_ratio=1 / 3, fit_intercept=False, tol=1e-12)
    np.testing.assert_allclose(
        mixed.fit(both, y).coef_, [1.792683, 0.963415], atol=1e-6
    )


@pytest.mark.parametrize("shape", [(40, 120), (200, 15)])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
def test_as_scikit_learn(shape, positive, fit_intercept, ratio):
    X, y = sparse_problem(*shape, shift=1.0)
    w = np.random.default_rng(1).integers(0, 3, size=len(y))
    how = {"alpha": 0.2, "positive": positive, "fit_intercept": fit_intercept}
    how["l1_ratio"] = ratio
    for weights in (None, w):
        theirs = peer.ElasticNet(**how, tol=1e-12, max_iter=100_000)
        theirs.fit(X, y, sample_weight=weights)
        for rows in (X, np.asfortranarray(X), sp.csc_matrix(X), sp.csr_array(X)):
            ours = ElasticNet(**how, tol=1e-10).fit(rows, y, sample_weight=weights)
            np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
            np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
            np.testing.assert_allclose(ours.predict(rows), theirs.predict(X), atol=1e-5)
            assert sorted(ours.sparse_coef_.indices) == list(np.flatnonzero(ours.coef_))


def test_matches_the_oracle():
    X, y = sparse_problem(30, 12)
    C, z = X - X.mean(axis=0), y - y.mean()
    model = ElasticNet(alpha=0.3, l1_ratio=0.6, tol=1e-12).fit(X, y)
    slow = oracle.elastic_net(C, z, 30 * 0.3 * 0.6, 30 * 0.3 * 0.4)
    np.testing.assert_allclose(model.coef_, slow, atol=1e-10)
    gap = oracle.lasso_gap(C, z, model.coef_, 0.3, 0.6)
    assert abs(model.dual_gap_ - gap) < 1e-12


def test_estimator_options():
    X, y = sparse_problem(80, 12)
    base = Lasso(alpha=0.1, tol=1e-12).fit(X, y)
    C = X - X.mean(axis=0)
    for options in (
        {"precompute": True},
        {"precompute": C.T @ C},
        {"selection": "random", "random_state": 3},
    ):
        other = Lasso(alpha=0.1, tol=1e-12, **options).fit(X, y)
        np.testing.assert_allclose(other.coef_, base.coef_, atol=1e-8)
    with pytest.raises(ValueError, match="Gram matrix of shape"):
        Lasso(precompute=np.eye(3)).fit(X, y)
    with pytest.warns(UserWarning, match="X was weighted"):
        Lasso(precompute=C.T @ C).fit(X, y, sample_weight=np.arange(1.0, 81))
    with pytest.raises(ParameterError, match="selection of Lasso"):
        Lasso(selection="greedy").fit(X, y)


def test_several_targets():
    X, y = sparse_problem(60, 8)
    Y = np.column_stack([y, -2 * y + X[:, 0], np.zeros(60)])
    ours = Lasso(alpha=0.1, tol=1e-10).fit(X, Y)
    theirs = peer.Lasso(alpha=0.1, tol=1e-12, max_iter=50_000).fit(X, Y)
    assert ours.coef_.shape == (3, 8) and len(ours.n_iter_) == 3
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)
    column = Lasso(alpha=0.1).fit(X, y[:, None])
    assert column.coef_.shape == (8,) and column.intercept_.shape == (1,)


@given(st.integers(0, 2**31 - 1))
@settings(max_examples=15, deadline=None)
def test_weights_are_repetitions(seed):
    rng = np.random.default_rng(seed)
    X, y = sparse_problem(25, 10, seed)
    w = rng.integers(0, 4, size=25)
    w[0] = 2
    once = Lasso(alpha=0.1).fit(X, y, sample_weight=w)
    again = Lasso(alpha=0.1).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(once.coef_, again.coef_, rtol=1e-8, atol=1e-10)
    scaled = Lasso(alpha=0.1).fit(X, y, sample_weight=7.5 * w)
    np.testing.assert_allclose(once.coef_, scaled.coef_, rtol=1e-8, atol=1e-10)


def test_wide_sets_need_no_gram_matrix(monkeypatch):
    X, y = sparse_problem(60, 200, k=30)
    exact = Lasso(alpha=0.05, tol=1e-10).fit(X, y).coef_
    monkeypatch.setattr(working_set, "LIMIT", 10)
    for rows in (X, sp.csc_matrix(X)):
        plain = Lasso(alpha=0.05, tol=1e-10).fit(rows, y)
        np.testing.assert_allclose(plain.coef_, exact, atol=1e-5)


def test_copies_and_constants_of_columns():
    X, y = sparse_problem(50, 4)
    X = np.column_stack([X, X[:, 0], np.full(50, 3.0), np.zeros(50)])
    model = Lasso(alpha=0.01, tol=1e-8).fit(X, y)
    assert np.all(model.coef_[5:] == 0) and np.isfinite(model.coef_).all()
    assert model.dual_gap_ <= 1e-8 * y.var()
    flat = Lasso().fit(X, np.full(50, 4.0))
    assert np.all(flat.coef_ == 0) and flat.intercept_ == pytest.approx(4)


def test_zero_alpha_is_least_squares():
    X, y = sparse_problem(60, 5)
    model = Lasso(alpha=0.0, tol=1e-10).fit(X, y)
    best = peer.LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, best.coef_, atol=1e-7)
    ridge = ElasticNet(alpha=0.5, l1_ratio=0.0, tol=1e-10).fit(X, y)
    same = peer.Ridge(alpha=0.5 * 60).fit(X, y)
    np.testing.assert_allclose(ridge.coef_, same.coef_, atol=1e-7)


def test_warm_start_warning_and_float32():
    X, y = sparse_problem(50, 200, k=30)
    model = Lasso(alpha=0.05, warm_start=True, tol=1e-10).fit(X, y)
    rounds = model.n_iter_
    assert model.fit(X, y).n_iter_ <= rounds and model.n_iter_ == 1
    with pytest.warns(ConvergenceWarning, match="number of iterations, max_iter=1"):
        Lasso(alpha=0.001, max_iter=1, tol=1e-12).fit(X, y)
    X, y = sparse_problem(80, 20)
    single = Lasso(alpha=0.1).fit(X.astype("f4"), y.astype("f4"))
    assert single.coef_.dtype == np.float32
    double = Lasso(alpha=0.1).fit(X, y)
    np.testing.assert_allclose(single.coef_, double.coef_, atol=1e-2)


def test_tensors_come_back_as_tensors():
    torch = pytest.importorskip("torch")
    X, y = sparse_problem(50, 6)
    model = Lasso(alpha=0.1).fit(torch.as_tensor(X), torch.as_tensor(y))
    plain = Lasso(alpha=0.1).fit(X, y)
    assert torch.is_tensor(model.coef_)
    np.testing.assert_allclose(model.coef_.numpy(), plain.coef_)
    np.testing.assert_allclose(model.predict(torch.as_tensor(X)), plain.predict(X))


def test_interruption_leaves_a_model(monkeypatch):
    X, y = sparse_problem(50, 300, k=40)
    calls, real = [], working_set.solve_on_working_set

    def stop(*args):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(working_set, "solve_on_working_set", stop)
    with pytest.warns(InterruptedFitWarning):
        model = Lasso(alpha=0.01, tol=1e-12).fit(X, y)
    assert model.interrupted_ and model.score(X, y) > 0.3


@pytest.mark.parametrize("shape", [(60, 20), (60, 400), (400, 300)])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_optimality_conditions(shape, ratio):
    X, y = sparse_problem(*shape, shift=1.0)
    model = ElasticNet(alpha=0.1, l1_ratio=ratio, tol=1e-12).fit(X, y)
    w, a, b = model.coef_, 0.1 * ratio, 0.1 * (1 - ratio)
    c = (y - model.predict(X)) @ (X - X.mean(axis=0)) / shape[0] - b * w
    used = w != 0
    np.testing.assert_allclose(c[used], a * np.sign(w[used]), atol=1e-5)
    assert np.all(np.abs(c[~used]) <= a + 1e-5)


def test_orthonormal_columns_are_soft_thresholded():
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.normal(size=(40, 10)))
    y = Q @ np.linspace(-2, 2, 10) + 0.1 * rng.normal(size=40)
    strength = 1.5  # of the sum of squares + strength |w|_1
    w = Lasso(strength / 80, fit_intercept=False, tol=1e-12).fit(Q, y).coef_
    z = Q.T @ y
    soft = np.sign(z) * np.maximum(np.abs(z) - strength / 2, 0)
    np.testing.assert_allclose(w, soft, atol=1e-12)
    assert np.array_equal(w != 0, np.abs(z) > strength / 2)


def test_checks_of_the_input_can_be_left_out(rng):
    X, y = np.asfortranarray(rng.normal(size=(30, 4))), rng.normal(size=30)
    for make in (ElasticNet, Lasso):
        checked = make(alpha=0.01).fit(X, y)
        plain = make(alpha=0.01).fit(X, y, check_input=False)
        np.testing.assert_array_equal(plain.coef_, checked.coef_)
