"""SHAP figures: the largest features, missing values in the middle, swarms."""

import numpy as np

from pansophy.plot.trees import shap


def test_features_by_mean_size_the_largest_last():
    V = np.array([[1.0, -5.0, 0.0], [-3.0, 5.0, 0.1]])
    order, size = shap.largest_features(V, 2)
    assert order.tolist() == [0, 1] and size.tolist() == [2, 5, 0.05]
    assert shap.largest_features(V, 9)[0].tolist() == [2, 0, 1]


def test_ranks_from_0_to_1():
    found = shap.scaled_ranks(np.array([30.0, 10.0, np.nan, 20.0]))
    np.testing.assert_allclose(found, [1, 0, 0.5, 0.5])
    numbers = shap.features_as_numbers([["b", 1.0], ["a", 2.0]], (2, 2))
    assert numbers[0, 0] > numbers[1, 0] and numbers[:, 1].tolist() == [1, 2]


def test_values_that_are_close_are_spread_out():
    heights = shap.swarm_offsets(np.array([0.0, 0.0, 0.0, 5.0]))
    assert len(set(heights[:3])) == 3 and np.abs(heights).max() <= 1
    assert heights[3] == 0
