"""Forecasting of many series against statsmodels, which has one series a model.

The series are seasonal walks of 120 months with trend and noise; the last 12 months are
to be forecast. Every contender fits the same form to every series, and is judged by the
mean absolute error there, against what came.
"""

import numpy as np

from .runner import Case

SEASON = 12
HORIZON = 12


def monthly_series(size):
    """Series (s, n) above 0, and what comes after them (s, 12)."""
    s, n = size
    rng = np.random.default_rng(0)
    t = np.arange(n + HORIZON)
    level = 100 + np.cumsum(rng.normal(0.3, 1.0, (s, len(t))), axis=1)
    phase = rng.uniform(0, 2 * np.pi, (s, 1))
    season = 8 * np.sin(2 * np.pi * t / SEASON + phase)
    y = np.maximum(level + season + rng.normal(0, 2.0, (s, len(t))), 1.0)
    return {"past": y[:, :n], "future": y[:, n:]}


def forecast_error(p, forecasts):
    return float(np.abs(np.asarray(forecasts) - p["future"]).mean())


def ours_theta(p):
    from pansophy.forecasting import Theta

    return Theta(SEASON).fit(list(p["past"])).predict(HORIZON, level=[80]).mean


def statsmodels_theta(p):
    from statsmodels.tsa.forecasting.theta import ThetaModel

    return [
        np.asarray(ThetaModel(y, period=SEASON).fit().forecast(HORIZON))
        for y in p["past"]
    ]


def ours_smoothing(p):
    from pansophy.forecasting import ExponentialSmoothing

    model = ExponentialSmoothing(
        "add", "add", damped=True, seasonal="add", season_length=SEASON
    )
    return model.fit(list(p["past"])).predict(HORIZON, level=[80]).mean


def statsmodels_smoothing(p):
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel

    out = []
    for y in p["past"]:
        model = ETSModel(
            y,
            error="add",
            trend="add",
            damped_trend=True,
            seasonal="add",
            seasonal_periods=SEASON,
            initialization_method="heuristic",
        )
        out.append(model.fit(disp=False).forecast(HORIZON))
    return out


CASES = [
    Case(
        name="theta_many",
        what="standard Theta method, many monthly series of 120 values, 12 ahead",
        sizes=[(s, 120) for s in (20, 100, 500)],
        data=monthly_series,
        ours=ours_theta,
        peers={"statsmodels": statsmodels_theta},
        quality=forecast_error,
        tolerance=0.1,
        target=10.0,
        rounds=3,
        notes="ours also gives intervals",
    ),
    Case(
        name="exponential_smoothing_many",
        what="AAdA, many monthly series of 120 values, 12 ahead",
        sizes=[(s, 120) for s in (5, 20, 80)],
        data=monthly_series,
        ours=ours_smoothing,
        peers={"statsmodels": statsmodels_smoothing},
        quality=forecast_error,
        tolerance=0.1,
        target=10.0,
        rounds=3,
        notes="both take the first seasons from a decomposition; ours also gives "
        "intervals",
    ),
]
