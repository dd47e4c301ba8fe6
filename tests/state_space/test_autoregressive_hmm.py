"""HMM with autoregressive states."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.state_space import (
    AutoregressiveHMM,
    GaussianHMM,
)

SHAPES = ["spherical", "diag", "full", "tied"]


def quiet(model, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args)


def falls(model):
    path = model.history_["objective"]
    return np.diff(path).max(initial=0.0) / (np.abs(path).max() + 1)


def put(model, k, **found):
    model.startprob_ = np.full(k, 1 / k)
    model.transmat_ = np.full((k, k), 0.3 / k) + 0.7 * np.eye(k)
    for name, value in found.items():
        setattr(model, name, value.copy())
    return model


def places(rng, n=300):
    """Two states, one of them in two places."""
    z = np.repeat(rng.integers(0, 2, n // 10), 10)
    where = np.where(z == 0, rng.choice([-3.0, 3.0], n), 9.0)
    return where[:, None] + rng.normal(size=(n, 2)), z


@pytest.mark.parametrize("shape", SHAPES)
def test_no_lags_is_gaussian(shape):
    X, _ = places(np.random.default_rng(8))
    C = {"full": np.tile(np.eye(2), (2, 1, 1)), "diag": np.ones((2, 2))}
    C = (C | {"spherical": np.ones(2), "tied": np.eye(2)})[shape]
    how = {"init_params": "", "n_iter": 6, "covariance_type": shape}
    a = put(GaussianHMM(2, **how), 2, means_=X[[0, 30]], covars_=C)
    b = put(AutoregressiveHMM(2, 0, **how), 2, intercept_=X[[0, 30]], covars_=C,
            coef_=np.zeros((2, 0, 2, 2)))  # fmt: skip
    quiet(a, X, [100, 200]), quiet(b, X, [100, 200])
    assert b.log_likelihood_ == pytest.approx(a.log_likelihood_, abs=1e-8)
    assert np.allclose(a.means_, b.intercept_)


def test_one_state_is_a_regression():
    rng = np.random.default_rng(9)
    X = np.cumsum(rng.normal(size=(200, 2)), axis=0)
    model = quiet(AutoregressiveHMM(1, 2, "full", covars_prior=0.0), X, [80, 120])
    rows = np.r_[2:80, 82:200]
    Z = np.column_stack([np.ones(len(rows)), X[rows - 1], X[rows - 2]])
    B, *_ = np.linalg.lstsq(Z, X[rows])
    assert np.allclose(model.intercept_[0], B[0])
    assert np.allclose(model.coef_[0, 0], B[1:3].T)
    assert np.allclose(model.coef_[0, 1], B[3:].T)
    E = X[rows] - Z @ B
    assert np.allclose(model.covars_[0], E.T @ E / len(rows))


def test_dynamics_are_told_apart():
    rng, x = np.random.default_rng(10), np.zeros(800)
    z = np.repeat([0, 1, 0, 1], 200)
    for t in range(1, 800):
        x[t] = [-0.8, 0.8][z[t]] * x[t - 1] + rng.normal()
    x[300] = np.nan
    model = quiet(AutoregressiveHMM(2, random_state=0, n_iter=100, tol=1e-8), x)
    assert falls(model) < 1e-10
    found = model.predict(x)
    assert max(np.mean(found == z), np.mean(found != z)) > 0.95
    Y, s = model.sample(500, random_state=1)
    assert np.mean(model.predict(Y) == s) > 0.8
