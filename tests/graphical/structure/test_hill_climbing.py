"""Gains and legality of single-edge moves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.graphical import bic_score
from pansophy.graphical.networks.dags import adjacency_matrix, reachability_matrix
from pansophy.graphical.structure import hill_climbing
from pansophy.graphical.structure.contingency_tables import ContingencyTables
from pansophy.graphical.structure.hill_climbing import EdgeConstraints, MoveTable
from pansophy.graphical.structure.structure_scores import DiscreteFamilyScores
from tests.graphical.small_tables import correlated_bits


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_gains_are_differences_of_scores_and_moves_are_legal(seed):
    rng = np.random.default_rng(seed)
    X = correlated_bits(seed, d=5)
    families = DiscreteFamilyScores(ContingencyTables(X, (2,) * 5), "bic")
    none = np.zeros((5, 5), dtype=bool)
    board = MoveTable(families, EdgeConstraints(none, none, 3), [()] * 5)
    for _ in range(8):
        moves = board.moves()
        gains = board.gains(moves)
        i = int(rng.integers(len(gains)))
        before = bic_score(X, board.parents)
        board.apply(*hill_climbing.decode_move(moves, i))
        assert bic_score(X, board.parents) - before == pytest.approx(gains[i], abs=1e-8)
        assert board.score == pytest.approx(bic_score(X, board.parents))
        np.testing.assert_array_equal(
            board.R, reachability_matrix(adjacency_matrix(board.parents))
        )
        assert max(map(len, board.parents)) <= 3
