"""Directed acyclic graphs: orders, ancestors, moral graphs, elimination, layers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy import graphs
from pansophy.graphs.directed import find_cycle
from tests.graphs.random_dags import random_dags


@settings(max_examples=50, deadline=None)
@given(random_dags())
def test_orders_and_ancestors(parents):
    d = len(parents)
    order = graphs.topological_order(parents)
    place = {v: k for k, v in enumerate(order)}
    assert sorted(order) == list(range(d))
    assert all(place[p] < place[i] for i in range(d) for p in parents[i])
    A = np.zeros((d, d), bool)
    for i, above in enumerate(parents):
        A[list(above), i] = True
    reach = np.linalg.matrix_power(np.eye(d) + A, d) > 0
    for i in range(d):
        want = {j for j in range(d) if reach[j, i] and j != i}
        assert graphs.ancestors(parents, [i]) == want
        below = {j for j in range(d) if reach[i, j] and j != i}
        assert graphs.descendants(parents, [i]) == below
    M = A | A.T | (A.astype(int) @ A.T > 0)
    np.fill_diagonal(M, False)
    assert graphs.moral_graph(parents) == [
        set(np.flatnonzero(row).tolist()) for row in M
    ]
    assert graphs.node_markov_blanket(parents, 0) == set(np.flatnonzero(M[0]).tolist())


@settings(max_examples=50, deadline=None)
@given(random_dags(), st.sampled_from(["min_fill", "min_weight", "min_degree"]))
def test_cliques_of_an_order(parents, heuristic):
    around = graphs.moral_graph(parents)
    sizes = [2 + i % 3 for i in range(len(parents))]
    before = [set(s) for s in around]
    order, cliques = graphs.elimination_order(around, sizes, heuristic)
    assert around == before and sorted(order) == list(range(len(parents)))
    left = [set(s) for s in around]
    for i, clique in zip(order, cliques, strict=True):
        assert clique == tuple(sorted(left[i] | {i}))
        if heuristic == "min_degree":
            there = [v for v in range(len(left)) if v in {*order[order.index(i) :]}]
            assert len(left[i]) == min(len(left[v]) for v in there)
        for a in left[i]:
            left[a] = (left[a] | left[i]) - {a, i}
    for i, above in enumerate(parents):  # every family is inside some clique
        assert any({i, *above} <= set(c) for c in cliques)


def test_a_chordal_graph_needs_no_fill():
    around = graphs.moral_graph([(), (0,), (1,), (2,)])
    _, cliques = graphs.elimination_order(around, [2] * 4, "min_fill")
    assert max(map(len, cliques)) == 2
    with pytest.raises(ValueError, match="heuristic must be"):
        graphs.elimination_order(around, [2] * 4, "best")


def test_cycles_are_shown():
    assert find_cycle([(), (0,), (1,)]) is None
    with pytest.raises(ValueError, match="cycle: a -> b -> c -> a"):
        graphs.topological_order([(2,), (0,), (1,)], "abc")
    with pytest.raises(ValueError, match="cycle: 1 -> 1"):
        graphs.topological_order([(), (1,)])
