"""Bridge regression and the adaptive lasso: ends, monotone steps, what is chosen."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from pansophy.linear_model import AdaptiveLasso, BridgeRegression, Lasso, Ridge


def problem(n=60, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1
    return X, 3 * X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=n) + 2


def test_the_ends_are_ridge_and_lasso():
    X, y = problem()
    two = BridgeRegression(0.1, q=2).fit(X, y)
    np.testing.assert_allclose(
        two.coef_, Ridge(alpha=2 * 60 * 0.1).fit(X, y).coef_, rtol=1e-9
    )
    one = BridgeRegression(0.1, q=1, tol=1e-10).fit(X, y)
    lasso = Lasso(0.1, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(one.coef_, lasso.coef_, atol=1e-9)
    assert np.sum(one.coef_ == 0) == np.sum(lasso.coef_ == 0) > 0  # exact zeros
    np.testing.assert_allclose(one.intercept_, lasso.intercept_)


@pytest.mark.parametrize("q", [1.2, 1.6, 2.5, 4.0])
def test_convex_powers_reach_the_minimum(q):
    X, y = problem()
    C, z = X - X.mean(axis=0), y - y.mean()
    J = lambda w: np.mean((z - C @ w) ** 2) / 2 + 0.1 * np.sum(np.abs(w) ** q)
    model = BridgeRegression(0.1, q=q, tol=1e-8).fit(X, y)
    assert model.convex_
    assert J(model.coef_) <= minimize(J, np.zeros(8), tol=1e-12).fun + 1e-8


@pytest.mark.parametrize("q", [0.3, 0.7])
def test_concave_powers_fall_and_are_flagged(q):
    X, y = problem()
    for rows in (X, sp.csr_matrix(X)):
        model = BridgeRegression(0.1, q=q, tol=1e-10).fit(rows, y)
        fall = np.diff(model.history_["objective"])
        assert not model.convex_ and np.all(fall <= 1e-10)
        assert {0, 1} <= set(np.flatnonzero(model.coef_)) and np.any(model.coef_ == 0)
        # stationary: the slope of the smooth part balances that of the penalty
        w = model.coef_[model.coef_ != 0]
        c = (y - model.predict(X)) @ (X - X.mean(axis=0)) / 60
        np.testing.assert_allclose(
            c[model.coef_ != 0], 0.1 * q * np.sign(w) * np.abs(w) ** (q - 1), atol=1e-4
        )


def test_adaptive_lasso_chooses_and_shrinks_less():
    X, y = problem(200)
    plain, model = Lasso(0.1).fit(X, y), AdaptiveLasso(0.1).fit(X, y)
    assert np.flatnonzero(model.coef_).tolist() == [0, 1]
    assert abs(model.coef_[0] - 3) < abs(plain.coef_[0] - 3)
    assert model.dual_gap_ <= 1e-4 * y.var() and model.n_iter_ == 1
    # a lasso on columns scaled by the weights
    scaled = Lasso(0.1, tol=1e-10).fit(X / model.weights_, y).coef_ / model.weights_
    exact = AdaptiveLasso(0.1, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(exact.coef_, scaled, atol=1e-7)
    again = AdaptiveLasso(0.1, n_reweights=3).fit(X, y)
    assert again.n_iter_ == 3 and np.isinf(again.weights_).sum() >= 6
    X, y = problem(30, 80)
    wide = AdaptiveLasso(0.1).fit(X, y)
    assert 0 in np.flatnonzero(wide.coef_) and np.sum(wide.coef_ != 0) < 30


def test_weights_are_repetitions():
    X, y = problem()
    w = np.random.default_rng(0).integers(0, 3, size=60)
    for model in (BridgeRegression(0.1, q=0.5), BridgeRegression(0.1, q=1.5),
                  AdaptiveLasso(0.1)):  # fmt: skip
        once = model.fit(X, y, sample_weight=w).coef_
        again = model.fit(np.repeat(X, w, axis=0), np.repeat(y, w)).coef_
        np.testing.assert_allclose(once, again, rtol=1e-7, atol=1e-9)
