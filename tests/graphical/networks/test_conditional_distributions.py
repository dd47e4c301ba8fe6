"""Conditional distributions: point masses, refusals."""

import numpy as np
import pytest

from pansophy.graphical import (
    BayesianNetwork,
    ConditionalLinearGaussian,
    LinearGaussian,
)


def test_values_without_noise_are_point_masses():
    nodes = {
        "k": [0.5, 0.5],
        "x | k": ConditionalLinearGaussian(
            [0.0, 5.0], np.zeros((2, 0)), [1.0, 0.0], (0,)
        ),
        "y | x": LinearGaussian(0.0, [2.0], 0.0),
    }
    network = BayesianNetwork.from_tables(nodes)
    assert network.query("k", {"x": 5.0})[1] == 1.0  # a mass outweighs a density
    assert network.query("k", {"y": 10.0})[1] == 1.0
    assert network.query("k", {"x": 4.0, "y": 8.0})[0] == 1.0
    found = network.query("x", {"y": 8.0})
    assert found.mean[0] == 4.0 and found.cov[0, 0] == 0.0
    with pytest.raises(ValueError, match="probability 0"):
        network.query("k", {"x": 4.0, "y": 9.0})
    rows = {"x": np.random.default_rng(0).normal(size=9), "one": np.full(9, 1.5)}
    fitted = BayesianNetwork([("one", "x")]).fit(rows)
    assert np.isclose(fitted.query("x", {"one": 1.5}).mean[0], rows["x"].mean())
