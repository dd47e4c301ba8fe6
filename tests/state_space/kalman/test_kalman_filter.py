"""Kalman filter: against dense Gaussian algebra, the driver, pykalman, statsmodels."""

import numpy as np
import pytest

from pansophy.linear_model import RecursiveLeastSquares
from pansophy.linear_model.least_squares.recursive_least_squares import RLSState
from pansophy.linear_model.least_squares.recursive_least_squares import (
    rls_update as rls,
)
from pansophy.params import ParameterError
from pansophy.state_space import KalmanFilter
from pansophy.state_space.kalman.kalman_recursions import run_filter, run_smoother
from pansophy.state_space.kalman.linear_gaussian import (
    simulate_linear_gaussian,
)
from tests.state_space.random_systems import random_parameters


def test_worked_numbers():
    """Worked numbers for F=1, Q=.1, R=.5, from (0, 1); K is P of the filter over R."""
    model = KalmanFilter(transition_covariance=0.1, observation_covariance=0.5)
    belief, found = (np.zeros(1), np.eye(1)), []
    for y in (1.0, 0.5, 0.8):
        belief = model.filter_update(*belief, y)
        found.append((belief.covs[0, 0] / 0.5, belief.means[0], belief.covs[0, 0]))
    wanted = [
        (0.6875, 0.6875, 0.34375),
        (0.470199, 0.599338, 0.235099),
        (0.401269, 0.679857, 0.200634),
    ]
    assert np.allclose(found, wanted, atol=1e-6)


def test_constant_state_is_recursive_least_squares(rng):
    n, d = 30, 3
    A, y = rng.normal(size=(n, d)), rng.normal(size=n)
    model = KalmanFilter(
        transition_covariance=np.zeros((d, d)),
        observation_matrices=A[:, None, :],
        observation_covariance=0.4,
        initial_state_covariance=5 * np.eye(d),
        n_dim_obs=1,
    )
    means, covs = model.filter(y[:, None])
    state = RLSState(np.zeros(d), 5 * np.eye(d))
    for t in range(n):
        state = rls(state, A[t : t + 1], y[t : t + 1], 0.4)
        assert np.allclose(means[t], state.theta)
        assert np.allclose(covs[t], state.P)
    fitted = RecursiveLeastSquares(
        prior_variance=5.0, noise_variance=0.4, fit_intercept=False
    ).fit(A, y)
    assert np.allclose(means[-1], fitted.coef_)
    open_ = model.set_params(start="diffuse")
    exact = RecursiveLeastSquares(fit_intercept=False).fit(A, y)
    assert np.allclose(open_.filter(y[:, None]).means[-1], exact.coef_)


MATRICES = {
    "transition_matrices": np.array([[1.0, 1.0], [0.0, 0.9]]),
    "observation_matrices": np.array([[1.0, 0.0], [0.3, 1.0]]),
    "transition_covariance": np.array([[0.3, 0.1], [0.1, 0.2]]),
    "observation_covariance": np.array([[1.0, 0.2], [0.2, 0.5]]),
    "initial_state_mean": np.zeros(2),
    "initial_state_covariance": np.eye(2),
}


def test_parity_with_pykalman():
    pykalman = pytest.importorskip("pykalman")
    ours, theirs = KalmanFilter(**MATRICES), pykalman.KalmanFilter(**MATRICES)
    X = ours.sample(60, random_state=0)[1]
    for name in ("filter", "smooth"):
        for a, b in zip(getattr(ours, name)(X), getattr(theirs, name)(X), strict=True):
            assert np.allclose(a, b)
    assert ours.loglikelihood(X) == pytest.approx(theirs.loglikelihood(X))
    for names in (None, list(MATRICES)):
        more = {} if names is None else {"em_vars": names}
        ours.em(X, n_iter=3, **more)
        theirs.em(X, n_iter=3, **more)
        for name in MATRICES:
            assert np.allclose(getattr(ours, f"{name}_"), getattr(theirs, name))


def test_parity_with_statsmodels(rng):
    module = pytest.importorskip("statsmodels.tsa.statespace.kalman_smoother")
    model = random_parameters(7, 3, 2).model(200)
    X = simulate_linear_gaussian(model, 200, rng)[1]
    X[50:60, 0], X[80] = np.nan, np.nan
    peer = module.KalmanSmoother(k_endog=2, k_states=3)
    peer.bind(X.copy())
    peer["design"], peer["transition"], peer["selection"] = model.H, model.F, np.eye(3)
    peer["state_cov"], peer["obs_cov"] = model.Q, model.R
    peer["obs_intercept"], peer["state_intercept"] = model.d[:, None], model.c[:, None]
    peer.initialize_known(model.m, model.P)
    want, run = peer.smooth(), run_filter(model, X, np.array([200]))
    back = run_smoother(run)
    assert np.allclose(run.mean.T, want.filtered_state)
    assert np.allclose(back.mean.T, want.smoothed_state)
    assert np.allclose(back.covs.transpose(1, 2, 0), want.smoothed_state_cov)
    assert np.allclose(run.logliks, want.llf_obs)
    whole = ~np.isnan(X).any(axis=1)
    mine, theirs = run.standardized, want.standardized_forecasts_error.T
    assert np.allclose(mine[whole], theirs[whole])


def test_forecasts_and_one_step_at_a_time(rng):
    B, D = np.array([[0.5], [0.0]]), np.array([[0.0], [1.0]])
    model = KalmanFilter(
        **MATRICES, control_matrices=B, observation_control_matrices=D, method=None
    )
    u = rng.normal(size=(44, 1))
    Z, X = model.sample(44, random_state=0, control=u)
    assert Z.shape == X.shape == (44, 2)
    model.fit(X[:40], control=u[:40])
    ahead = model.forecast(4, control=u[40:], level=0.9)
    again = model.forecast(4, X[:40], control=u, level=0.9)
    for a, b in zip(ahead[:5], again[:5], strict=True):
        assert np.allclose(a, b)
    assert np.all((ahead.low < ahead.mean) & (ahead.mean < ahead.high))
    assert np.allclose((ahead.high - ahead.mean) / ahead.sd, 1.6448536269514722)
    belief = None
    for x, v in zip(X[:40], u[:40], strict=True):
        belief = model.update(belief, x, control=v)
    assert np.allclose(belief.mean, model.last_state_mean_)
    assert np.allclose(belief.cov, model.last_state_covariance_)
    assert np.allclose(model.update(belief, control=u[40]).mean, ahead.state_mean[0])


def test_sequences_of_every_kind(rng):
    X = rng.normal(size=(30, 2))
    both = KalmanFilter().filter_smooth(X)
    assert np.array_equal(both[0].means, KalmanFilter().filter(X).means)
    assert np.array_equal(both[1].covs, KalmanFilter().smooth(X).covs)
    a = KalmanFilter().fit(X, lengths=[10, 20])
    b = KalmanFilter().fit([X[:10], X[10:]])
    assert a.log_likelihood_ == b.log_likelihood_
    assert a.score(X, [10, 20]) == pytest.approx(a.log_likelihood_)
    short = np.concatenate([MATRICES["transition_matrices"][None]] * 29)
    one = KalmanFilter(**MATRICES | {"transition_matrices": short}).filter(X)
    assert np.allclose(one.means, KalmanFilter(**MATRICES).filter(X).means)


BAD = {
    "is not positive semi-definite": {"observation_covariance": np.diag([1.0, -1.0])},
    "is not symmetric": {"transition_covariance": np.array([[1.0, 0.5], [0.0, 1.0]])},
    "transition_matrices has shape": {"transition_matrices": np.ones((2, 3))},
    "initial_state_mean has shape": {
        "transition_matrices": np.eye(2),
        "initial_state_mean": np.zeros(3),
    },
    "X has 2 columns, but n_dim_obs": {"n_dim_obs": 3},
    "entries in time": {"transition_matrices": np.ones((5, 2, 2))},
    "contains NaN": {"observation_matrices": np.full((2, 2), np.nan)},
    "dimensions": {"initial_state_covariance": np.ones((3, 2, 2))},
    "inside the unit circle": {"start": "stationary"},
    "cannot be learned": {"transition_covariance": np.ones((20, 2, 2))},
    "leaves no initial_state": {"start": "diffuse", "em_vars": ["initial_state_mean"]},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_parameters_are_named(message):
    X = np.arange(40.0).reshape(20, 2)
    with pytest.raises(ValueError, match=message):
        KalmanFilter(**{"method": "ml"} | BAD[message]).fit(X)


def test_defined_answers():
    with pytest.raises(ParameterError, match="em_vars"):
        KalmanFilter(em_vars=["everything"]).fit(np.zeros((3, 1)))
    with pytest.raises(ValueError, match='use method="ml"'):
        KalmanFilter(transition_matrices=0.5, start="stationary").fit(np.zeros((3, 1)))
    unseen = KalmanFilter(
        transition_matrices=1e60, observation_matrices=[[0.0]], n_dim_obs=1
    )
    with pytest.raises(ValueError, match="overflows at row"):
        unseen.filter(np.zeros((40, 1)))
    grown = KalmanFilter(transition_matrices=3.0).smooth(np.zeros((500, 1)))
    assert np.isfinite(grown.covs).all()
    nothing = KalmanFilter().fit(np.full((4, 1), np.nan))
    assert nothing.log_likelihood_ == 0.0
    with pytest.raises(ValueError, match="level"):
        KalmanFilter(method=None).fit(np.zeros((4, 1))).forecast(2, level=2)
    with pytest.raises(ValueError, match="control must"):
        KalmanFilter().fit(np.zeros((4, 1)), control=np.zeros((3, 1)))
    exact = KalmanFilter(transition_covariance=0.0, observation_covariance=0.0)
    assert exact.score([[1.0], [1.0]]) > -np.inf  # the state is seen exactly
    assert exact.score([[1.0], [2.0]]) == -np.inf  # and then cannot move
