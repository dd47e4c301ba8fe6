"""Bounds of tree-reweighted propagation, mean field and cutset conditioning."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

from pansophy.graphical import (
    FactorGraph,
    IsingGrid,
    MarkovRandomField,
    cutset_conditioning,
    mean_field,
    tree_reweighted_bp,
)
from pansophy.graphical.inference.tree_reweighted import edge_appearance_probabilities
from tests.graphical.random_factors import random_factors
from tests.oracles.factor_graphs import enumerate_graph

T = np.array([[2.0, 1.0], [1.0, 2.0]])
LOOP = {("a", "b"): T, ("b", "c"): T, ("c", "d"): T, ("d", "a"): T}


def loop():
    """Four variables in a ring, Z = 164."""
    return MarkovRandomField(LOOP, {"a": [3, 1]})


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
@given(random_factors(tree=False, zeros=False))
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
