"""Graph cuts: the global minimum against enumeration and SciPy's maximum flow."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from pansophy.graphical import (
    FactorGraph,
    alpha_expansion,
    binary_cut,
    graph_cut,
)
from pansophy.graphical.fields.transfer_matrix import neighbor_pairs


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_global_minimum(seed):
    rng = np.random.default_rng(seed)
    height, width = rng.integers(1, 4, 2)
    n = height * width
    pairs = neighbor_pairs(height, width)
    if n > 2:
        more = [rng.choice(n, 2, replace=False) for _ in range(3)]
        pairs = np.concatenate([pairs, more])
    c, t = 2 * rng.normal(size=(n, 2)), rng.normal(size=(len(pairs), 2, 2))
    if seed % 2:
        c, t = c.round(), t.round()
    gap = t[:, 0, 1] + t[:, 1, 0] - t[:, 0, 0] - t[:, 1, 1]
    t[:, 0, 1] += np.maximum(-gap, 0)
    cut = binary_cut(c, pairs, t)
    X = np.array(list(itertools.product((0, 1), repeat=n)))
    E = c[np.arange(n), X].sum(axis=1)
    m = np.arange(len(pairs))
    E = E + t[m, X[:, pairs[:, 0]], X[:, pairs[:, 1]]].sum(axis=1)
    assert cut.energy == pytest.approx(E.min(), abs=1e-9)


def test_flow_of_a_larger_grid():
    rng = np.random.default_rng(0)
    side = 40
    n, pairs = side * side, neighbor_pairs(side, side)
    c = np.zeros((n, 2))
    c[:, 1] = rng.integers(-6, 7, n)
    w = rng.integers(0, 4, len(pairs))
    t = np.zeros((len(pairs), 2, 2))
    t[:, 0, 1] = t[:, 1, 0] = w
    cut = binary_cut(c, pairs, t)
    source, sink = np.flatnonzero(c[:, 1] > 0), np.flatnonzero(c[:, 1] < 0)
    rows = np.concatenate([*pairs.T, np.full(len(source), n), sink])
    cols = np.concatenate([*pairs.T[::-1], source, np.full(len(sink), n + 1)])
    room = np.concatenate([w, w, c[source, 1], -c[sink, 1]]).astype(np.int32)
    flow = maximum_flow(csr_array((room, (rows, cols)), shape=(n + 2, n + 2)), n, n + 1)
    assert cut.energy == flow.flow_value + c[sink, 1].sum()


def test_factor_graph():
    agree = [[3.0, 1.0], [0.5, 2.0]]
    graph = FactorGraph(
        {"a": ["no", "yes"], "b": ["no", "yes"]},
        [("a", [1.0, 4.0]), (("b", "a"), agree), ("b", [1.5, 1.0])],
    )
    cut = graph_cut(graph)
    joint = graph.joint() * np.exp(graph.log_partition())
    assert np.exp(-cut.energy) == pytest.approx(joint.max())
    best = np.unravel_index(joint.argmax(), joint.shape)
    assert list(cut.labels.values()) == [("no", "yes")[k] for k in best]


def test_alpha_expansion():
    rng = np.random.default_rng(0)
    pairs = neighbor_pairs(2, 4)
    for _ in range(10):
        c, w = rng.normal(size=(8, 3)), rng.random(len(pairs))
        cut = alpha_expansion(c, pairs, w)
        X = np.array(list(itertools.product(range(3), repeat=8)))
        E = c[np.arange(8), X].sum(axis=1)
        E = E + ((X[:, pairs[:, 0]] != X[:, pairs[:, 1]]) * w).sum(axis=1)
        low = c.min(axis=1).sum()
        assert E.min() - 1e-9 <= cut.energy <= 2 * (E.min() - low) + low + 1e-9


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda: binary_cut(np.zeros((2, 2)), [[0, 1]], np.eye(2)), "submodular"),
        (lambda: binary_cut(np.zeros((2, 3)), [[0, 1]], np.eye(2)), "unary"),
        (lambda: binary_cut(np.zeros((2, 2)), [[0, 2]], 1 - np.eye(2)), "0 to 1"),
        (lambda: binary_cut(np.zeros((2, 2)), [[0, 0]], 1 - np.eye(2)), "different"),
        (lambda: binary_cut(np.zeros((2, 2)), [[0, 1]], np.ones(3)), "tables"),
        (lambda: binary_cut(np.zeros((2, 2)), [[0, 0.5]], np.eye(2)), "whole numbers"),
        (lambda: alpha_expansion(np.zeros(3), [[0, 1]], 1.0), "unary"),
        (lambda: alpha_expansion(np.eye(3), [[0, 1]], 1.0, start=[0, 3, 0]), "start"),
        (lambda: binary_cut([[0, np.nan]], [], np.ones((0, 2, 2))), "finite"),
        (lambda: alpha_expansion(np.zeros((2, 3)), [[0, 1]], -1.0), "negative"),
        (lambda: graph_cut(FactorGraph([3], [("x0", [1, 1, 1])])), "two states"),
        (lambda: graph_cut(FactorGraph([2], [("x0", [1, 0])])), "zeros"),
        (
            lambda: graph_cut(FactorGraph([2] * 3, [((0, 1, 2), np.ones((2, 2, 2)))])),
            "at most two",
        ),
    ],
)
def test_bad_input(use, words):
    with pytest.raises(ValueError, match=words):
        use()
