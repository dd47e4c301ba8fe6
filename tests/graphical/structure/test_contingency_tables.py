"""Contingency tables against counting in a dictionary."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.graphical import (
    ContingencyTables,
)
from pansophy.graphical.structure.chow_liu import mutual_information_matrix
from pansophy.graphical.structure.contingency_tables import g_statistics
from pansophy.graphical.structure.structure_scores import DiscreteFamilyScores
from tests.graphical.small_tables import correlated_codes
from tests.oracles import network_learning as oracle


@given(st.integers(0, 10**6), st.booleans(), st.booleans())
@settings(max_examples=20)
def test_tables_are_those_of_a_dictionary(seed, holes, weighted):
    X, sizes = correlated_codes(seed, n=90)
    rng = np.random.default_rng(seed)
    X[rng.random(X.shape) < (0.2 if holes else 0)] = -1
    w = rng.integers(0, 4, len(X)) if weighted else None
    counts = ContingencyTables(X, sizes, w)
    np.testing.assert_array_equal(
        counts.table((3, 0, 1)), oracle.table(X, (3, 0, 1), sizes, w)
    )
    flat, offset, q = counts.tables_with_each(1, (0, 4), (3, 2))
    np.testing.assert_array_equal(
        counts.table((1, 2)), oracle.table(X, (1, 2), sizes, w)
    )  # once more, now that there are bits
    for k, z in enumerate((3, 2)):
        expected = oracle.table(X, (0, 4, 1, z), sizes, w)
        part = flat[offset[k] : offset[k] + expected.size]
        assert q == 4
        np.testing.assert_array_equal(part, expected.ravel())


def test_many_states_are_counted_by_those_that_occur():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 120, (300, 5))
    counts = ContingencyTables(X, (120,) * 5)
    flat, _, q = counts.tables_with_each(0, (1, 2, 3), (4,))
    assert q <= 300 and flat.sum() == 300
    small = (40, 40, 40, 40, 40)
    for kind in ("bdeu", "bic", "k2"):
        families = DiscreteFamilyScores(ContingencyTables(X % 40, small), kind)
        want = oracle.family_score(X % 40, 0, (1,), small, kind)
        assert families.score(0, (1,)) == pytest.approx(want, rel=1e-10)
        assert families.sparse(0, (1,)) == pytest.approx(want, rel=1e-10)
    Y = np.concatenate([X, X[:50], X[:50] + [1, 0, 0, 0, 0]])  # cells of 1 and 2 rows
    families = DiscreteFamilyScores(ContingencyTables(Y, (121,) * 5), "log_likelihood")
    want = 50 * (2 * np.log(2 / 3) + np.log(1 / 3))  # 250 other rows are alone
    assert families.score(0, (1, 2, 3)) == pytest.approx(want)
    with pytest.raises(ValueError, match="cut into bins"):
        ContingencyTables(
            np.arange(9000)[:, None].repeat(2, 1), (9000, 9000)
        ).tables_with_each(0, (), (1,))


def test_g_statistic_and_information():
    X, sizes = correlated_codes(4)
    counts = ContingencyTables(X, sizes)
    G, free = g_statistics(counts, 0, (4, 1), (2, 3))
    for k, z in enumerate((2, 3)):
        want = oracle.g_statistic(X, 0, z, (4, 1), sizes)
        assert (G[k], free[k]) == pytest.approx(want)
    info = mutual_information_matrix(counts)
    assert info[1, 3] == pytest.approx(
        oracle.g_statistic(X, 1, 3, (), sizes)[0] / (2 * len(X))
    )
    np.testing.assert_array_equal(info, info.T)
