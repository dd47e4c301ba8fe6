"""Adaline and the delta rule: step limit, Newton's single step, worked points."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from pansophy.linear_model import Adaline, LinearRegression
from pansophy.linear_model.classifiers.adaline import (
    delta_rule,
    largest_step,
    squared_error_and_gradient,
)

X5, Y5 = np.array([[0.0, 1], [1, 1], [2, 1]]), np.array([1.0, 3, 5])  # W5 of 004
HOW = {"max_iter": 5000, "tol": 1e-9}


def test_step_limit():
    limit = largest_step(X5)
    np.testing.assert_allclose(limit, 0.139620, atol=5e-7)
    run = delta_rule(X5, Y5, eta=0.99 * limit, **HOW)
    np.testing.assert_allclose(run.state.W[:, 0], [2, 1], atol=1e-6)
    assert np.all(np.diff(run.history["objective"]) <= 1e-12)
    for step in (1.01 * limit, -0.01):  # too long, or the wrong sign
        away = delta_rule(X5, Y5, eta=step, max_iter=3000, tol=1e-9)
        assert not away.converged and away.objective > 1e3


def test_step_limit_of_wide_rows(rng):
    X = rng.standard_normal((30, 700))
    exact = 2 / (2 * np.linalg.norm(X, 2) ** 2)
    np.testing.assert_allclose(largest_step(X), exact, rtol=1e-8)
    np.testing.assert_allclose(largest_step(sp.csr_matrix(X)), exact, rtol=1e-8)


def test_newton_lands_in_one_step():
    start = np.array([[7.0], [-3.0]])
    run = delta_rule(X5, Y5, W=start, solver="newton", eta=1.0, **HOW)
    np.testing.assert_allclose(run.state.W[:, 0], [2, 1], atol=1e-10)
    assert run.n_iter == 1


def test_sequential_comes_near_and_gradient_is_right(rng):
    run = delta_rule(
        X5, Y5, solver="sequential", eta=0.2, max_iter=4000, tol=1e-9, rng=rng
    )
    np.testing.assert_allclose(run.state.W[:, 0], [2, 1], atol=1e-3)
    X, t = np.column_stack([np.ones(4), np.arange(4)]), np.array([1.0, 2, 2, 4])
    run = delta_rule(X, t, eta=0.02, **HOW)
    np.testing.assert_allclose(run.state.W[:, 0], [0.9, 0.9], atol=1e-6)
    W, v, h = rng.standard_normal((2, 1)), np.ones(4), 1e-6
    J = lambda W: squared_error_and_gradient(X, t[:, None], v, W)[0]
    moves = [J(W + h * e) - J(W - h * e) for e in np.eye(2)[:, :, None]]
    exact = squared_error_and_gradient(X, t[:, None], v, W)[1][:, 0]
    np.testing.assert_allclose(exact, np.array(moves) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("solver", ["batch", "newton"])
def test_classifier_is_least_squares_on_signs(solver, k, rng):
    X = rng.standard_normal((120, 4))
    y = np.digitize(
        X[:, 0] + 0.3 * rng.standard_normal(120), [0.0] if k == 2 else [-0.5, 0.5]
    )
    model = Adaline(solver, tol=1e-10, max_iter=20_000).fit(X, y)
    T = np.where(y[:, None] == np.arange(k), 1.0, -1.0)
    exact = LinearRegression().fit(X, T[:, 1] if k == 2 else T)
    np.testing.assert_allclose(model.coef_, np.atleast_2d(exact.coef_), atol=1e-7)
    np.testing.assert_allclose(
        model.intercept_, np.atleast_1d(exact.intercept_), atol=1e-7
    )
    sparse = Adaline(solver, tol=1e-10, max_iter=20_000).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.coef_, model.coef_, atol=1e-9)
    assert model.score(X, y) > 0.7


def test_weights_are_repetition_and_options(rng):
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] > 0.2).astype(int)
    w = rng.integers(0, 3, 60)
    a = Adaline(tol=1e-9, max_iter=5000).fit(X, y, sample_weight=w)
    b = Adaline(tol=1e-9, max_iter=5000).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-9)
    seq = Adaline("sequential", random_state=0, max_iter=300, tol=1e-2).fit(X, y)
    near = Adaline("newton").fit(X, y)
    np.testing.assert_allclose(seq.coef_, near.coef_, atol=0.1)
    bare = Adaline("newton", fit_intercept=False).fit(X, y)
    assert bare.intercept_ == [0.0]
    again = Adaline(warm_start=True, tol=1e-9, max_iter=5000).fit(X, y).fit(X, y)
    assert again.n_iter_ == 1
    assert Adaline().fit(X.astype(np.float32), y).coef_.dtype == np.float32
    with pytest.warns(ConvergenceWarning):
        Adaline(eta0=2 * a.largest_step_, max_iter=50).fit(X, y)


def test_a_step_above_the_limit_is_called_divergence():
    X, y = np.array([[0.0], [1.0], [2.0]]), [0, 1, 1]
    limit = 2 / 14.32455532
    for eta0, max_iter in ((0.1397, 1000), (1.0001 * limit, 20), (10.0, 1000)):
        model = Adaline("batch", eta0=eta0, max_iter=max_iter)
        with pytest.warns(ConvergenceWarning, match=r"diverged.*limit 0\.13962"):
            model.fit(X, y)
        assert model.largest_step_ == pytest.approx(limit) and not model.converged_
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        Adaline("batch", eta0=0.139, max_iter=10).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="diverged.*steps up to 0.1 are safe"):
        Adaline("sequential", eta0=1e3, random_state=0).fit(X, y)
