"""EM and maximum likelihood of linear Gaussian models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.state_space import KalmanFilter
from pansophy.state_space.kalman.kalman_learning import (
    kalman_e_step,
    kalman_m_step,
    likelihood_gradient,
)
from tests.state_space.random_systems import random_parameters


def with_gaps(rng, n, p, gaps):
    X = rng.normal(size=(n, p))
    X[rng.random((n, p)) < gaps] = np.nan
    return X


@given(
    seed=st.integers(0, 10_000),
    start=st.sampled_from(["known", "diffuse"]),
    gaps=st.sampled_from([0.0, 0.3]),
    inputs=st.integers(0, 2),
)
def test_gradient_and_em(seed, start, gaps, inputs):
    """The exact score against differences; a turn of EM never lowers log p."""
    rng = np.random.default_rng(seed)
    p = random_parameters(seed, 2, 2, start=start, inputs=inputs)
    n, ends = 24, np.array([10, 24])
    X = with_gaps(rng, n, 2, gaps)
    u = rng.normal(size=(n, inputs)) if inputs else None
    loglik = lambda q: kalman_e_step(q, X, ends, u)[1]
    stats, first = kalman_e_step(p, X, ends, u)
    g = likelihood_gradient(stats.back, X, u)
    for x in "FQHRcd" + ("mP" if start == "known" else "") + "BD" * (inputs > 0):
        a = getattr(p, x)
        step = rng.normal(size=a.shape)
        step = step + step.T if x in "QRP" else step
        h = 1e-5
        up, down = (loglik(p._replace(**{x: a + s * step})) for s in (h, -h))
        assert (getattr(g, x) * step).sum() == pytest.approx(
            (up - down) / (2 * h), rel=1e-5, abs=1e-6
        )
    for letters in ("QRmP" if start == "known" else "QR", "FQHRcd", "HR", "Fc"):
        letters += "BD" * (inputs > 0 and len(letters) == 6)
        q, before = p, first
        for _ in range(4):
            q = kalman_m_step(kalman_e_step(q, X, ends, u)[0], letters)
            after = loglik(q)
            assert after >= before - 1e-8 * abs(before)
            before = after
        assert all(np.isfinite(a).all() for a in q[:-1])


MATRICES = {
    "transition_matrices": np.array([[1.0, 1.0], [0.0, 0.9]]),
    "observation_matrices": np.array([[1.0, 0.0], [0.3, 1.0]]),
    "transition_covariance": np.array([[0.3, 0.1], [0.1, 0.2]]),
    "observation_covariance": np.array([[1.0, 0.2], [0.2, 0.5]]),
    "initial_state_mean": np.zeros(2),
    "initial_state_covariance": np.eye(2),
}


def test_learning_recovers_the_noise():
    """EM and maximum likelihood reach the same top; the truth is not above it."""
    truth = KalmanFilter(**MATRICES)
    X = truth.sample(400, random_state=1)[1]
    given = {k: v for k, v in MATRICES.items() if "covariance" not in k or "ini" in k}
    names = ["transition_covariance", "observation_covariance"]
    ml = KalmanFilter(**given, em_vars=names, method="ml", tol=1e-6).fit(X)
    em = KalmanFilter(**given, em_vars=names, tol=1e-7, n_iter=3000).fit(X)
    assert np.all(np.diff(em.history_["objective"]) <= 1e-12)
    assert ml.log_likelihood_ >= truth.score(X)
    assert ml.log_likelihood_ == pytest.approx(em.log_likelihood_, abs=0.02)
    assert np.allclose(ml.observation_covariance_, MATRICES[names[1]], atol=0.25)
    z = ml.standardized_residuals(X)
    assert np.allclose(z.std(axis=0), 1, atol=0.1)
    free = KalmanFilter(
        transition_matrices=0.5, em_vars=["transition_matrices", *names],
        method="ml", start="stationary", n_dim_obs=2, n_iter=200,
    ).fit(X)  # fmt: skip
    assert free.log_likelihood_ > truth.score(X) - 10
    assert np.abs(np.linalg.eigvals(free.transition_matrices_)).max() < 1
