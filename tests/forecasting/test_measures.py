"""Measures by hand."""

import numpy as np

from pansophy.forecasting import mase, rmsse, skill, smape
from pansophy.forecasting.measures import (
    log_error_ratios,
    mean_over_steps,
    naive_scale,
)
from pansophy.forecasting.panel import as_panel

Y = np.array([[2.0, np.nan, 5.0], [1.0, 1.0, 1.0]])
F = np.array([[1.0, 9.0, 7.0], [1.0, 2.0, 0.0]])


def test_scaled_errors_skip_what_is_not_known():
    np.testing.assert_allclose(mase(Y, F, np.array([3.0, 2.0])), [0.5, 1 / 3])
    np.testing.assert_allclose(
        rmsse(Y, F, np.array([1.0, 1.0])), [np.sqrt(2.5), np.sqrt(2 / 3)]
    )
    assert np.isnan(mean_over_steps(np.array([[np.nan]]))[0])


def test_percentages():
    expected = [200 / 3, 200 * 2 / 12, 0, 200 / 3, 200]
    np.testing.assert_allclose(smape(Y, F), np.mean(expected))


def test_scales_of_series():
    panel = as_panel([np.array([1.0, 2.0, 5.0, 3.0]), np.ones(4), np.array([1.0, 3.0])])
    np.testing.assert_allclose(naive_scale(panel, 2), [2.5, np.nan, 2.0])
    np.testing.assert_allclose(
        naive_scale(panel, 1, squared=True)[0], np.sqrt((1 + 9 + 4) / 3)
    )


def test_skill_weighs_series_alike():
    assert abs(skill([1.0, 8.0], [2.0, 4.0])) < 1e-12
    ratios = log_error_ratios([0.0, 0.0, 1.0, np.nan], [0.0, 1.0, 0.0, 1.0])
    np.testing.assert_allclose(ratios[:3], [0, -np.log(100), np.log(100)])
    assert np.isnan(ratios[3])
