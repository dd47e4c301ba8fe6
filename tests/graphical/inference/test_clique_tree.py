"""Clique trees of given elimination orders."""

import pytest

from pansophy.graphical.inference.clique_tree import clique_tree


def test_clique_tree_of_a_given_order():
    scopes = [(0, 1), (1, 2), (2, 3)]
    tree = clique_tree(scopes, (2, 2, 2, 2), order=[1, 0, 2, 3])
    assert tree.largest == 8 and (0, 1, 2) in tree.cliques
    with pytest.raises(ValueError, match="order must hold every variable"):
        clique_tree(scopes, (2, 2, 2, 2), order=[0, 1])
