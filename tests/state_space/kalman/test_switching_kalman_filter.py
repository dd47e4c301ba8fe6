"""Switching Kalman filters against enumeration of the regimes."""

import itertools

import numpy as np
import pytest

import pansophy
from pansophy.state_space import (
    SwitchingKalmanFilter,
)
from pansophy.state_space.kalman.linear_gaussian import (
    LinearGaussianModel,
)
from tests.state_space.small_chains import kalman_beliefs, random_linear_model


def switching_example(**more):
    model = SwitchingKalmanFilter(
        2,
        transition_matrices=[[[0.9]], [[-0.5]]],
        transition_covariance=[[[0.1]], [[1.0]]],
        observation_covariance=[[[0.2]], [[0.5]]],
        observation_matrices=[[1.0]],
        initial_state_mean=[0.3],
        initial_state_covariance=[[1.0]],
        regime_matrix=[[0.8, 0.2], [0.3, 0.7]],
        **more,
    )
    return model


def enumerated(X):
    """Exact regimes given all rows, and the log-likelihood, by all K^n paths."""
    A, F, Q, R = [[0.8, 0.2], [0.3, 0.7]], [0.9, -0.5], [0.1, 1.0], [0.2, 0.5]
    n, total, at = len(X), 0.0, np.zeros((len(X), 2))
    for path in itertools.product((0, 1), repeat=n):
        weight = 0.5 * np.prod([A[i][j] for i, j in itertools.pairwise(path)])
        step = lambda values, path=path: np.take(values, path)[:, None, None]
        zero = np.zeros(1)
        m = LinearGaussianModel(
            step(F), step(Q), np.ones((1, 1)), step(R), zero, zero,
            np.array([0.3]), np.ones((1, 1)),
        )  # fmt: skip
        weight *= np.exp(kalman_beliefs(m, X, False)[2])
        total += weight
        at[np.arange(n), path] += weight
    return at / total, np.log(total)


def test_two_rows_are_exact_and_more_are_near():
    X = np.array([[0.4], [-0.3], [0.9], [1.1], [-0.2], [0.1]])
    model = switching_example()
    regimes, loglik = enumerated(X[:2])
    assert model.score(X[:2]) == pytest.approx(loglik, abs=1e-12)
    np.testing.assert_allclose(model.filter(X[:2]).regimes[-1], regimes[-1])
    regimes, loglik = enumerated(X)
    assert model.score(X) == pytest.approx(loglik, abs=0.02)
    np.testing.assert_allclose(model.predict_proba(X), regimes, atol=0.05)


def test_one_regime_is_kalman():
    m = random_linear_model(5)
    X = np.random.default_rng(1).normal(size=(15, 2))
    X[4], X[7, 1] = np.nan, np.nan
    model = SwitchingKalmanFilter(
        1,
        transition_matrices=m.F,
        transition_offsets=m.c,
        transition_covariance=m.Q,
        observation_matrices=m.H,
        observation_covariance=m.R,
        initial_state_mean=m.m,
        initial_state_covariance=m.P,
    )
    for smooth, run in ((False, model.filter), (True, model.smooth)):
        mean, cov, loglik = kalman_beliefs(m, X, smooth)
        found = run(X)
        np.testing.assert_allclose(found.means, mean, atol=1e-9)
        np.testing.assert_allclose(found.covs, cov, atol=1e-9)
        assert found.loglik == pytest.approx(loglik)


def test_switching_is_learned(tmp_path):
    truth = SwitchingKalmanFilter(
        2,
        transition_covariance=[[[0.01]], [[4.0]]],
        observation_covariance=[[0.05]],
        initial_state_mean=[0.0],
        initial_state_covariance=[[1.0]],
        regime_matrix=[[0.97, 0.03], [0.03, 0.97]],
    )
    X, _, s = truth.sample(300, random_state=2)
    model = SwitchingKalmanFilter(2, n_iter=20, tol=3e-3).fit(X)
    share = (model.predict(X) == s).mean()
    assert max(share, 1 - share) > 0.85
    assert model.log_likelihood_ > truth.score(X) - 12
    assert np.linalg.eigvalsh(model.transition_covariance_).min() > 0
    np.testing.assert_allclose(model.regime_matrix_.sum(axis=1), 1)
    pansophy.save(model, tmp_path / "switching.pansophy")
    again = pansophy.load(tmp_path / "switching.pansophy")
    assert again.score(X) == model.score(X)
    both = SwitchingKalmanFilter(2, n_iter=2, tol=1e9).fit([X[:200], X[200:]])
    assert np.isfinite(both.log_likelihood_)
