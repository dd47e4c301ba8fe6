"""Sum-product, max-product and min-sum on trees."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

from pansophy.graphical import (
    FactorGraph,
    IsingGrid,
    MarkovRandomField,
    loopy_bp,
    max_product,
    min_sum,
    sum_product,
    to_factor_graph,
    tree_reweighted_bp,
)
from pansophy.graphical.inference.factors import Factor
from tests.graphical.random_factors import random_factors
from tests.oracles.factor_graphs import enumerate_graph

T = np.array([[2.0, 1.0], [1.0, 2.0]])
LOOP = {("a", "b"): T, ("b", "c"): T, ("c", "d"): T, ("d", "a"): T}
A = [[0.4, 0.6], [2 / 3, 1 / 3]]


def loop():
    """Four variables in a ring, Z = 164."""
    return MarkovRandomField(LOOP, {"a": [3, 1]})


def chain():
    """Five steps of a chain learned from A A B A B."""
    links = [((f"x{i}", f"x{i + 1}"), A) for i in range(1, 5)]
    states = {f"x{i}": ["A", "B"] for i in range(1, 6)}
    return FactorGraph(states, [("x1", [0.5, 0.5]), *links])


def made(sizes, factors):
    return FactorGraph(sizes, [([f"x{v}" for v in s], t) for s, t in factors])


def named(evidence):
    return {f"x{v}": c for v, c in evidence.items()}


@pytest.mark.parametrize(
    ("evidence", "b", "p"),
    [
        ({}, {"x2": 0.533333, "x3": 0.524444}, 1.0),
        (
            {"x5": "B"},
            {"x1": 0.497332, "x2": 0.543294, "x3": 0.487014, "x4": 0.667111},
            0.473817,
        ),
        ({"x1": "A", "x5": "A"}, {"x2": 0.391392, "x3": 0.593141}, 0.264356),
    ],
)
def test_chain(evidence, b, p):
    for root in ("x1", "x3", "x5"):
        out = sum_product(chain(), evidence, root=root)
        for name, value in b.items():
            assert out[name][0] == pytest.approx(value, abs=5e-7)
        totals = [u.sum() for u in out.unnormalised.values()]
        np.testing.assert_allclose(totals, math.exp(out.log_z), rtol=1e-12)
        assert math.exp(out.log_z) == pytest.approx(p, abs=5e-7)


def test_messages_are_kept():
    out = sum_product(chain(), {"x5": "B"})
    to_factor = {(m.factor, m.variable): m.to_factor for m in out.messages}
    to_variable = {(m.factor, m.variable): m.to_variable for m in out.messages}
    np.testing.assert_allclose(to_variable[4, "x4"], [0.6, 1 / 3])
    np.testing.assert_allclose(to_variable[3, "x3"], [0.44, 0.511111], atol=1e-6)
    np.testing.assert_allclose(to_factor[2, "x2"], [0.533333, 0.466667], atol=1e-6)


@pytest.mark.parametrize("solve", [max_product, min_sum])
def test_viterbi(solve):
    word = lambda out: "".join(out.states.values())
    free = solve(chain())
    assert word(free) in ("ABABA", "BABAB")
    assert math.exp(free.log_value) == pytest.approx(0.08)
    assert word(solve(chain(), {"x5": "B"})) == "BABAB"
    assert word(solve(chain(), {"x1": "A", "x5": "A"})) == "ABABA"


@settings(max_examples=40, deadline=None)
@given(random_factors())
def test_trees_equal_enumeration(case):
    sizes, factors, evidence, root = case
    graph = made(sizes, factors)
    z, marginals, best, top = enumerate_graph(sizes, factors, evidence)
    if z == 0:
        for solve in (sum_product, max_product, min_sum, loopy_bp):
            with pytest.raises(ValueError, match="probability 0"):
                solve(graph, named(evidence))
        return
    out = sum_product(graph, named(evidence), root=root)
    loopy = loopy_bp(graph, named(evidence), schedule="residual")
    assert out.log_z == pytest.approx(math.log(z), abs=1e-9)
    assert loopy.log_z == pytest.approx(math.log(z), abs=1e-6)
    for v, p in enumerate(marginals):
        np.testing.assert_allclose(out[v], p, atol=1e-10)
        np.testing.assert_allclose(loopy[v], p, atol=1e-6)
    for solve in (max_product, min_sum):
        found = solve(graph, named(evidence), root=root)
        assert tuple(found.states.values()) == best
        assert found.log_value == pytest.approx(math.log(top), abs=1e-9)


def test_long_chains_do_not_underflow():
    links = [((i, i + 1), [[1e-200, 1e-210], [1e-205, 1e-201]]) for i in range(3000)]
    graph = FactorGraph([2] * 3001, links)
    assert np.isfinite(sum_product(graph).log_z)
    a, b = max_product(graph), min_sum(graph)
    assert a.states == b.states and set(a.states.values()) == {0}
    assert a.log_value == pytest.approx(b.log_value)
    assert a.log_value == pytest.approx(3000 * math.log(1e-200))


def test_star_of_a_thousand_leaves():
    leaves = [(("hub", f"x{i}"), [[0.9, 0.1], [0.1, 0.9]]) for i in range(1000)]
    graph = FactorGraph({"hub": 2, **{f"x{i}": 2 for i in range(1000)}}, leaves)
    seen = {f"x{i}": int(i >= 499) for i in range(1000)}
    assert sum_product(graph, seen)["hub"][1] == pytest.approx(81 / 82)


def test_grid_by_messages():
    grid = IsingGrid((1, 6), coupling=0.7, field=[[0.1, -0.3, 0.2, 0.0, 0.5, -0.1]])
    out = sum_product(grid)
    assert out.log_z == pytest.approx(grid.log_partition())
    np.testing.assert_allclose([out[v][1] for v in out], grid.marginals()[0])


def test_conditioning_cuts_loops():
    out = sum_product(loop(), {"a": 0})
    p = loop().joint()
    order = [loop().space.number(v) for v in "abcd"]
    p = p.transpose(order)[0]
    np.testing.assert_allclose(out["c"], p.sum(axis=(0, 2)) / p.sum())


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: FactorGraph([2], [("x0", [1, 2, 3])]), ValueError, "shape"),
        (lambda: FactorGraph([2], [("x0", [1, -2])]), ValueError, "at least 0"),
        (lambda: FactorGraph([2], [("y", [1, 2])]), ValueError, "no variable"),
        (lambda: FactorGraph([2], [("x0", math.sin)]), TypeError, "table of numbers"),
        (lambda: FactorGraph([2], [math.sin]), TypeError, "builtin_function"),
        (lambda: FactorGraph({"a": ()}, []), ValueError, "discrete"),
        (lambda: to_factor_graph("words"), TypeError, "not of a str"),
        (lambda: sum_product(loop()), ValueError, "loops"),
        (lambda: sum_product(chain(), {"x9": "A"}), ValueError, "x9"),
        (lambda: sum_product(chain(), {"x1": "C"}), ValueError, "no state 'C'"),
        (lambda: loopy_bp(loop(), damping=1.0), ValueError, "damping"),
        (lambda: loopy_bp(loop(), schedule="random"), ValueError, "schedule"),
        (lambda: tree_reweighted_bp(
            FactorGraph([2] * 3, [((0, 1, 2), np.ones((2, 2, 2)))])),
         ValueError, "at most two"),
        (lambda: MarkovRandomField({("a", "b"): [1, 2]}).joint(), ValueError, "axes"),
        (lambda: MarkovRandomField([("a", "b")]).joint(), ValueError, "fit first"),
    ],
)  # fmt: skip
def test_bad_input(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_factors_given_in_any_order():
    table = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    graph = FactorGraph([2, 3], [Factor((1, 0), table)])
    np.testing.assert_allclose(sum_product(graph)["x0"], table.sum(axis=0) / 21)
    with pytest.raises(ValueError, match="at least one variable"):
        FactorGraph({}, [])
