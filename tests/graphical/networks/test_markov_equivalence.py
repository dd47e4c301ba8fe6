"""Classes of graphs that no data can tell apart."""

from collections import defaultdict

import numpy as np
import pytest

from pansophy.graphical import (
    BayesianNetwork,
    all_dags,
    equivalence_class,
    markov_equivalent,
)
from pansophy.graphical.networks.dags import adjacency_matrix, edge_pairs
from pansophy.graphical.networks.markov_equivalence import (
    colliders,
    consistent_extension,
    cpdag,
    equivalent_dags,
)

CHAIN = [("a", "b"), ("b", "c")]
FORK = [("b", "a"), ("b", "c")]
BACK = [("c", "b"), ("b", "a")]
COLLIDER = [("a", "b"), ("c", "b")]


def test_chain_fork_and_reversed_chain_share_a_class_the_collider_is_alone():
    names = ("a", "b", "c")
    for graph in (CHAIN, FORK, BACK):
        found = equivalence_class(graph, names)
        assert len(found) == 3 and not found.directed
        assert all(other in found for other in (CHAIN, FORK, BACK))
        assert COLLIDER not in found
    alone = equivalence_class(COLLIDER, names)
    assert len(alone) == 1 and not alone.undirected
    assert markov_equivalent(CHAIN, BACK, names)
    assert not markov_equivalent(CHAIN, COLLIDER, names)


def test_the_warning_of_hidden_variables_is_printed(capsys):
    print(equivalence_class(CHAIN))
    text = capsys.readouterr().out
    assert "a -- b  (direction open)" in text
    assert "hidden variable" in text and "Warning" in text
    assert "no edges" in str(equivalence_class([(), ()]))


def test_networks_have_classes():
    tables = {"rain": [0.8, 0.2], "wet | rain": [[0.9, 0.1], [0.2, 0.8]]}
    found = equivalence_class(BayesianNetwork.from_tables(tables))
    assert found.undirected == [("rain", "wet")]


@pytest.mark.parametrize(("d", "classes"), [(2, 2), (3, 11), (4, 185)])
def test_patterns_and_members_of_all_small_graphs(d, classes):
    groups = defaultdict(list)
    for graph in all_dags(d):
        skeleton = frozenset(frozenset(e) for e in edge_pairs(graph))
        groups[skeleton, frozenset(colliders(graph))].append(graph)
    assert len(groups) == classes
    for graphs in groups.values():
        union = np.any([adjacency_matrix(g) for g in graphs], axis=0)
        assert all((cpdag(g) == union).all() for g in graphs)
        members = list(equivalent_dags(union))
        assert len(members) == len(graphs) and set(members) == set(graphs)
        assert consistent_extension(union) in graphs


def test_a_pattern_without_any_graph_has_no_extension():
    square = np.zeros((4, 4), dtype=bool)  # a cycle of lines without a chord
    for a, b in ((0, 1), (1, 2), (2, 3), (3, 0)):
        square[a, b] = square[b, a] = True
    assert consistent_extension(square) is None


def test_graphs_are_compared_by_name():
    assert not markov_equivalent([("a", "b")], [("b", "c")])
    chain = [("c", "b"), ("b", "a")]
    assert markov_equivalent([("a", "b"), ("b", "c")], chain)
    assert not markov_equivalent([("b", "a"), ("c", "a")], chain)
