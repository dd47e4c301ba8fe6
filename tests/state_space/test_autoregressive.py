"""Autoregression against least squares and statsmodels."""

import numpy as np
import pytest

import pansophy
from pansophy.state_space import (
    AutoRegressive,
)


def test_autoregression_is_least_squares_on_lags():
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.normal(size=300)) * 0.1
    model = AutoRegressive(3).fit(x)
    lags = np.column_stack([np.ones(297), x[2:-1], x[1:-2], x[:-3]])
    b = np.linalg.lstsq(lags, x[3:])[0]
    np.testing.assert_allclose(model.intercept_, b[:1])
    np.testing.assert_allclose(model.coef_[:, 0, 0], b[1:])
    np.testing.assert_allclose(model.predict(x)[3:, 0], lags @ b)
    past, mean = list(x), []
    for _ in range(5):
        mean.append(b[0] + b[1:] @ past[-1:-4:-1])
        past.append(mean[-1])
    np.testing.assert_allclose(model.forecast(5).mean[:, 0], mean)


def test_vector_autoregression_as_statsmodels():
    var = pytest.importorskip("statsmodels.tsa.api").VAR
    rng = np.random.default_rng(1)
    X = np.zeros((400, 2))
    A = np.array([[0.5, 0.2], [-0.3, 0.4]])
    for t in range(1, 400):
        X[t] = A @ X[t - 1] + rng.normal(size=2)
    peer = var(X).fit(2, trend="c")
    model = AutoRegressive(2).fit(X)
    np.testing.assert_allclose(model.coef_, peer.coefs)
    np.testing.assert_allclose(model.covariance_, peer.sigma_u_mle)
    ahead = model.forecast(4)
    np.testing.assert_allclose(ahead.mean, peer.forecast(X[-2:], 4))
    scale = peer.sigma_u_mle[0, 0] / peer.sigma_u[0, 0]
    np.testing.assert_allclose(ahead.cov, peer.mse(4) * scale)
    low, high = ahead.interval(0.9)
    assert (low < ahead.mean).all() and (high > ahead.mean).all() and model.is_stable


def test_several_series_and_gaps(tmp_path):
    rng = np.random.default_rng(2)
    parts = [rng.normal(size=(n, 2)) for n in (30, 4, 50)]
    parts[2][10, 1] = np.nan
    model = AutoRegressive(2).fit(parts)
    assert model.n_rows_ == 28 + 2 + 48 - 3
    pansophy.save(model, tmp_path / "ar.pansophy")
    again = pansophy.load(tmp_path / "ar.pansophy")
    np.testing.assert_array_equal(again.forecast(3).mean, model.forecast(3).mean)
    np.testing.assert_array_equal(
        model.sample(4, random_state=0), again.sample(4, random_state=0)
    )
    with pytest.raises(ValueError, match="order is too high"):
        AutoRegressive(5).fit([1.0, 2.0, 3.0])
