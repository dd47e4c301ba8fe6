"""Blends by hand."""

import numpy as np
import pytest

from pansophy.forecasting import (
    Drift,
    ExponentialSmoothing,
    ForecastBlend,
    Naive,
    Theta,
    WindowAverage,
    inverse_error_weights,
)
from pansophy.forecasting.forecast_blend import blend_forecasts

Y = np.array([1.0, 2.0, 2.0, 5.0])


def test_median_and_weights():
    members = [Naive(), Drift(), WindowAverage()]
    means = np.array([f.fit(Y).predict(2).mean for f in members])
    np.testing.assert_array_equal(
        ForecastBlend(members).fit(Y).predict(2).mean, np.median(means, 0)
    )
    model = ForecastBlend(members, weights=[1, 1, 2]).fit(Y)
    found = model.predict(2, level=[90])
    np.testing.assert_allclose(found.mean, means.T @ [0.25, 0.25, 0.5])
    ends = np.array([f.predict(2, level=[90]).intervals[90] for f in members])
    np.testing.assert_allclose(
        found.intervals[90], np.tensordot([0.25, 0.25, 0.5], ends, 1)
    )
    np.testing.assert_allclose(blend_forecasts([[1.0], [3.0]], [0.5, 0.5]), [2.0])


def test_weights_from_errors():
    np.testing.assert_allclose(
        inverse_error_weights([1, 1, 0.5]), [1 / 6, 1 / 6, 2 / 3]
    )
    np.testing.assert_allclose(inverse_error_weights([0, 1]), [0.5, 0.5])


def test_bad_members_and_weights():
    with pytest.raises(ValueError, match="list of forecasting"):
        ForecastBlend([3]).fit(Y)
    with pytest.raises(ValueError, match="2 numbers"):
        ForecastBlend([Naive(), Drift()], weights=[1]).fit(Y)
    with pytest.raises(ValueError, match="'median'"):
        ForecastBlend(weights="mean").fit(Y)


def test_a_series_too_short_for_every_method_has_a_reason():
    blend = ForecastBlend([Theta(), ExponentialSmoothing()])
    found = blend.fit([np.array([4.0]), np.arange(20.0)]).predict(2)
    assert found.reasons[0].startswith("1 value is too few") and not found.reasons[1]
    np.testing.assert_array_equal(found.mean[0], [4.0, 4.0])
