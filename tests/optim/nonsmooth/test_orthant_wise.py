"""OWL-QN: lasso and L1 logistic regression by other means, L-BFGS without a penalty."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso, LogisticRegression

from pansophy import optim
from pansophy.optim.nonsmooth.orthant_wise import pseudo_gradient


@given(st.integers(0, 10**6), st.sampled_from([0.01, 0.1, 0.5]))
@settings(max_examples=15, deadline=None)
def test_lasso(seed, alpha):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 8)), rng.normal(size=30)
    f = lambda w: (((X @ w - y) ** 2).sum() / 60, X.T @ (X @ w - y) / 30)
    run = optim.orthant_lbfgs(f, np.zeros(8), alpha, tol=1e-9)
    peer = Lasso(alpha, fit_intercept=False, tol=1e-12, max_iter=10**5).fit(X, y)
    np.testing.assert_allclose(run.state.position, peer.coef_, atol=1e-6)
    assert ((run.state.position == 0) == (peer.coef_ == 0)).all()
    trace = run.history["objective"]
    assert (np.diff(trace) <= 1e-12).all()
    p = pseudo_gradient(run.state.position, f(run.state.position)[1], alpha)
    assert np.abs(p).max() < 1e-8


def test_logistic_with_a_free_intercept():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(200, 12)), np.ones(200)])
    y = np.where(X[:, 0] - X[:, 1] + 0.5 + rng.logistic(size=200) > 0, 1, -1)

    def f(w):
        m = y * (X @ w)
        return np.logaddexp(0, -m).sum(), -X.T @ (y / (1 + np.exp(m)))

    c = np.r_[np.full(12, 2.0), 0.0]
    run = optim.orthant_lbfgs(f, np.zeros(13), c, tol=1e-8)
    peer = LogisticRegression(
        l1_ratio=1, C=0.5, solver="saga", tol=1e-10, max_iter=10**5
    )
    peer.fit(X[:, :12], y)
    np.testing.assert_allclose(run.state.position[:12], peer.coef_[0], atol=1e-5)
    assert run.converged


def test_without_a_penalty_it_is_lbfgs():
    from scipy.optimize import rosen, rosen_der

    f = lambda x: (rosen(x), rosen_der(x))
    run = optim.orthant_lbfgs(f, np.zeros(6), max_iter=500, tol=1e-8)
    np.testing.assert_allclose(run.state.position, 1, atol=1e-6)
    at_rest = optim.orthant_lbfgs(f, np.ones(6))
    assert (at_rest.n_iter, at_rest.reason) == (0, "tolerance")
    with pytest.raises(ValueError, match="l1"):
        optim.orthant_lbfgs(f, np.zeros(6), -1.0)
