"""Bounds of tree-reweighted propagation, mean field and cutset conditioning."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.graphical import (
    FactorGraph,
    IsingGrid,
    MarkovRandomField,
    cutset_conditioning,
    mean_field,
    tree_reweighted_bp,
)
from pansophy.graphical.tree_reweighted import edge_appearance_probabilities
from tests.oracles.factor_graphs import enumerate_graph

T = np.array([[2.0, 1.0], [1.0, 2.0]])
LOOP = {("a", "b"): T, ("b", "c"): T, ("c", "d"): T, ("d", "a"): T}


def loop():
    """Four variables in a ring, Z = 164."""
    return MarkovRandomField(LOOP, {"a": [3, 1]})


@st.composite
def graphs(draw, tree=True, top=6, zeros=True):
    """A random graph of factors of one to three variables, and its parts."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    d = int(rng.integers(1, top + 1))
    sizes = tuple(int(s) for s in rng.integers(1, 4, d))
    scopes, done = [], [0]
    while len(done) < d:  # a new factor joins one old variable and one or two new ones
        new = list(range(len(done), min(d, len(done) + int(rng.integers(1, 3)))))
        scopes.append((int(rng.choice(done)), *new))
        done += new
    scopes += [(int(v),) for v in rng.integers(0, d, int(rng.integers(0, 3)))]
    if not tree and d > 2:
        some = rng.choice(d, (2, 2), replace=True)
        scopes += [tuple(int(v) for v in p) for p in some if p[0] != p[1]]
    factors = []
    for scope in scopes:
        scope = tuple(rng.permutation(scope).tolist())
        table = rng.gamma(1.0, size=[sizes[v] for v in scope])
        if zeros and rng.random() < 0.3:
            table[rng.random(table.shape) < 0.2] = 0.0
        factors.append((scope, table))
    v = int(rng.integers(0, d))
    evidence = {v: int(rng.integers(0, sizes[v]))} if rng.random() < 0.5 else {}
    return sizes, factors, evidence, int(rng.integers(0, d))


def made(sizes, factors):
    return FactorGraph(sizes, [([f"x{v}" for v in s], t) for s, t in factors])


def named(evidence):
    return {f"x{v}": c for v, c in evidence.items()}


def test_bounds():
    field = loop()
    upper = tree_reweighted_bp(field)
    assert upper.converged
    lower = mean_field(field)[1]
    assert lower <= math.log(164) <= upper.log_z <= math.log(164) + 0.1
    assert edge_appearance_probabilities(
        4, [(0, 1), (1, 2), (2, 3), (3, 0)]
    ).sum() == pytest.approx(3)
    many = edge_appearance_probabilities(1600, IsingGrid((40, 40)).pairs)
    assert (many > 0).all() and many.sum() == pytest.approx(1599, rel=1e-3)


@settings(max_examples=25, deadline=None)
@given(graphs(tree=False, zeros=False))
def test_loops(case):
    sizes, factors, evidence, _ = case
    graph = made(sizes, factors)
    z, marginals, best, _ = enumerate_graph(sizes, factors, evidence)
    out = cutset_conditioning(graph, named(evidence))
    assert out.log_z == pytest.approx(math.log(z), abs=1e-9)
    assert out.weights.sum() == pytest.approx(z)
    assert tuple(out.best.states.values()) == best
    for v, p in enumerate(marginals):
        np.testing.assert_allclose(out[f"x{v}"], p, atol=1e-10)
    assert mean_field(graph, named(evidence))[1] <= math.log(z) + 1e-9
    if all(len(scope) <= 2 for scope, _ in factors):
        upper = tree_reweighted_bp(graph, named(evidence))
        assert upper.log_z >= math.log(z) - 1e-6
        if graph.is_tree:
            assert upper.log_z == pytest.approx(math.log(z), abs=1e-6)
    factors = [*factors, ((0,), np.ones(sizes[0]))]
    graph = made(sizes, factors)
    scaled = made(sizes, [(factors[0][0], 7 * factors[0][1]), *factors[1:]])
    np.testing.assert_allclose(scaled.joint(), graph.joint(), atol=1e-12)
    gain = scaled.log_partition() - graph.log_partition()
    assert gain == pytest.approx(math.log(7), abs=1e-9)
