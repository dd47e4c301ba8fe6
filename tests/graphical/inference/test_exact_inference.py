"""Exact inference against enumeration, and its cost."""

import numpy as np
from hypothesis import given, settings

from pansophy.graphical import (
    BayesianNetwork,
    ConditionalTable,
    JunctionTree,
    VariableSpace,
    random_network,
)
from tests.graphical.small_networks import made, small_networks
from tests.oracles import networks as slow


@settings(max_examples=25, deadline=None)
@given(small_networks(largest=5))
def test_most_likely_equals_the_largest_cell(case):
    rng, parents, sizes, tables = case
    network = made(parents, sizes, tables)
    p = slow.joint(parents, tables, sizes)
    v = int(rng.integers(len(sizes)))
    code = int(rng.integers(sizes[v]))
    name = network.space.names[v]
    found = network.most_likely({name: code})
    at = tuple({**found.states, name: code}[n] for n in network.space.names)
    best = p.take([code], axis=v)
    assert np.isclose(p[at], best.max())
    assert np.isclose(found.log_prob, np.log(best.max() / best.sum()))


def test_cost_is_known_before_and_kept_to():
    network = random_network(30, 60, states=(3, 3), reach=25, seed=4)
    cost = network.inference_cost("x5", ["x9", "x20"])
    program = network._engine().plan(network.space.numbers("x5"), (9, 20))
    assert cost.largest_table == np.diff(program.geometry[0]).max()
    assert cost.total == program.geometry[0][-1]
    assert "largest table" in str(cost) and f"{cost.largest_table:,}" in str(cost)
    assert network.inference_cost("x0").order == ()  # all below are barren
    orders = {
        h: network.inference_cost("x29", (), h) for h in ("min_weight", "min_degree")
    }
    assert all(c.largest_table >= 3 for c in orders.values())


def test_large_networks_take_a_plan_for_each_question():
    network = random_network(60, 150, states=(2, 3), reach=12, seed=2)
    assert network._engine().full_tree is None
    want = JunctionTree(network).observe(x3=1, x40=0).marginal("x20").prob
    for method in ("auto", "elimination"):
        got = network.query("x20", {"x3": 1, "x40": 0}, method=method).prob
        assert np.allclose(got, want)


def test_thousand_features_do_not_underflow():
    rng = np.random.default_rng(0)
    table = rng.dirichlet([1.0] * 40, size=2)
    nodes = [ConditionalTable([0.5, 0.5]), *[ConditionalTable(table)] * 1000]
    space = VariableSpace.of_sizes([2] + [40] * 1000)
    network = BayesianNetwork.from_nodes(space, [(), *[(0,)] * 1000], nodes)
    codes = np.tile(rng.permutation(40), 25)
    seen = {f"x{i + 1}": int(c) for i, c in enumerate(codes)}
    log_p = np.log(table[:, codes]).sum(axis=1)
    want = 1 / (1 + np.exp(log_p[1] - log_p[0]))
    assert np.isclose(network.query("x0", seen).prob[0], want)
    assert np.isclose(network.log_prob(seen), np.logaddexp(*log_p) + np.log(0.5))
