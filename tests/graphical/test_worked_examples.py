"""Worked numbers of textbooks, with the public names as a reader would call them."""

import numpy as np
import pytest

from pansophy.graphical import (
    BayesianNetwork,
    FactorGraph,
    MarkovRandomField,
    StructureSearch,
    all_dags,
    bic_score,
    cutset_conditioning,
    d_separated,
    log_likelihood_score,
    loopy_bp,
    markov_blanket,
    markov_equivalent,
    max_product,
    sum_product,
)
from pansophy.teaching import explaining_away

close = lambda value, want: np.testing.assert_allclose(value, want, atol=1.5e-6)
FIVE = [(1, 2), (1, 3), (2, 4), (3, 4), (3, 5), (4, 5)]


def probability(network, name, state, evidence=None):
    return network.query(name, evidence or {})[state]


@pytest.fixture
def four_nodes():
    return BayesianNetwork.from_tables(
        {
            "x1": [0.01, 0.99],
            "x3": [0.01, 0.99],
            "x2 | x1, x3": [[[1, 0], [1, 0]], [[1, 0], [0, 1]]],
            "x4 | x3": [[0.3, 0.7], [0.8, 0.2]],
        }
    )


def test_four_nodes_asked_exactly(four_nodes):
    p = lambda *args: probability(four_nodes, *args)
    assert p("x2", 0) == pytest.approx(0.0199)
    assert p("x1", 0, {"x2": 0}) == pytest.approx(0.50251256)
    assert p("x3", 0, {"x2": 0}) == pytest.approx(0.50251256)
    assert p("x4", 0) == pytest.approx(0.795)
    assert p("x4", 0, {"x2": 0}) == pytest.approx(0.54874372)


def test_explaining_away(four_nodes):
    p = lambda *args: probability(four_nodes, *args)
    assert p("x1", 0, {"x2": 0, "x3": 0}) == pytest.approx(0.01)
    assert p("x1", 0, {"x2": 0, "x3": 1}) == pytest.approx(1.0)
    assert p("x1", 0, {"x4": 0}) == pytest.approx(0.01)
    assert p("x1", 0, {"x2": 0, "x4": 0}) == pytest.approx(0.72802198)
    alarm = BayesianNetwork.from_tables(
        {
            "burglary": [0.99, 0.01],
            "earthquake": [0.98, 0.02],
            "alarm | burglary, earthquake": [
                [[0.999, 0.001], [0.7, 0.3]],
                [[0.1, 0.9], [0.05, 0.95]],
            ],
        }
    )
    assert probability(alarm, "burglary", 1, {"alarm": 1}) == pytest.approx(
        0.565948, abs=1e-6
    )
    both = {"alarm": 1, "earthquake": 1}
    assert probability(alarm, "burglary", 1, both) == pytest.approx(0.030995, abs=1e-6)
    assert "0.030995" in str(explaining_away(alarm, "burglary", "earthquake", "alarm"))


def test_tables_that_do_not_sum_to_one_are_refused():
    tables = {"z": [0.7, 0.3], "y | z": [[0.67, 0.23], [0.15, 0.85]]}
    with pytest.raises(ValueError, match="sum"):
        BayesianNetwork.from_tables(tables)


def test_compact_tables_and_their_queries():
    two = BayesianNetwork.from_tables({"B": [0.6, 0.4], "E | B": [[0.7], [0.8]]})
    assert probability(two, "E", 1) == pytest.approx(0.26)
    assert probability(two, "B", 1, {"E": 1}) == pytest.approx(0.307692, abs=1e-6)
    three = BayesianNetwork.from_tables(
        {"A": [0.5], "B": [0.6], "C | A, B": [[[0.3], [0.6]], [[0.2], [0.3]]]}
    )
    assert probability(three, "C", 1) == pytest.approx(0.67)
    assert probability(three, "A", 1, {"C": 1}) == pytest.approx(0.567164, abs=1e-6)


def test_d_separation_and_blankets_of_five_nodes():
    for x, y, given, separated in (
        (2, 3, [], False),
        (2, 3, [1], True),
        (2, 3, [1, 4], False),
        (2, 3, [1, 5], False),
        (2, 5, [3, 4], True),
        (1, 4, [2, 3], True),
        (1, 4, [3], False),
        (1, 5, [3, 4], True),
        (1, 5, [3], False),
    ):
        assert bool(d_separated(FIVE, x, y, given)) == separated
    blankets = {1: {2, 3}, 2: {1, 3, 4}, 3: {1, 2, 4, 5}, 4: {2, 3, 5}, 5: {3, 4}}
    for node, blanket in blankets.items():
        assert set(markov_blanket(FIVE, node)) == blanket


ROWS = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 0], [0, 1], [0, 0]])


@pytest.mark.parametrize("graph", [[], (), {}, [(), ()], BayesianNetwork([])])
def test_a_graph_without_edges_may_be_empty(graph):
    if isinstance(graph, BayesianNetwork):
        graph = graph.fit(ROWS)
    assert log_likelihood_score(ROWS, graph) == pytest.approx(-9.5607135)
    assert bic_score(ROWS, graph) == pytest.approx(-11.5066236)


def test_structure_of_two_columns():
    for edge in (("x0", "x1"), ("x1", "x0")):
        assert log_likelihood_score(ROWS, [edge]) == pytest.approx(-9.4624880)
        assert bic_score(ROWS, [edge]) == pytest.approx(-12.3813532)
    assert markov_equivalent([("x0", "x1")], [("x1", "x0")])
    for method in ("hill_climbing", "exact"):
        found = StructureSearch("bic", method=method).fit(ROWS)
        assert list(found.edges_) == []
    assert [sum(1 for _ in all_dags(d)) for d in (2, 3, 4)] == [3, 25, 543]


def test_loop_of_four_nodes():
    T = [[2, 1], [1, 2]]
    edges = {("a", "b"): T, ("b", "c"): T, ("c", "d"): T, ("d", "a"): T}
    field = MarkovRandomField(edges, {"a": [3, 1]})
    found = cutset_conditioning(field, cutset=["a"])
    close(found.weights, [123, 41])
    exact = {"a": 0.75, "b": 0.591463, "c": 0.554878, "d": 0.591463}
    loopy = {"a": 0.754644, "b": 0.593162, "c": 0.555897, "d": 0.593162}
    beliefs = loopy_bp(field)
    for name in "abcd":
        close(found.marginals[name][0], exact[name])
        close(beliefs[name][0], loopy[name])


def test_chain_of_five_variables():
    T = [[0.4, 0.6], [2 / 3, 1 / 3]]
    parts = [("x1", [0.5, 0.5])]
    parts += [((f"x{i}", f"x{i + 1}"), T) for i in range(1, 5)]
    chain = FactorGraph({f"x{i}": "AB" for i in range(1, 6)}, parts)
    close(sum_product(chain)["x3"], [0.524444, 0.475556])
    b = sum_product(chain, {"x5": "B"})
    close(b["x1"], [0.497332, 0.502668])
    close(b["x2"], [0.543294, 0.456706])
    close(b["x3"], [0.487014, 0.512986])
    close(b["x4"], [0.667111, 0.332889])
    close(b.unnormalised["x1"].sum(), 0.473817)
    b = sum_product(chain, {"x1": "A", "x5": "A"})
    close(b["x2"], [0.391392, 0.608608])
    close(b["x3"], [0.593141, 0.406859])
    close(b.unnormalised["x3"].sum(), 0.264356)
    best = max_product(chain, {"x5": "B"})
    assert "".join(best.states[f"x{i}"] for i in range(1, 6)) == "BABAB"
