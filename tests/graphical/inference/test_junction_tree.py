"""Junction trees: calibration, chains and evidence."""

import numpy as np
import pytest
from hypothesis import given, settings

from pansophy.graphical import (
    BayesianNetwork,
    ConditionalTable,
    JunctionTree,
    VariableSpace,
    alarm_network,
    sprinkler_network,
)
from pansophy.graphical.inference.factors import (
    sum_out,
)
from tests.graphical.small_networks import made, network_of_five, small_networks


@settings(max_examples=25, deadline=None)
@given(small_networks(zeros=0.1))
def test_neighbouring_cliques_agree_on_their_separator(case):
    _, parents, sizes, tables = case
    tree = JunctionTree(made(parents, sizes, tables), heuristic="min_weight")
    beliefs = tree.beliefs()
    for e, (a, b) in enumerate(tree.edges):
        shared = set(tree.tree.separator(e))
        both = [sum_out(beliefs[c], set(beliefs[c].variables) - shared) for c in (a, b)]
        assert np.allclose(both[0].values, both[1].values)
    for c in tree.cliques:  # running intersection: each variable's cliques connect
        assert len(c) == len(set(c))
    for v in range(len(sizes)):
        holding = [k for k, c in enumerate(tree.tree.cliques) if v in c]
        inside = [e for e in tree.edges if set(e) <= set(holding)]
        assert len(inside) == len(holding) - 1


def test_junction_tree_of_a_chain_is_forward_backward():
    rng = np.random.default_rng(3)
    T, k = 7, 3
    start, A = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), size=k)
    B = rng.dirichlet(np.ones(2), size=k)
    seen = rng.integers(0, 2, T)
    parents = [() if t == 0 else (t - 1,) for t in range(T)] + [(t,) for t in range(T)]
    nodes = [
        ConditionalTable(start),
        *[ConditionalTable(A)] * (T - 1),
        *[ConditionalTable(B)] * T,
    ]
    space = VariableSpace.of_sizes([k] * T + [2] * T)
    tree = JunctionTree(BayesianNetwork.from_nodes(space, parents, nodes))
    tree.observe({f"x{T + t}": int(seen[t]) for t in range(T)})
    alpha, beta = [start * B[:, seen[0]]], [np.ones(k)]
    for t in range(1, T):
        alpha.append((alpha[-1] @ A) * B[:, seen[t]])
        beta.append(A @ (beta[-1] * B[:, seen[T - t]]))
    for t in range(T):
        gamma = alpha[t] * beta[T - 1 - t]
        assert np.allclose(tree.marginal(f"x{t}").prob, gamma / gamma.sum())
    assert np.isclose(tree.log_evidence, np.log(alpha[-1].sum()))


def test_evidence_one_piece_at_a_time():
    tree = JunctionTree(alarm_network())
    tree.observe(john=True)
    assert np.isclose(tree.marginal("burglary").prob[1], 0.0162837, atol=1e-7)
    tree.observe(mary=True)
    assert np.isclose(tree.marginal("burglary").prob[1], 0.2841718, atol=1e-7)
    with pytest.raises(ValueError, match="probability 0"):
        JunctionTree(sprinkler_network()).observe(sprinkler=False, rain=False, wet=True)
    assert np.isclose(tree.reset().marginal("burglary").prob[1], 0.001)


def test_junction_tree_reads_factors_without_names():
    network = network_of_five()
    plain = JunctionTree(network.factors())
    assert np.allclose(plain.marginal(3).prob, network.query("4").prob)
