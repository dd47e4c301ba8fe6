"""Predictive distributions: Student's t, its Normal limit, bands of one column."""

import numpy as np
import pytest
from scipy import stats

from pansophy.linear_model.bayesian.predictive_distribution import (
    PredictiveDistribution,
    plot_predictive_band,
)

MEAN, SCALE = np.array([0.0, 10.0]), np.array([1.0, 2.0])


def test_wider_than_normal_where_the_noise_is_estimated(rng):
    t, normal = (
        PredictiveDistribution(MEAN, SCALE, 5),
        PredictiveDistribution(MEAN, SCALE),
    )
    low, high = t.interval(0.9)
    np.testing.assert_allclose(high - MEAN, SCALE * stats.t(5).ppf(0.95))
    assert (high > normal.interval(0.9)[1]).all()
    np.testing.assert_allclose(low + high, 2 * MEAN, atol=1e-12)
    np.testing.assert_allclose(t.std, SCALE * (5 / 3) ** 0.5)
    assert np.isinf(PredictiveDistribution(MEAN, SCALE, 2).std).all()
    np.testing.assert_array_equal(normal.std, SCALE)
    np.testing.assert_allclose(
        normal.log_prob(MEAN), -np.log(SCALE * (2 * np.pi) ** 0.5)
    )
    draws = t.sample(4000, rng)
    assert draws.shape == (4000, 2)
    np.testing.assert_allclose(draws.std(axis=0), t.std, rtol=0.1)


def test_bands_are_of_one_column():
    class Line:
        def predict_dist(self, X):
            return PredictiveDistribution(X[:, 0], np.ones(len(X)))

    ax = plot_predictive_band(Line(), [[0.0], [4.0]], [1.0, 3.0], level=0.5)
    line = ax.lines[0].get_xydata()
    assert line[0].tolist() == [0, 0] and line[-1].tolist() == [4, 4]
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(4 + stats.norm.ppf(0.75))
    with pytest.raises(ValueError, match="one column"):
        plot_predictive_band(Line(), [[0.0, 1.0]])
