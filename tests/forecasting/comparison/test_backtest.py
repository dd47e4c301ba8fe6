"""Origins: what is known at each, and what is left for the test."""

import numpy as np

from pansophy.forecasting import Drift, Frequency, Naive, Panel, WindowAverage
from pansophy.forecasting.comparison.backtest import (
    blend_origins,
    common_end,
    cut_panel,
    forecast_origin,
    implied_deviations,
    make_origins,
)

MONTHS = Frequency("month", 1, 1)


def test_series_that_end_together_are_cut_at_one_date():
    rows = [np.arange(20.0), 100 + np.arange(12.0), 200 + np.arange(10.0)]
    panel = Panel.from_list(rows, start=[0, 8, 8], frequency=MONTHS)
    assert common_end(panel)
    test, first, *_ = make_origins(panel, 3, 4, 5)
    assert test.number == 0 and test.lengths.tolist() == [17, 9, 9]
    np.testing.assert_array_equal(test.actual[0], [17, 18, 19])
    np.testing.assert_array_equal(test.actual[2], [209, np.nan, np.nan])
    assert first.lengths.tolist() == [14, 6, 6]
    np.testing.assert_array_equal(
        cut_panel(panel, first).series[1], 100 + np.arange(6.0)
    )


def test_series_of_their_own_ends():
    panel = Panel.from_list([np.arange(20.0), np.arange(9.0)])
    assert not common_end(panel)
    origins = make_origins(panel, 3, 4, 5)
    assert [o.lengths.tolist() for o in origins[:2]] == [[17, 6], [14, 3]]
    assert len(origins) == 5  # one of two series has 4 values at 5 in all
    assert make_origins(panel, 30, 4) == []


def test_forecasts_failures_and_blends():
    panel = Panel.from_list([np.arange(20.0)])
    origin = make_origins(panel, 2, 4, 1)[0]
    naive = forecast_origin(Naive(), panel, origin, 2)
    drift = forecast_origin(Drift(), panel, origin, 2)
    assert naive.mean.tolist() == [[17, 17]] and drift.mean.tolist() == [[18, 19]]
    np.testing.assert_allclose(naive.sd, [[1, np.sqrt(2)]])
    failed = forecast_origin(WindowAverage(0), panel, origin, 2)
    assert "window" in failed.failure and np.isnan(failed.mean).all()
    blend = blend_origins([naive, drift], [0.25, 0.75])
    np.testing.assert_allclose(blend.mean, [[17.75, 18.5]])
    found = Naive().fit(panel).predict(1, level=[80])
    np.testing.assert_allclose(implied_deviations(found), 1.0)
