"""One regression for all series."""

import numpy as np

from pansophy import Ragged
from pansophy.ensemble import HistGradientBoostingRegressor
from pansophy.forecasting import GlobalForecaster, Panel
from pansophy.forecasting.global_forecaster import carried_forward, step_sizes
from pansophy.forecasting.panel import as_panel


def seasonal_series(rng, count=12, n=48):
    t = np.arange(n)
    return [
        k * 10 + (1 + k) * (0.2 * t + np.tile([3.0, 0.0, -3.0, 0.0], n // 4))
        + 0.1 * (1 + k) * rng.normal(0, 1, n)
        for k in range(count)
    ]  # fmt: skip


def test_direct_and_recursive_find_season_and_trend(rng):
    series = seasonal_series(rng)
    head = [y[:40] for y in series]
    booster = HistGradientBoostingRegressor(max_iter=40, min_samples_leaf=5)
    for model in (
        GlobalForecaster(season_length=4),
        GlobalForecaster(season_length=4, horizon=8),
        GlobalForecaster(season_length=4, horizon=3),
        GlobalForecaster(booster, season_length=4, horizon=4),
    ):
        found = model.fit(head).predict(8)
        scale = 1 + np.arange(12.0)
        error = np.abs(found.mean - [y[40:] for y in series]) / scale[:, None]
        assert error.mean() < 0.6


def test_known_covariates_count(rng):
    promo = (rng.random((6, 50)) < 0.3).astype(float)
    series = [20 + 5 * p[:46] + rng.normal(0, 0.2, 46) for p in promo]
    known = Ragged.from_list([p[:, None] for p in promo])
    panel = Panel(Ragged.from_list(series), known=known)
    found = GlobalForecaster(n_lags=3, horizon=4).fit(panel).predict(4)
    assert np.abs(found.mean - 20 - 5 * promo[:, 46:]).mean() < 1.0


def test_filling_and_sizes():
    y = np.array([np.nan, 1.0, 2.0, np.nan, 4.0, np.nan])
    filled = carried_forward(as_panel(y), 2)
    np.testing.assert_array_equal(filled, [1, 1, 2, 1, 4, 1])
    np.testing.assert_array_equal(step_sizes(as_panel([1.0, 3.0, 2.0])), [1.5])
    np.testing.assert_array_equal(step_sizes(as_panel([7.0, 7.0])), [0.0])


def test_training_rows_are_bounded(monkeypatch, rng):
    from pansophy.forecasting import global_forecaster

    monkeypatch.setattr(global_forecaster, "MAX_ROWS", 60)
    model = GlobalForecaster(season_length=4).fit(seasonal_series(rng))
    origin, series = model._training_origins(model.panel_, 1)
    assert len(origin) == 60 and (np.bincount(series) == 5).all()
    assert origin[-1] == len(model.panel_.values) - 2
