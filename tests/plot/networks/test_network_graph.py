"""The figure of a network."""

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Ellipse, FancyArrowPatch, FancyBboxPatch

from pansophy import plot
from pansophy.graphical import (
    BayesianNetwork,
    LinearGaussian,
    student_network,
    to_factor_graph,
)


def test_graph_draws_a_box_for_each_node_and_an_arrow_for_each_edge():
    network = student_network()
    ax = plot.network_graph(network, tables=True, highlight=["grade"])
    kinds = [type(p) for p in ax.patches]
    assert kinds.count(FancyBboxPatch) == 5 and kinds.count(FancyArrowPatch) == 4
    texts = [t.get_text() for t in ax.texts]
    assert set(network.space.names) <= set(texts) and "easy 60.0%" in texts
    fills = [to_hex(p.get_fc()) for p in ax.patches if isinstance(p, FancyBboxPatch)]
    assert fills.count("#ffd6d6") == 1
    same = plot.network_graph(network, ax=ax)
    assert same is ax


def test_graph_of_edges_and_of_continuous_nodes():
    ax = plot.network_graph([("a", "b"), ("b", "c")])
    assert sorted(t.get_text() for t in ax.texts) == ["a", "b", "c"]
    normal = BayesianNetwork.from_tables(
        {"a": LinearGaussian(0.0), "b | a": LinearGaussian(0.0, [1.0])}
    )
    shapes = [p for p in plot.network_graph(normal).patches if isinstance(p, Ellipse)]
    assert len(shapes) == 2


def test_graphs_without_directions_are_refused():
    factors = to_factor_graph(student_network())
    with pytest.raises(TypeError, match="FactorGraph has no directions"):
        plot.network_graph(factors)
