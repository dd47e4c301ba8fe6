"""HMM with autoregressive states."""

import numpy as np
import pytest

from pansophy.state_space import (
    AutoregressiveHMM,
    GaussianHMM,
)
from tests.state_space.hmm_fits import (
    fit_quietly,
    largest_rise,
    put_parameters,
    two_place_rows,
)

SHAPES = ["spherical", "diag", "full", "tied"]


@pytest.mark.parametrize("shape", SHAPES)
def test_no_lags_is_gaussian(shape):
    X, _ = two_place_rows(np.random.default_rng(8))
    C = {"full": np.tile(np.eye(2), (2, 1, 1)), "diag": np.ones((2, 2))}
    C = (C | {"spherical": np.ones(2), "tied": np.eye(2)})[shape]
    how = {"init_params": "", "n_iter": 6, "covariance_type": shape}
    a = put_parameters(GaussianHMM(2, **how), 2, means_=X[[0, 30]], covars_=C)
    first = {"intercept_": X[[0, 30]], "covars_": C, "coef_": np.zeros((2, 0, 2, 2))}
    b = put_parameters(AutoregressiveHMM(2, 0, **how), 2, **first)
    fit_quietly(a, X, [100, 200]), fit_quietly(b, X, [100, 200])
    assert b.log_likelihood_ == pytest.approx(a.log_likelihood_, abs=1e-8)
    assert np.allclose(a.means_, b.intercept_)


def test_one_state_is_a_regression():
    rng = np.random.default_rng(9)
    X = np.cumsum(rng.normal(size=(200, 2)), axis=0)
    model = fit_quietly(AutoregressiveHMM(1, 2, "full", covars_prior=0.0), X, [80, 120])
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
    model = fit_quietly(AutoregressiveHMM(2, random_state=0, n_iter=100, tol=1e-8), x)
    assert largest_rise(model) < 1e-10
    found = model.predict(x)
    assert max(np.mean(found == z), np.mean(found != z)) > 0.95
    Y, s = model.sample(500, random_state=1)
    assert np.mean(model.predict(Y) == s) > 0.8
