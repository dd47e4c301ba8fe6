"""One way to say what is believed and what is to come, whatever the model."""

import itertools
import pickle

import numpy as np
import pytest

from pansophy.state_space import (
    AutoRegressive,
    AutoregressiveHMM,
    KalmanFilter,
    ParticleFilter,
    StructuralTimeSeries,
    SwitchingKalmanFilter,
)
from pansophy.state_space.forecast import Beliefs, Forecast

X = np.random.default_rng(0).normal(size=(40, 2)).cumsum(axis=0)


def models():
    chain = AutoregressiveHMM(2, random_state=0, n_iter=2, tol=1e9)
    switching = SwitchingKalmanFilter(2, n_iter=1, tol=1e9)
    noise = KalmanFilter(transition_covariance=0.1, observation_covariance=0.5)
    noise.method = None
    return [chain, switching, noise, AutoRegressive(), StructuralTimeSeries(n_iter=50)]


@pytest.mark.parametrize("model", models(), ids=lambda m: type(m).__name__)
def test_every_forecast_is_one_thing(model):
    """After the training data as after X; intervals; nonsense is refused."""
    model.fit(X)
    start = {"start": X} if isinstance(model, AutoRegressive) else {"X": X}
    ahead, again = model.forecast(3), model.forecast(3, **start, level=0.5)
    assert type(ahead) is Forecast and ahead.mean.shape == ahead.sd.shape == (3, 2)
    np.testing.assert_allclose(ahead.mean, again.mean)
    np.testing.assert_allclose(ahead.cov, again.cov)
    np.testing.assert_allclose(again.high - again.mean, 0.6744897501960817 * again.sd)
    np.testing.assert_allclose(ahead.interval(0.5), (again.low, again.high))
    assert (np.diff(ahead.sd, axis=0) > 0).all()
    for n in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
            model.forecast(n)
    with pytest.raises(ValueError, match="level must lie"):
        model.forecast(2, level=95)


def test_regressions_over_all_paths():
    """Moments of a chain of regressions are those of the mixture over its paths."""
    model = AutoregressiveHMM(2, 2, "full", init_params="", params="")
    model.startprob_, model.transmat_ = np.array([0.5, 0.5]), [[0.7, 0.3], [0.4, 0.6]]
    model.intercept_ = np.array([[1.0], [-2.0]])
    model.coef_ = np.array([[0.5, 0.2], [-0.8, 0.1]]).reshape(2, 2, 1, 1)
    model.covars_ = np.array([0.3, 2.0]).reshape(2, 1, 1)
    x = np.array([0.3, -1.0, 0.5, 1.0, 4.0])
    ahead, now = model.fit(x).forecast(3), model.filter(x)[-1]
    np.testing.assert_allclose(ahead.mean, model.forecast(3, x).mean)
    total, mean, square = np.zeros(3), np.zeros(3), np.zeros(3)
    for path in itertools.product((0, 1), repeat=4):
        weight, y, V = now[path[0]], np.array([4.0, 1.0]), np.zeros((2, 2))
        for h, (i, j) in enumerate(itertools.pairwise(path)):
            weight *= model.transmat_[i][j]
            F = np.array([model.coef_[j].ravel(), [1.0, 0.0]])
            y = F @ y + [model.intercept_[j, 0], 0.0]
            V = F @ V @ F.T + np.diag([model.covars_[j].item(), 0.0])
            share = weight * (not any(path[h + 2 :]))  # each beginning once
            total[h] += share
            mean[h] += share * y[0]
            square[h] += share * (V[0, 0] + y[0] ** 2)
    np.testing.assert_allclose(total, 1.0)
    np.testing.assert_allclose(ahead.mean[:, 0], mean)
    np.testing.assert_allclose(ahead.cov[:, 0, 0], square - mean**2)
    np.testing.assert_allclose(ahead.regimes.sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="2 rows without missing"):
        model.forecast(1, [1.0, np.nan])


def test_one_regime_is_the_plain_model():
    noise = {"transition_covariance": [[0.2]], "observation_covariance": [[0.5]]}
    start = {"initial_state_mean": [0.0], "initial_state_covariance": [[1.0]]}
    one = SwitchingKalmanFilter(1, **noise, **start).forecast(4, X[:, 0])
    want = KalmanFilter(**noise, **start).forecast(4, X[:, :1])
    for a, b in zip(one[:5], want[:5], strict=True):
        np.testing.assert_allclose(a, b)
    chain = AutoregressiveHMM(1, 2, covars_prior=0.0, covars_weight=0.0).fit(X)
    plain = AutoRegressive(2).fit(X).forecast(4)
    np.testing.assert_allclose(chain.forecast(4).mean, plain.mean)
    same = np.diagonal(plain.cov[0]), np.diagonal(chain.forecast(1).cov[0])
    np.testing.assert_allclose(*same)


def test_beliefs_are_a_pair_with_more():
    cloud = ParticleFilter(
        lambda rng, z, t: z + rng.normal(size=z.shape),
        lambda x, z, t: -0.5 * (x - z[:, 0]) ** 2,
        lambda rng, m: rng.normal(size=(m, 1)), n_particles=50, random_state=0,
    ).filter(X[:5, 0])  # fmt: skip
    for found in (cloud, KalmanFilter().filter(X)):
        means, covs = found
        assert isinstance(found, Beliefs) and means.shape == covs.shape[:2]
        again = pickle.loads(pickle.dumps(found))
        assert again.loglik == found.loglik
        np.testing.assert_array_equal(again.covs, covs)
        low, high = found.interval(0.9)
        assert (low < means).all() and (means < high).all()
    model = KalmanFilter()
    assert model.smooth(X).loglik == pytest.approx(model.score(X))
