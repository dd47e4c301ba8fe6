"""Recursive least squares is batch least squares, in every form of the update."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.linear_model import LinearRegression, RecursiveLeastSquares, Ridge
from pansophy.linear_model.least_squares.recursive_least_squares import (
    RLSState,
    rls_update,
)

X2, Y2 = np.array([[1.0, 1], [2, 1], [3, 1], [4, 1]]), np.array([2.0, 3, 5, 4])


def test_worked_numbers():
    model = RecursiveLeastSquares(prior_variance=100.0, fit_intercept=False)
    for x, y in zip(X2, Y2, strict=True):
        model.partial_fit([x], [y])
    np.testing.assert_allclose(model.coef_, [0.805797, 1.481802], atol=1e-6)
    ridge = Ridge(alpha=0.01, fit_intercept=False).fit(X2, Y2)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-12)


@pytest.mark.parametrize("form", ["joseph", "short", "information"])
def test_forms_agree(form, rng):
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    state = RLSState(np.zeros(4), 10.0 * np.eye(4))
    traces = []
    for i in range(0, 30, 3):
        state = rls_update(state, X[i : i + 3], y[i : i + 3], 0.5, form=form)
        traces.append(np.trace(state.P))
    assert np.all(np.diff(traces) <= 1e-12)
    model = RecursiveLeastSquares(
        prior_variance=10.0, noise_variance=0.5, fit_intercept=False
    ).fit(X, y)
    np.testing.assert_allclose(state.theta, model.coef_, rtol=1e-9)
    np.testing.assert_allclose(state.P, model.covariance_, rtol=1e-8)


def test_joseph_form_holds_for_any_gain(rng):
    """P of a wrong gain is the covariance of the estimate it gives."""
    P, x = np.diag([2.0, 1.0]), np.array([[1.0, -0.5]])
    K = np.array([[0.3], [0.1]])
    state = rls_update(RLSState(np.zeros(2), P), x, [1.0], 0.4, gain=K)
    errors = rng.multivariate_normal(np.zeros(2), P, size=400_000)
    noise = np.sqrt(0.4) * rng.normal(size=(400_000, 1))
    after = errors - (errors @ x.T + noise) @ K.T
    np.testing.assert_allclose(np.cov(after.T), state.P, atol=1e-2)
    best = rls_update(RLSState(np.zeros(2), P), x, [1.0], 0.4)
    assert np.trace(best.P) < np.trace(state.P)
    with pytest.raises(ValueError, match="optimal gain only"):
        rls_update(RLSState(np.zeros(2), P), x, [1.0], gain=K, form="short")


@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
@settings(max_examples=25, deadline=None)
def test_any_grouping_is_batch(seed, size):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(25, 4)) + 3, rng.normal(size=25)
    model = RecursiveLeastSquares()
    for i in range(0, 25, size):
        model.partial_fit(X[i : i + size], y[i : i + size])
    batch = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, batch.coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(model.intercept_, batch.intercept_, rtol=1e-8)


def test_before_the_rows_suffice_it_is_the_smallest_fit(rng):
    X, y = rng.normal(size=(3, 5)), rng.normal(size=3)
    model = RecursiveLeastSquares(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(X) @ y, rtol=1e-9)
    assert model.rank_ == 3
    assert np.isnan(model.covariance_).all()


def test_forgetting_is_weighting(rng):
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    model = RecursiveLeastSquares(0.9)
    for i in range(0, 40, 5):
        model.partial_fit(X[i : i + 5], y[i : i + 5])
    age = np.arange(39, -1, -1)
    batch = LinearRegression().fit(X, y, sample_weight=0.9**age)
    np.testing.assert_allclose(model.coef_, batch.coef_, rtol=1e-8)
    assert model.weight_ == pytest.approx(np.sum(0.9**age))


def test_follows_a_change(rng):
    X = rng.normal(size=(600, 2))
    truth = np.where(np.arange(600)[:, None] < 300, [1.0, 0.0], [-1.0, 2.0])
    y = np.sum(X * truth, axis=1)
    model = RecursiveLeastSquares(0.95).fit(X, y)
    np.testing.assert_allclose(model.coef_, [-1.0, 2.0], atol=1e-4)


def test_bad_forgetting():
    with pytest.raises(ValueError, match="forgetting of RecursiveLeastSquares"):
        RecursiveLeastSquares(1.5).fit(X2, Y2)
