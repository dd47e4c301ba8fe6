"""Exact inference: elimination, junction tree and enumeration are one answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.graphical import (
    BayesianNetwork,
    ConditionalTable,
    Factor,
    JunctionTree,
    VariableSpace,
    alarm_network,
    enumerate_joint,
    random_network,
    sprinkler_network,
    student_network,
)
from pansophy.graphical.clique_tree import clique_tree
from pansophy.graphical.factors import (
    condition_factor,
    factor_product,
    make_factor,
    max_out,
    normalise_factor,
    sum_out,
)
from tests.oracles import networks as slow


@st.composite
def small_networks(draw, zeros=0.0, largest=6):
    d = draw(st.integers(2, largest))
    seed = draw(st.integers(0, 2**20))
    rng = np.random.default_rng(seed)
    sizes = tuple(int(s) for s in rng.integers(1, 4, d))
    rank = rng.permutation(d)
    parents = []
    for i in range(d):
        above = [int(j) for j in range(d) if rank[j] < rank[i] and rng.random() < 0.45]
        parents.append(tuple(rng.permutation(above[:3]).astype(int).tolist()))
    tables = slow.random_tables(rng, parents, sizes, zeros)
    return rng, parents, sizes, tables


def made(parents, sizes, tables, **params):
    nodes = [ConditionalTable(t) for t in tables]
    return BayesianNetwork.from_nodes(
        VariableSpace.of_sizes(sizes), parents, nodes, **params
    )


@settings(max_examples=40, deadline=None)
@given(small_networks(zeros=0.2))
def test_every_exact_method_equals_enumeration(case):
    rng, parents, sizes, tables = case
    d = len(sizes)
    network = made(parents, sizes, tables)
    names = network.space.names
    p = slow.joint(parents, tables, sizes)
    assert np.allclose(enumerate_joint(network).prob, p)
    some = rng.permutation(d).tolist()
    query = some[: int(rng.integers(1, min(3, d) + 1))]
    seen = {v: int(rng.integers(sizes[v])) for v in some[d // 2 :]}
    want, chance = slow.posterior(p, query, seen)
    told = {names[v]: c for v, c in seen.items()}
    asked = [names[v] for v in query]
    ways = [
        {"method": m} for m in ("auto", "elimination", "junction_tree", "enumeration")
    ]
    ways.append({"order": [names[v] for v in rng.permutation(d)]})
    if chance == 0:
        for way in ways[:4]:
            with pytest.raises(ValueError, match="has probability 0"):
                network.query(asked, told, **way)
        assert network.log_prob(told) == -np.inf
        return
    for way in ways:
        assert np.allclose(network.query(asked, told, **way).prob, want, atol=1e-12)
    assert np.isclose(np.exp(network.log_prob(told)), chance)
    tree = JunctionTree(network).observe(told)
    assert np.isclose(tree.log_evidence, np.log(chance))
    for v, marginal in enumerate(tree.marginals().values()):
        assert np.allclose(marginal, slow.posterior(p, [v], seen)[0])


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


@settings(max_examples=25, deadline=None)
@given(small_networks(largest=5))
def test_most_likely_equals_the_largest_cell(case):
    rng, parents, sizes, tables = case
    network = made(parents, sizes, tables)
    p = slow.joint(parents, tables, sizes)
    v = int(rng.integers(len(sizes)))
    code = int(rng.integers(sizes[v]))
    name = network.space.names[v]
    found = network.most_likely({name: code})
    at = tuple({**found.states, name: code}[n] for n in network.space.names)
    best = p.take([code], axis=v)
    assert np.isclose(p[at], best.max())
    assert np.isclose(found.log_prob, np.log(best.max() / best.sum()))


def test_soft_evidence_in_every_exact_method():
    network = sprinkler_network()
    p = enumerate_joint(network).prob * np.array([0.3, 0.9])[None, None, :, None]
    want = p.sum(axis=(1, 2, 3)) / p.sum()
    soft = {"rain": [0.3, 0.9]}
    for method in ("auto", "elimination", "junction_tree", "enumeration"):
        got = network.query("cloudy", likelihood=soft, method=method).prob
        assert np.allclose(got, want)
    assert np.allclose(
        JunctionTree(network).observe(likelihood=soft).marginal("cloudy").prob, want
    )
    near = network.query(
        "cloudy", likelihood=soft, method="likelihood_weighting", n_samples=40_000,
        random_state=0,
    )  # fmt: skip
    assert np.allclose(near.prob, want, atol=0.02)


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


def test_cost_is_known_before_and_kept_to():
    network = random_network(30, 60, states=(3, 3), reach=25, seed=4)
    cost = network.inference_cost("x5", ["x9", "x20"])
    program = network._engine().plan(network.space.numbers("x5"), (9, 20))
    assert cost.largest_table == np.diff(program.geometry[0]).max()
    assert cost.total == program.geometry[0][-1]
    assert "largest table" in str(cost) and f"{cost.largest_table:,}" in str(cost)
    assert network.inference_cost("x0").order == ()  # all below are barren
    orders = {
        h: network.inference_cost("x29", (), h) for h in ("min_weight", "min_degree")
    }
    assert all(c.largest_table >= 3 for c in orders.values())


def test_queries_beyond_the_limit_are_refused_with_the_number():
    network = random_network(30, 70, states=(3, 3), reach=25, seed=4)
    network.max_table = 100
    with pytest.raises(
        MemoryError, match=r"a table of [\d,]+ cells.*likelihood_weight"
    ):
        network.query("x29", {"x1": 0}, method="elimination")
    with pytest.raises(MemoryError, match="max_table"):
        JunctionTree(network, max_table=100)
    with pytest.raises(MemoryError, match="joint table"):
        enumerate_joint(random_network())


def test_large_networks_take_a_plan_for_each_question():
    network = random_network(60, 150, states=(2, 3), reach=12, seed=2)
    assert network._engine().full_tree is None
    want = JunctionTree(network).observe(x3=1, x40=0).marginal("x20").prob
    for method in ("auto", "elimination"):
        got = network.query("x20", {"x3": 1, "x40": 0}, method=method).prob
        assert np.allclose(got, want)


def test_thousand_features_do_not_underflow():
    rng = np.random.default_rng(0)
    table = rng.dirichlet([1.0] * 40, size=2)
    nodes = [ConditionalTable([0.5, 0.5]), *[ConditionalTable(table)] * 1000]
    space = VariableSpace.of_sizes([2] + [40] * 1000)
    network = BayesianNetwork.from_nodes(space, [(), *[(0,)] * 1000], nodes)
    codes = np.tile(rng.permutation(40), 25)
    seen = {f"x{i + 1}": int(c) for i, c in enumerate(codes)}
    log_p = np.log(table[:, codes]).sum(axis=1)
    want = 1 / (1 + np.exp(log_p[1] - log_p[0]))
    assert np.isclose(network.query("x0", seen).prob[0], want)
    assert np.isclose(network.log_prob(seen), np.logaddexp(*log_p) + np.log(0.5))


def test_factor_algebra():
    f = make_factor((1, 0), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    g = Factor((1, 2), np.arange(6.0).reshape(3, 2))
    h = factor_product([f, g])
    want = f.values[:, :, None] * g.values[None]
    assert h.variables == (0, 1, 2) and np.allclose(
        h.values * np.exp(h.log_scale), want
    )
    assert np.allclose(sum_out(f, [0]).values, f.values.sum(axis=0))
    assert np.allclose(max_out(f, [1]).values, f.values.max(axis=1))
    assert np.allclose(condition_factor(f, {1: 2}).values, [5.0, 6.0])
    unit, log_z = normalise_factor(f)
    assert np.isclose(unit.values.sum(), 1) and np.isclose(log_z, np.log(21))
    small = factor_product([Factor((0,), np.array([1e-300, 1e-300]))] * 5)
    assert np.isclose(small.log_scale, 5 * np.log(1e-300))
    with pytest.raises(ValueError, match="one axis for each"):
        make_factor((0, 1), [1.0, 2.0])


def test_clique_tree_of_a_given_order():
    scopes = [(0, 1), (1, 2), (2, 3)]
    tree = clique_tree(scopes, (2, 2, 2, 2), order=[1, 0, 2, 3])
    assert tree.largest == 8 and (0, 1, 2) in tree.cliques
    with pytest.raises(ValueError, match="order must hold every variable"):
        clique_tree(scopes, (2, 2, 2, 2), order=[0, 1])


def test_known_networks():
    assert np.isclose(sprinkler_network().query("rain", {"wet": True})[True], 0.7079277)
    assert np.isclose(
        sprinkler_network().query("sprinkler", {"wet": True})[True], 0.4297636
    )
    assert np.isclose(
        alarm_network().query("burglary", {"john": True, "mary": True})[True], 0.2841718
    )
    course = student_network()
    assert np.isclose(course.query("letter")["strong"], 0.502336)
    weak = course.query("intelligence", {"letter": "weak"})
    assert np.isclose(weak["high"], 0.1400222)
    assert course.query(["grade", "sat"]).prob.shape == (3, 2)
    assert course.query("grade").best == "A"
