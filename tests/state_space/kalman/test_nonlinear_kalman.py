"""Non-linear, particle and switching filters: Kalman's where both are right, grids and
enumeration where they are not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.core.chains.filtering import Filter
from pansophy.params import ParameterError
from pansophy.state_space import (
    ExtendedKalmanFilter,
    ParticleFilter,
    SwitchingKalmanFilter,
    UnscentedKalmanFilter,
)
from pansophy.state_space.kalman.linear_gaussian import (
    LinearGaussianFilter,
)
from pansophy.state_space.kalman.nonlinear_kalman import GaussianFilter
from pansophy.state_space.kalman.particle_filter import ImportanceSampler
from pansophy.state_space.kalman.switching_kalman_filter import SwitchingFilter
from tests.state_space.small_chains import (
    LINEAR,
    bent_chain,
    kalman_beliefs,
    linear_rows,
    particle_chain,
    random_linear_model,
)

WAYS = {
    "extended": (ExtendedKalmanFilter, {}),
    "iterated": (ExtendedKalmanFilter, {"n_updates": 3}),
    "unscented": (UnscentedKalmanFilter, {"alpha": 0.5, "beta": 2.0, "kappa": 1.0}),
    "cubature": (UnscentedKalmanFilter, {}),
}


@pytest.mark.parametrize("way", WAYS)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=10, deadline=None)
def test_linear_chains_are_kalman_filtered(way, seed, k, p):
    cls, how = WAYS[way]
    m = random_linear_model(seed, k, p)
    X = np.random.default_rng(seed).normal(size=(9, p))
    X[3], X[5, 0] = np.nan, np.nan
    model = cls(
        lambda z: m.F @ z + m.c,
        lambda z: m.H @ z,
        initial_state_mean=m.m,
        initial_state_covariance=m.P,
        transition_covariance=m.Q,
        observation_covariance=m.R,
        **how,
    )
    for smooth, run in ((False, model.filter), (True, model.smooth)):
        mean, cov, loglik = kalman_beliefs(m, X, smooth)
        found = run(X)
        np.testing.assert_allclose(found.means, mean, atol=1e-6)
        np.testing.assert_allclose(found.covs, cov, atol=1e-6)
        assert found.loglik == pytest.approx(loglik, abs=1e-6)


def test_all_are_members_of_the_driver():
    assert all(isinstance(m, type) for m in (GaussianFilter, ImportanceSampler))
    for member in (
        GaussianFilter,
        ImportanceSampler,
        SwitchingFilter,
        LinearGaussianFilter,
    ):
        assert issubclass(member, Filter)


def test_bent_chain_against_a_grid():
    f, h, x, (mean, loglik) = bent_chain()
    given = {"initial_state_mean": [1.0], "initial_state_covariance": 0.25}
    given |= {"transition_covariance": 0.09, "observation_covariance": 0.09}
    for cls in (ExtendedKalmanFilter, UnscentedKalmanFilter):
        found = cls(f, h, **given).filter(x)
        assert np.abs(found.means[:, 0] - mean).mean() < 0.03
        assert found.loglik == pytest.approx(loglik, abs=1.5)
        low, high = found.interval(0.95)
        assert (low < high).all()
    jacobian = {
        "transition_jacobian": lambda z: np.diag(0.9 + np.cos(z)),
        "observe_jacobian": lambda z: np.diag(1 + 0.2 * z),
    }
    a = ExtendedKalmanFilter(f, h, **given).filter(x)
    b = ExtendedKalmanFilter(f, h, **given, **jacobian).filter(x)
    np.testing.assert_allclose(a.means, b.means, atol=1e-7)


def test_bad_input():
    ok = {"initial_state_mean": [0.0]}
    with pytest.raises(ValueError, match="transition_covariance is not positive"):
        ExtendedKalmanFilter(
            np.sin, np.sin, transition_covariance=[[-1.0]], **ok
        ).filter([1.0])
    with pytest.raises(ValueError, match="observe must give 1 number"):
        UnscentedKalmanFilter(np.sin, lambda z: np.ones(2), **ok).filter([1.0])
    with pytest.raises(ValueError, match="not finite at step 1"):
        ExtendedKalmanFilter(lambda z: z * np.nan, np.sin, **ok).filter([1.0, 2.0])
    with pytest.raises(ParameterError, match="n_updates"):
        ExtendedKalmanFilter(np.sin, np.sin, n_updates=0, **ok).filter([1.0])
    model, x, _ = particle_chain(50)
    never = lambda x, z, t: np.full(len(z), -np.inf if t else 0.0)
    with pytest.raises(ValueError, match="no particle can have given row 1"):
        ParticleFilter(model.transition, never, model.initial).filter(x)
    none = lambda rng, m: np.zeros(m)
    with pytest.raises(ValueError, match="initial must give"):
        ParticleFilter(model.transition, model.log_likelihood, none).filter(x)
    with pytest.raises(ValueError, match="regime_matrix must sum"):
        SwitchingKalmanFilter(2, regime_matrix=[[1, 1], [0, 1]]).fit([1.0, 2.0])
    with pytest.raises(ValueError, match="transition_covariance is not"):
        SwitchingKalmanFilter(2, transition_covariance=[[-1.0]]).fit([1.0, 2.0])
    with pytest.raises(ValueError, match="has length 0"):
        SwitchingKalmanFilter(2).fit([1.0, 2.0, 4.0], [3, 0])


@pytest.mark.parametrize("kind", [ExtendedKalmanFilter, UnscentedKalmanFilter])
def test_forecasts_of_linear_functions_are_those_of_kalman(kind):
    F, H, exact, X = linear_rows()
    model = kind(lambda z: F @ z, lambda z: H @ z, **LINEAR)
    found, want = model.forecast(5, X, level=0.8), exact.forecast(5, X, level=0.8)
    for name in ("mean", "cov", "state_mean", "state_cov", "low", "high"):
        np.testing.assert_allclose(getattr(found, name), getattr(want, name), atol=1e-8)
    assert model.forecast(2).mean.shape == (2, 1)  # from the start
    with pytest.raises(ValueError, match="level"):
        model.forecast(2, X, level=2)
    pushed = kind(lambda z, u: F @ z + u, lambda z, u: H @ z, **LINEAR)
    u = np.zeros((55, 2))
    u[-1] = 1.0
    ahead = pushed.forecast(5, X, inputs=u)
    np.testing.assert_allclose(ahead.state_mean[-1] - want.state_mean[-1], 1.0)
