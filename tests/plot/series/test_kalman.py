"""Kalman pictures: 95% bands of beliefs, forecasts after the last time."""

from types import SimpleNamespace

import numpy as np
import pytest

from pansophy import plot
from pansophy.plot.series.kalman import belief_band


def test_bands_of_beliefs():
    means, covs = np.array([[1.0, 5.0]]), np.array([np.diag([4.0, np.inf])])
    mean, low, high = belief_band((means, covs), 0)
    assert mean[0] == 1 and high[0] == pytest.approx(1 + 1.959964 * 2)
    assert low[0] + high[0] == pytest.approx(2)
    assert np.isnan(belief_band((means, covs), 1)[1]).all()  # nothing is known
    given = tuple(np.array([[v]]) for v in (2.0, 1.0, 4.0))
    assert [float(a[0]) for a in belief_band(given, 0)] == [2, 1, 4]


def test_a_forecast_goes_on_by_the_last_step():
    ahead = SimpleNamespace(mean=np.array([[1.0], [2.0]]), sd=np.ones((2, 1)))
    ax = plot.kalman([3.0, 4.0], forecast=ahead, t=[0.0, 0.5])
    np.testing.assert_array_equal(ax.lines[-1].get_xydata(), [[1.0, 1], [1.5, 2]])
    with pytest.raises(ValueError, match="t has 3 times for 2 rows"):
        plot.kalman([3.0, 4.0], t=[1, 2, 3])
