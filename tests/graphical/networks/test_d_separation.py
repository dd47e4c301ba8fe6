"""d-separation: worked graphs, gates, paths, and what tables say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.distributions import mutual_information
from pansophy.graphical import d_separated, markov_blanket, path_gate
from tests.graphical.inference.test_exact_inference import small_networks
from tests.oracles import networks as slow

FIVE = [(1, 2), (1, 3), (2, 4), (3, 4), (3, 5), (4, 5)]


def test_five_node_graph():
    cases = [
        (2, 3, [], False),
        (2, 3, [1], True),
        (2, 3, [1, 4], False),
        (2, 3, [1, 5], False),
        (2, 5, [3, 4], True),
        (1, 4, [2, 3], True),
        (1, 4, [3], False),
        (1, 5, [3, 4], True),
        (1, 5, [3], False),
    ]
    for x, y, seen, separated in cases:
        assert bool(d_separated(FIVE, x, y, seen)) is separated
        assert bool(d_separated(FIVE, y, x, seen)) is separated
    blankets = {1: {2, 3}, 2: {1, 3, 4}, 3: {1, 2, 4, 5}, 4: {2, 3, 5}, 5: {3, 4}}
    for v, blanket in blankets.items():
        assert markov_blanket(FIVE, v) == blanket
        for other in set(blankets) - blanket - {v}:
            assert d_separated(FIVE, v, other, blanket)


def test_the_active_path_is_shown():
    found = d_separated(FIVE, 2, 3, [1, 5])
    assert found.path == (2, 4, 3)
    assert str(found) == "2 and 3 are connected given 1, 5: 2 -> 4 <- 3"
    assert str(d_separated(FIVE, 1, 4, [3])).endswith("1 -> 2 -> 4")
    assert d_separated(FIVE, 2, 3, [1]).path == ()
    assert not d_separated(FIVE, [1, 2], [5], [3])
    assert d_separated(FIVE, 2, 2, [2]) and not d_separated(FIVE, 2, 2)


def test_three_node_gates():
    chain, fork = [("a", "b"), ("b", "c")], [("b", "a"), ("b", "c")]
    collider = [("a", "b"), ("c", "b"), ("b", "e")]
    for edges, kind, unseen, seen in [
        (chain, "chain", True, False),
        (fork, "fork", True, False),
        (collider, "collider", False, True),
    ]:
        g = path_gate(edges, "a", "b", "c")
        assert (g.kind, bool(g)) == (kind, unseen)
        assert path_gate(edges, "a", "b", "c", given="b").open is seen
    assert path_gate(collider, "a", "b", "c", given="e").open  # a descendant opens it
    with pytest.raises(ValueError, match="not a path"):
        path_gate(chain, "b", "a", "c")


@settings(max_examples=60, deadline=None)
@given(small_networks(largest=5), st.integers(0, 2**20))
def test_agrees_with_every_path_and_with_information(case, seed):
    _, parents, sizes, tables = case
    rng = np.random.default_rng(seed)
    d = len(sizes)
    x, y, *rest = rng.permutation(d).tolist()
    seen = [v for v in rest if rng.random() < 0.4]
    edges = [(p, i) for i, above in enumerate(parents) for p in above]
    if not {x, y, *seen} <= {v for e in edges for v in e}:
        return
    found = d_separated(edges, x, y, seen)
    assert bool(found) is not slow.reachable(parents, x, y, seen)
    if not found:
        steps = zip(found.path, found.path[1:], strict=False)
        assert all(a in parents[b] or b in parents[a] for a, b in steps)
    sized = all(s > 1 for s in sizes)
    info = float(mutual_information(slow.joint(parents, tables, sizes), x, y, seen))
    assert info < 1e-12 or not found
    assert not sized or found or info > 1e-14


def test_bad_questions():
    with pytest.raises(ValueError, match="did you mean 'rain'"):
        d_separated([("rain", "wet")], "rian", "wet")
    with pytest.raises(ValueError, match=r"cycle: .* -> "):
        d_separated([("a", "b"), ("b", "c"), ("c", "a")], "a", "b")
    with pytest.raises(ValueError, match="pair"):
        d_separated([("a", "b", "c")], "a", "b")
