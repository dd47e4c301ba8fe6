"""Closed forms of the naive family."""

import numpy as np

from pansophy.forecasting import Drift, Naive, Naive2, SeasonalNaive, WindowAverage

Z80 = 1.2815515655446004


def test_naive_widens_with_the_root_of_the_step():
    y = np.array([1.0, 3.0, 2.0, 6.0])
    found = Naive().fit(y).predict(4)
    sigma = np.sqrt((4 + 1 + 16) / 3)
    reach = Z80 * sigma * np.sqrt(np.arange(1, 5))
    np.testing.assert_allclose(found.intervals[80][:, 1], 6 + reach)
    assert Naive().fit([1.0, 5.0, np.nan]).predict(1).mean[0] == 5.0


def test_seasons_repeat_and_widen_once_a_season():
    y = np.array([1.0, 5.0, 2.0, 7.0, np.nan])
    model = SeasonalNaive(2).fit(y)
    found = model.predict(4)
    np.testing.assert_array_equal(found.mean, [7, 2, 7, 2])
    sigma = np.sqrt((1 + 4) / 2)
    reach = found.intervals[80][:, 1] - found.mean
    np.testing.assert_allclose(reach, Z80 * sigma * np.sqrt([1, 1, 2, 2]))
    np.testing.assert_array_equal(
        model.components()["fitted"].values, [np.nan, np.nan, 1, 5, 2]
    )


def test_drift_is_the_line_through_the_ends():
    y = np.array([np.nan, 2.0, 9.0, 8.0, np.nan])
    model = Drift().fit(y)
    np.testing.assert_allclose(model.predict(2).mean, [8 + 2 * 3, 8 + 3 * 3])
    errors = np.array([9 - 2 - 3, 8 - 9 - 3])
    sigma = np.sqrt((errors**2).mean())
    h = np.array([2, 3])
    reach = model.predict(2).intervals[80][:, 1] - model.predict(2).mean
    np.testing.assert_allclose(reach, Z80 * sigma * np.sqrt(h * (1 + h / 2)))


def test_window_average_by_hand():
    y = np.array([1.0, 4.0, np.nan, 7.0, 10.0])
    model = WindowAverage(2).fit(y)
    assert model.predict(1).mean[0] == 8.5
    np.testing.assert_allclose(model.fitted_, [np.nan, 1, 2.5, 2.5, 5.5])
    whole = WindowAverage().fit(y)
    assert whole.predict(1).mean[0] == 5.5


def test_naive2_is_naive_without_a_season():
    y = np.array([3.0, 9.0, 4.0, 4.5, 7.0])
    assert Naive2(4).fit(y).predict(2).mean.tolist() == [7.0, 7.0]
    seasonal = 50 + np.tile([0.0, 30.0, 5.0, -10.0], 8)
    found = Naive2(4, adjustment="additive").fit(seasonal).predict(4)
    np.testing.assert_allclose(found.mean, [50, 80, 55, 40], atol=1e-9)
    np.testing.assert_allclose(
        Naive2(4).fit(seasonal).components()["fitted"].values[1:], seasonal[1:]
    )
