"""Variable elimination: enumeration, soft evidence, a limit that is named."""

import numpy as np
import pytest
from hypothesis import given, settings

from pansophy.graphical import (
    JunctionTree,
    enumerate_joint,
    random_network,
    sprinkler_network,
)
from tests.graphical.small_networks import made, small_networks
from tests.oracles import networks as slow


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
