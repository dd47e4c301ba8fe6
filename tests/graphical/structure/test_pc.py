"""The PC algorithm on strong networks, numbers and contradictions."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

from pansophy.graphical import (
    PC,
    markov_equivalent,
)
from pansophy.graphical.structure.pc import orient_edges
from tests.graphical.structure.test_structure_search import STRONG, strong
from tests.oracles import network_learning as oracle


def test_pc_recovers_a_strong_network():
    X = strong(4000)
    model = PC(alpha=0.001).fit(X)
    assert markov_equivalent(model.parents_, STRONG)
    assert ("x0", "x2") in model.class_.directed
    assert model.separators_["x0", "x1"] == ()
    assert model.separators_["x3", "x4"] == ("x2",)
    p = model.p_values_["x3", "x4"]
    assert p == pytest.approx(chi2.sf(*oracle.g_statistic(X, 3, 4, (2,), (3,) * 5)))
    assert model.network_.parents == model.parents_ and model.converged_


def test_pc_does_not_depend_on_the_order_of_columns():
    X = strong(300, seed=3)
    base = PC().fit(dict(zip("abcde", X.T, strict=True)))
    other = PC().fit({k: X[:, "abcde".index(k)] for k in "edbca"})
    assert sorted(base.class_.directed) == sorted(other.class_.directed)
    lines = lambda m: {frozenset(e) for e in m.class_.undirected}
    assert lines(base) == lines(other)


def test_pc_for_numbers_and_weights():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500))
    c = a - b + 0.5 * rng.normal(size=500)
    X = np.column_stack([a, b, c, 2 * c + rng.normal(size=500)])
    model = PC(alpha=0.01, test="fisher_z").fit(X)
    assert model.parents_ == ((), (), (0, 1), (2,))
    Y, w = strong(300), np.arange(300) % 3
    one, two = PC().fit(Y, sample_weight=w), PC().fit(np.repeat(Y, w, axis=0))
    np.testing.assert_array_equal(one.class_.pattern, two.class_.pattern)


def test_pc_limits_and_contradictions():
    model = PC(max_given=0).fit(strong(500))
    assert model.n_iter_ == 1 and all(s == () for s in model.separators_.values())
    joined = np.zeros((4, 4), dtype=bool)  # a path whose ends both want the middle edge
    for a, b in ((0, 1), (1, 2), (2, 3)):
        joined[a, b] = joined[b, a] = True
    apart = dict.fromkeys(combinations(range(4), 2), (1.0, ()))
    pattern = orient_edges(joined, apart)
    assert pattern[1, 2] and pattern[2, 1]  # turned both ways: no arrow
