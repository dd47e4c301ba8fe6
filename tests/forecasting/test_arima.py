"""ARIMA: closed forms, one large Normal, statsmodels at the same parameters."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from pansophy.forecasting import ARIMA, Frequency, Panel
from pansophy.forecasting.arima import (
    Orders,
    arima_model,
    choose_differences,
    choose_harmonics,
    difference_series,
    difference_weights,
    fourier_terms,
    full_polynomials,
    kpss_statistic,
    psi_weights,
    seasonal_strength,
    whiten_series,
)


def arma_covariance(ar, ma, n):
    """Autocovariances from a long moving average."""
    psi = np.zeros(4000)
    for h in range(len(psi)):
        psi[h] = 1.0 if h == 0 else (ma[h - 1] if h <= len(ma) else 0.0)
        for i in range(1, min(h, len(ar)) + 1):
            psi[h] += ar[i - 1] * psi[h - i]
    gamma = [psi[: len(psi) - k] @ psi[k:] for k in range(n)]
    return np.array([[gamma[abs(i - j)] for j in range(n)] for i in range(n)])


def test_likelihood_is_that_of_one_normal(rng):
    ar, ma = np.array([0.6, -0.2]), np.array([0.4])
    y = rng.normal(0, 1, 12)
    C = arma_covariance(ar, ma, 12)
    found = whiten_series(arima_model(ar, ma, np.zeros(0)), y, np.zeros((12, 0)))
    s2 = y @ np.linalg.solve(C, y) / 12
    np.testing.assert_allclose(found.variance, s2)
    np.testing.assert_allclose(
        found.loglik, multivariate_normal(np.zeros(12), s2 * C).logpdf(y)
    )
    y[4] = np.nan
    keep = np.arange(12) != 4
    part = C[np.ix_(keep, keep)]
    found = whiten_series(arima_model(ar, ma, np.zeros(0)), y, np.zeros((12, 0)))
    np.testing.assert_allclose(
        found.variance, y[keep] @ np.linalg.solve(part, y[keep]) / 11
    )
    X = rng.normal(0, 1, (12, 2))
    found = whiten_series(arima_model(ar, ma, np.zeros(0)), y, X)
    inverse = np.linalg.inv(part)
    b = np.linalg.solve(X[keep].T @ inverse @ X[keep], X[keep].T @ inverse @ y[keep])
    np.testing.assert_allclose(found.coef, b)


def test_diffuse_values_equal_differences(rng):
    """Without gaps the diffuse filter of y is the filter of its differences."""
    o = Orders(1, 1, 1, 0, 1, 1, 4)
    ar, ma = full_polynomials(np.array([0.5, -0.3, 0.6]), o)
    y = np.cumsum(rng.normal(0, 1, 40))
    X = rng.normal(0, 1, (40, 1))
    whole = whiten_series(arima_model(ar, ma, difference_weights(o)), y, X)
    short = whiten_series(
        arima_model(ar, ma, np.zeros(0)),
        difference_series(y, o),
        difference_series(X, o),
    )
    np.testing.assert_allclose(whole.coef, short.coef, rtol=1e-6)
    np.testing.assert_allclose(whole.variance, short.variance, rtol=1e-6)
    np.testing.assert_allclose(whole.residual[-5:], short.residual[-5:], rtol=1e-6)


def test_maximum_is_that_of_statsmodels():
    peer = pytest.importorskip("statsmodels.tsa.statespace.sarimax")
    rng = np.random.default_rng(3)
    e = rng.normal(0, 1, 140)
    w = np.zeros(140)
    for t in range(1, 140):
        w[t] = 0.5 * w[t - 1] + e[t] + 0.3 * e[t - 1]
    y = 10 + np.cumsum(w)
    model = ARIMA((1, 1, 1)).fit(y)
    theirs = peer.SARIMAX(np.diff(y), order=(1, 0, 1)).fit(disp=False)
    fit = model.models_[0]
    assert fit.loglik > theirs.llf - 1e-3
    np.testing.assert_allclose(
        [fit.ar[0], fit.ma[0], fit.variance], theirs.params, atol=0.02
    )
    at = peer.SARIMAX(np.diff(y), order=(1, 0, 1)).filter(
        [fit.ar[0], fit.ma[0], fit.variance]
    )
    np.testing.assert_allclose(fit.loglik, at.llf, rtol=1e-8)
    ahead = y[-1] + np.cumsum(at.forecast(6))
    np.testing.assert_allclose(model.predict(6).mean, ahead, rtol=1e-8)


def test_seasonal_polynomials_multiply():
    o = Orders(1, 0, 1, 1, 0, 1, 4)
    free = np.array([0.3, -0.2, 0.5, 0.4])
    ar, ma = full_polynomials(free, o)
    f, g, F, G = 0.9995 * np.tanh(free)
    np.testing.assert_allclose(ar, [f, 0, 0, F, -f * F])
    np.testing.assert_allclose(ma, [-g, 0, 0, -G, g * G])
    np.testing.assert_allclose(difference_weights(Orders(d=1, D=1, m=3)), [1, 0, 1, -1])
    assert str(o) == "(1,0,1)(1,0,1)[4]"
    for seed in range(5):
        free = np.random.default_rng(seed).normal(0, 2, 3)
        ar, _ = full_polynomials(free, Orders(p=3))
        assert np.abs(np.roots(np.r_[1, -ar])).max() < 1


def test_random_walks_and_means():
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.normal(0, 1, 50))
    model = ARIMA((0, 1, 0)).fit(y)
    found = model.predict(4)
    np.testing.assert_allclose(found.mean, y[-1])
    np.testing.assert_allclose(model.models_[0].variance, np.mean(np.diff(y) ** 2))
    np.testing.assert_allclose(psi_weights(model.models_[0], 3), 1.0)
    mean = ARIMA((0, 0, 0)).fit(y).predict(2)
    np.testing.assert_allclose(mean.mean, y.mean())
    y[20] = np.nan
    np.testing.assert_allclose(ARIMA((0, 1, 0)).fit(y).predict(1).mean, y[-1])


def test_orders_are_chosen():
    rng = np.random.default_rng(4)
    t = np.arange(96)
    walk = np.cumsum(rng.normal(0.5, 1, 96))
    noise = rng.normal(0, 1, 96)
    season = 10 * np.sin(2 * np.pi * t / 12) + 0.3 * t + noise
    assert choose_differences(walk, 1)[0] == 1
    assert choose_differences(noise, 1) == (0, 0)
    assert choose_differences(season, 12)[1] == 1
    assert seasonal_strength(season, 12) > 0.64 > seasonal_strength(noise, 12)
    assert kpss_statistic(noise) < 0.463 < kpss_statistic(walk)
    panel = Panel.from_list([season], frequency=Frequency("month", 1, 1))
    found = ARIMA().fit(panel).predict(12)
    truth = 10 * np.sin(2 * np.pi * (96 + t[:12]) / 12) + 0.3 * (96 + t[:12])
    assert np.abs(found.mean[0] - truth).mean() < 1.5


def test_long_seasons_become_regressors(rng):
    t = np.arange(210)
    y = 20 + 5 * np.sin(2 * np.pi * t / 52) + rng.normal(0, 0.5, 210)
    assert choose_harmonics(y, 52) >= 1
    model = ARIMA(season_length=52).fit(y[:200])
    assert model.pairs_[0] >= 1
    assert np.abs(model.predict(10).mean - y[200:]).mean() < 1.5
    np.testing.assert_allclose(fourier_terms([13], 52, 1), [[1, 0]], atol=1e-12)


def test_known_columns_are_regressors(rng):
    from pansophy import Ragged

    promo = (rng.random(65) < 0.3).astype(float)
    y = 10 + 4 * promo[:60] + rng.normal(0, 0.3, 60)
    panel = Panel.from_list([y], known=Ragged.from_list([promo[:, None]]))
    model = ARIMA((0, 0, 0)).fit(panel)
    np.testing.assert_allclose(model.predict(5).mean[0], 10 + 4 * promo[60:], atol=0.4)
    other = model.predict(5, X_future=np.ones((5, 1))).mean[0]
    np.testing.assert_allclose(other, 14, atol=0.4)
    with pytest.raises(ValueError, match="X_future must be"):
        model.predict(5, X_future=np.ones((4, 1)))
