"""Regression by a joint mixture: linear regression, densities, missing inputs."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from pansophy.mixture import (
    BayesianGaussianMixture,
    GaussianMixture,
    MixtureRegressor,
)


def fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


def test_one_joint_gaussian_is_linear_regression(rng):
    """One joint Gaussian gives the coefficients of least squares."""
    X = rng.normal(size=(100, 3))
    Y = X @ rng.normal(size=(3, 2)) + rng.normal(size=(100, 2)) + 1
    model = MixtureRegressor(GaussianMixture(reg_covar=0.0))
    line = LinearRegression().fit(X, Y)
    assert np.allclose(model.fit(X, Y).predict(X), line.predict(X))
    residual = (Y - line.predict(X)).T @ (Y - line.predict(X)) / 100
    assert np.allclose(model.predict_variance(X[:1])[0], residual)
    one = model.fit(X, Y[:, 0])
    assert np.allclose(one.predict(X), line.predict(X)[:, 0])
    std = one.predict(X, return_std=True)[1]
    assert np.allclose(std, residual[0, 0] ** 0.5)


@pytest.mark.parametrize("shape", ["full", "tied", "diag", "spherical", "low_rank"])
def test_a_slice_of_a_mixture_is_a_density(shape, rng):
    """The conditional density integrates to 1 and has the moments of eq. (3)."""
    x = rng.uniform(-3, 3, 400)
    y = np.where(rng.random(400) < 0.5, x**2, -(x**2)) + 0.3 * rng.normal(size=400)
    joint = GaussianMixture(6, covariance_type=shape, random_state=0)
    model = fit(MixtureRegressor(joint), x[:, None], y)
    at = np.array([[1.7]])
    v = np.linspace(-40, 40, 16_001)
    p = np.exp(model.log_density(np.repeat(at, len(v), axis=0), v))
    value = lambda power: np.trapezoid(v**power * p, v)
    assert value(0) == pytest.approx(1, abs=1e-5)
    mean, std = model.predict(at, return_std=True)
    assert value(1) == pytest.approx(mean[0], abs=1e-3)
    assert value(2) - value(1) ** 2 == pytest.approx(std[0] ** 2, abs=1e-3)
    s = model.conditional(at)
    assert s.gates.sum() == pytest.approx(1)
    draws = model.set_params(random_state=0).sample(np.repeat(at, 20_000, axis=0))
    assert draws.mean() == pytest.approx(mean[0], abs=0.1)
    assert draws.std() == pytest.approx(std[0], abs=0.1)


def test_a_missing_input_is_left_out(rng):
    X = rng.normal(size=(300, 2))
    X[:, 1] += X[:, 0]
    y = X @ [1.0, 2.0] + 0.1 * rng.normal(size=300)
    model = MixtureRegressor().fit(X, y)
    gap = np.array([[0.5, np.nan]])
    line = LinearRegression().fit(X[:, :1], y)
    assert model.predict(gap)[0] == pytest.approx(line.predict([[0.5]])[0], abs=1e-3)
    assert model.predict_variance(gap)[0] > model.predict_variance(X[:1])[0]
    nothing = model.predict([[np.nan, np.nan]])[0]
    assert nothing == pytest.approx(y.mean())
    gaps = X.copy()
    gaps[rng.random(X.shape) < 0.1] = np.nan
    assert MixtureRegressor().fit(gaps, y).score(X, y) > 0.98
    bayes = MixtureRegressor(BayesianGaussianMixture(n_components=2, random_state=0))
    assert fit(bayes, X, y).score(X, y) > 0.98
