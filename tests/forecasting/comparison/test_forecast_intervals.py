"""Conformal intervals of forecasts."""

import numpy as np
from scipy.special import ndtri

from pansophy.forecasting.comparison.forecast_intervals import (
    ForecastIntervals,
    conformal_scores,
    coverage_by_step,
    value_kinds,
)


def test_each_step_has_its_quantile_where_there_are_scores(rng):
    scores = np.abs(rng.normal(0, [1.0, 2.0], (4000, 2)))
    q = ForecastIntervals(scores).factors(0.9, 3)
    np.testing.assert_allclose(q, np.array([1, 2, 2]) * ndtri(0.95), rtol=0.05)
    few = ForecastIntervals(scores[:30]).factors(0.9, 2)
    assert few[0] == few[1]
    none = ForecastIntervals(np.zeros((0, 1))).factors(0.9, 2)
    np.testing.assert_allclose(none, ndtri(0.95))


def test_counts_stay_counts():
    made = ForecastIntervals(np.ones((99, 2)), True, True)
    ends = made.ends(np.array([[0.4, 2.3]]), np.array([[1.0, 1.0]]), 0.8)
    np.testing.assert_array_equal(ends, [[[0, 2], [1, 4]]])
    assert made.means(np.array([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert value_kinds(np.array([0.0, np.nan, 3.0])) == (True, True)
    assert value_kinds(np.array([0.5, 3.0])) == (True, False)
    assert value_kinds(np.array([-1.0, 3.0])) == (False, False)


def test_reaches_never_narrow():
    scores = np.column_stack([np.full(60, 3.0), np.full(60, 1.0)])
    ends = ForecastIntervals(scores).ends(np.zeros((1, 2)), np.ones((1, 2)), 0.8)
    np.testing.assert_array_equal(ends[0, :, 1], [3, 3])


def test_scores_and_coverage():
    r = conformal_scores(
        np.array([3.0, 5.0]), np.array([1.0, 5.0]), np.array([2.0, 0.0])
    )
    np.testing.assert_array_equal(r, [1, 0])
    y = np.array([[1.0, 2.0], [5.0, np.nan]])
    ends = np.array([[[0, 2], [3, 4]], [[0, 2], [3, 4]]], float)
    np.testing.assert_array_equal(coverage_by_step(y, ends), [0.5, 0.0])
