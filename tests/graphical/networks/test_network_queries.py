"""Queries with contradictory evidence."""

import pytest

from pansophy.graphical import (
    sprinkler_network,
)


def test_contradiction_has_probability_zero():
    network = sprinkler_network()
    assert network.probability({"rain": True}, {"rain": False}) == 0.0
    with pytest.raises(TypeError, match="evidence must be a dict"):
        network.query("rain", ["wet"])
