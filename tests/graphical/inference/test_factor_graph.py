"""Networks converted to factor graphs."""

import numpy as np
import pytest

from pansophy.graphical import (
    ErgodicityWarning,
    JunctionTree,
    gibbs_sample,
    sprinkler_network,
    to_factor_graph,
)


def test_networks_as_factor_graphs():
    network = sprinkler_network()
    graph = to_factor_graph(network)
    assert graph.log_partition() == pytest.approx(0.0, abs=1e-12)  # Z = 1
    exact = JunctionTree(network).observe(wet=True).marginals()
    with pytest.warns(ErgodicityWarning, match="has zeros"):
        draws = gibbs_sample(network, 30000, evidence={"wet": True}, random_state=0)
    for name in ("rain", "sprinkler"):
        np.testing.assert_allclose(draws[name], exact[name], atol=0.02)
