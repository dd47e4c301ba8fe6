"""Linear Gaussian models: covariances, stationary and steady states, simulation."""

import numpy as np
import pytest
from scipy import stats

from pansophy.state_space.kalman import linear_gaussian as lg


def constant(F, Q, H, R, c=0.0):
    F, Q, H, R = (np.atleast_2d(np.asarray(a, float)) for a in (F, Q, H, R))
    k, p = len(F), len(H)
    zero = np.zeros(k)
    return lg.LinearGaussianModel(
        F, Q, H, R, zero + c, np.zeros(p), zero, np.eye(k), None
    )


def test_steady_state_of_a_random_walk():
    """Q = R = 1: P = P - P^2 / (P + 1) + 1 has the golden ratio as its root."""
    found = lg.steady_state(constant(1, 1, 1, 1))
    golden = (1 + 5**0.5) / 2
    assert found.predicted.item() == pytest.approx(golden)
    assert found.gain.item() == pytest.approx(golden / (golden + 1))
    assert found.filtered.item() == pytest.approx(golden - 1)


def test_stationary_moments_stay_as_they_are():
    F, Q, c = np.array([[0.5, 0.2], [0.0, 0.3]]), np.eye(2), np.array([1.0, 2.0])
    m, P = lg.stationary_moments(F, Q, c)
    np.testing.assert_allclose(F @ m + c, m)
    np.testing.assert_allclose(F @ P @ F.T + Q, P)
    with pytest.raises(ValueError, match="the largest is 1"):
        lg.stationary_moments(np.eye(2), Q, c)


def test_covariances_are_checked_by_name():
    with pytest.raises(ValueError, match="Q is not a covariance: it is not symmetric"):
        lg.check_covariance(np.array([[1.0, 0.5], [0.0, 1.0]]), "Q")
    with pytest.raises(ValueError, match=r"R is not positive .* eigenvalue of -1"):
        lg.check_covariance(np.diag([1.0, -1.0]), "R")
    lg.check_covariance(np.zeros((2, 2)), "Q")
    near = lg.nearest_semidefinite(np.diag([1.0, -1e-9]))
    np.testing.assert_array_equal(near, np.diag([1.0, 0.0]))
    S = np.array([[4.0, 2.0], [2.0, 1.0]])  # singular
    L = lg.matrix_square_root(S)
    np.testing.assert_allclose(L @ L.T, S, atol=1e-12)


def test_one_update_with_a_missing_number():
    model = constant(np.eye(2), np.eye(2), np.eye(2), np.eye(2))
    belief = lg.GaussianBelief(np.zeros(2), 3 * np.eye(2), 0)
    new, log_p = lg.LinearGaussianFilter(model).update(belief, np.array([4.0, np.nan]))
    np.testing.assert_allclose(new.mean, [3, 0])
    np.testing.assert_allclose(new.cov, np.diag([0.75, 3]))
    assert log_p == pytest.approx(stats.norm(0, 2).logpdf(4))
    assert lg.log_residual_density(np.empty(0), np.empty((0, 0))) == 0


def test_simulated_rows_have_the_moments_of_the_model(rng):
    z, x = lg.simulate_linear_gaussian(constant(0.8, 1, 2, 0.25, c=1.0), 20_000, rng)
    assert z.mean() == pytest.approx(5, abs=0.2)
    assert z.var() == pytest.approx(1 / 0.36, rel=0.1)
    assert (x - 2 * z).var() == pytest.approx(0.25, rel=0.05)
    fixed, _ = lg.simulate_linear_gaussian(constant(0.8, 1, 2, 1), 3, rng, first=[9.0])
    assert fixed[0, 0] == 9
