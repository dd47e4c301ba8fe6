"""STL and MSTL against statsmodels, and what they must find."""

import numpy as np
import pytest

from pansophy.forecasting import MSTL, Naive, mstl, stl
from pansophy.forecasting.stl import fill_series_gaps, next_odd, robustness_weights


def hourly(rng, n=24 * 30):
    t = np.arange(n)
    return (
        50
        + 0.01 * t
        + 9 * np.sin(t / 24 * 6.283)
        + 4 * (t // 24 % 7 > 4)
        + rng.normal(0, 1, n)
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"robust": True},
        {"seasonal_width": 13, "degrees": (0, 0, 1), "jumps": (2, 3, 4)},
        {"trend_width": 31, "low_pass_width": 27, "n_inner": 3},
    ],
)
def test_stl_is_that_of_statsmodels(options, rng):
    peer = pytest.importorskip("statsmodels.tsa.seasonal")
    y = hourly(rng, 200)
    y[50] += 60
    ours = stl(y, 12, **options)
    degrees, jumps = options.get("degrees", (1, 1, 1)), options.get("jumps", (1, 1, 1))
    model = peer.STL(
        y, 12, seasonal=options.get("seasonal_width", 7),
        trend=options.get("trend_width"), low_pass=options.get("low_pass_width"),
        seasonal_deg=degrees[0], trend_deg=degrees[1], low_pass_deg=degrees[2],
        seasonal_jump=jumps[0], trend_jump=jumps[1], low_pass_jump=jumps[2],
        robust=options.get("robust", False),
    )  # fmt: skip
    theirs = model.fit(inner_iter=options.get("n_inner"))
    np.testing.assert_allclose(ours.trend, theirs.trend, rtol=1e-9)
    np.testing.assert_allclose(ours.seasonal, theirs.seasonal, atol=1e-8)


def test_mstl_is_that_of_statsmodels(rng):
    peer = pytest.importorskip("statsmodels.tsa.seasonal")
    y = hourly(rng)
    theirs = peer.MSTL(y, periods=(24, 168)).fit()
    ours = mstl(y, [168, 24])
    np.testing.assert_allclose(ours.seasonal, theirs.seasonal, atol=1e-8)
    np.testing.assert_allclose(ours.trend, theirs.trend, rtol=1e-9)
    np.testing.assert_allclose(
        ours.trend + ours.seasonal.sum(1) + ours.remainder, y, rtol=1e-12
    )


def test_gaps_widths_and_short_series(rng):
    y = hourly(rng, 240)
    whole = stl(y, 24).seasonal
    y[100:103] = np.nan
    assert np.abs(stl(y, 24).seasonal - whole).max() < 3
    assert not np.isnan(fill_series_gaps(y, 24)).any()
    with pytest.raises(ValueError, match="two of it"):
        stl(y[:30], 24)
    with pytest.raises(ValueError, match="odd"):
        stl(y, 24, seasonal_width=8)
    assert next_odd(4.2) == 5 and next_odd(6) == 7
    assert robustness_weights(np.r_[np.ones(9), 100.0])[-1] == 0
    assert mstl(y[:10], [24]).seasonal.shape == (10, 0)


def test_forecasts_repeat_every_season(rng):
    y = hourly(rng, 24 * 28)
    model = MSTL([24, 168], forecaster=Naive()).fit(y[: 24 * 27])
    found = model.predict(24)
    assert np.abs(found.mean - y[24 * 27 :]).mean() < 2.5
    inside = (found.intervals[95][:, 0] <= y[24 * 27 :]) & (
        y[24 * 27 :] <= found.intervals[95][:, 1]
    )
    assert inside.mean() > 0.7
    assert set(model.components()) == {"fitted", "seasonal", "adjusted"}
    with pytest.raises(ValueError, match="season_lengths"):
        MSTL([1]).fit(y)
