"""Explaining away in small networks."""

import numpy as np

from pansophy.graphical import BayesianNetwork
from pansophy.teaching import explaining_away
from tests.graphical.small_networks import network_of_four

HALF = [[0.5, 0.5], [0.5, 0.5]]


def test_explaining_away():
    calls = BayesianNetwork.from_tables(
        {"b": 0.99, "e": 0.98, "alarm | b, e": [[0.999, 0.7], [0.1, 0.05]]}
    )
    report = explaining_away(calls, "b", "e", {"alarm": 1})
    assert np.isclose(report.given_effect, 0.565948, atol=1e-6)
    assert np.isclose(report.given_both[1], 0.030995, atol=1e-6)
    assert report and report.independent_before and report.connected_after
    assert "P(b=1 | alarm=1) = 0.565948" in str(report)
    other = explaining_away(network_of_four(), "x1", "x3", {"x2": 0}, state=0)
    assert np.isclose(other.given_effect, 0.50251256)
    assert np.isclose(other.given_both[0], 0.01) and other.given_both[1] == 1.0
    chain = BayesianNetwork.from_tables({"a": 0.5, "b | a": HALF, "c | b": HALF})
    assert not explaining_away(chain, "a", "b", {"c": 1})
