"""Multiway trees: nodes by hand, the same tree with two branches, pruning."""

import itertools

import numpy as np
import pytest
import scipy.stats

from pansophy.tree import multiway_tree
from pansophy.tree.multiway_tree import (
    MultiwayTree,
    as_binary_tree,
    collapse_multiway_nodes,
    grow_multiway_tree,
    is_sound_multiway_tree,
    nodes_cheaper_as_leaves,
    prune_pessimistic,
)

NAN = np.nan


def small_tree(**changes) -> MultiwayTree:
    """Column 0 by three levels (0, 1, 70); under level 1 column 1 at 2.5.

    Nodes: 0 root, 1 to 3 its levels, 4 and 5 the low and high side of node 2.
    """
    nodes = np.array([
        # parent, level, depth, feature, first child, how many
        [-1, 0, 0, 0, 1, 3],
        [0, 0, 1, -1, 0, 0],
        [0, 1, 1, 1, 4, 2],
        [0, 70, 1, -1, 0, 0],
        [2, 0, 2, -1, 0, 0],
        [2, 1, 2, -1, 0, 0],
    ])  # fmt: skip
    threshold = np.array([NAN, NAN, 2.5, NAN, NAN, NAN])
    counts = np.array([[6, 4], [3, 0], [2, 3], [1, 1], [2, 0], [0, 3.0]])
    arrays = {"nodes": nodes, "threshold": threshold, "counts": counts, "n_features": 2}
    return MultiwayTree(**{**arrays, **changes})


ROWS = np.array(
    [[0, 9], [70, 0], [1, 2.5], [1, 2.6], [1, NAN], [NAN, 1], [3, 1]], np.float32
)


def test_numbers_of_a_tree():
    t = small_tree()
    assert (t.node_count, t.n_leaves, t.max_depth) == (6, 4, 2)
    assert t.is_leaf.tolist() == [False, True, False, True, True, True]
    assert t.children(0).tolist() == [1, 2, 3] and t.children(1).tolist() == []
    assert t.feature.tolist() == [0, -1, 1, -1, -1, -1]
    assert t.weighted_n_node_samples.tolist() == [10, 3, 5, 2, 2, 3]
    np.testing.assert_allclose(t.value[0, 0], [0.6, 0.4])
    entropy = lambda p: scipy.stats.entropy(p, base=2)
    np.testing.assert_allclose(t.impurity, [entropy(c) for c in t.counts], atol=1e-15)


def test_rows_stop_where_nothing_is_known():
    # node 2 for a missing number, the root for missing and unknown levels
    assert small_tree().apply(ROWS).tolist() == [1, 3, 4, 5, 2, 0, 0]


def test_missing_values_go_down_every_branch():
    """Eq. (3): shares 3, 5 and 2 of ten; below, 2 and 3 of five."""
    t = small_tree()
    got = t.spread(ROWS)
    pure = [[1, 0], [0.5, 0.5], [1, 0], [0, 1]]
    np.testing.assert_allclose(got[:4], pure, atol=1e-12)
    np.testing.assert_allclose(got[4], [0.4, 0.6])
    low = 0.3 * np.array([1, 0]) + 0.5 * np.array([1, 0]) + 0.2 * np.array([0.5, 0.5])
    np.testing.assert_allclose(got[5], low)  # the second column is known: 1 <= 2.5


def test_importances():
    t = small_tree()
    W, H = t.weighted_n_node_samples, t.impurity
    total = W * H
    falls = np.array(
        [total[0] - total[[1, 2, 3]].sum(), total[2] - total[[4, 5]].sum()]
    )
    got = t.compute_feature_importances(normalize=False)
    np.testing.assert_allclose(got, falls / 10, rtol=1e-12)
    np.testing.assert_allclose(
        t.compute_feature_importances(), falls / falls.sum(), rtol=1e-12
    )


def test_forged_trees_are_unsound():
    t = small_tree()
    assert is_sound_multiway_tree(t)

    def forged(node, column, value):
        nodes = t.nodes.copy()
        nodes[node, column] = value
        return t._replace(nodes=nodes)

    for node, column, value in [
        (0, 3, -1),  # a split of no column
        (0, 3, 2),  # of a column that is not there
        (0, 4, 0),  # a node that is its own child
        (2, 4, 3),  # children of two nodes
        (2, 5, 3),  # three sides of a threshold
        (0, 5, 2),  # a node without parent
        (4, 0, 6),  # a parent that is not there
        (4, 2, 9),  # deeper than there are nodes
    ]:
        assert not is_sound_multiway_tree(forged(node, column, value)), (node, column)
    leaf = np.array([[-1, 0, 0, -1, 0, 0]])
    alone = MultiwayTree(leaf, np.array([NAN]), t.counts[:1], 2)
    assert is_sound_multiway_tree(alone)
    assert not is_sound_multiway_tree(t._replace(nodes=t.nodes[:0]))


def test_growing_by_levels_and_thresholds():
    """Column 0 has the larger gain; in its second level the number decides."""
    X = np.array([[0, 1], [0, 5], [1, 1], [1, 2], [1, 3], [1, 4]], np.float32)
    y = np.array([0, 0, 0, 0, 1, 1])
    t = grow_multiway_tree(X, [2, 0], y, None, 2)
    assert t.feature[0] in (0, 1) and t.n_features == 2
    assert (t.counts[t.apply(X)].argmax(axis=1) == y).all()
    assert t.counts[0].tolist() == [4, 2]
    heavy = grow_multiway_tree(X, [2, 0], y, np.full(6, 2.0), 2)
    assert heavy.counts[0].tolist() == [8, 4]
    stump = grow_multiway_tree(X, [2, 0], y, None, 2, max_depth=1)
    assert stump.max_depth == 1
    assert grow_multiway_tree(X, [2, 0], y, None, 2, min_split=7.0).node_count == 1
    # no gain at all: an eager tree splits by levels all the same
    xor = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    c = np.array([0, 1, 1, 0])
    assert grow_multiway_tree(xor, [2, 2], c, None, 2).n_leaves == 4
    assert grow_multiway_tree(xor, [2, 2], c, None, 2, eager=False).n_leaves == 1


def test_two_branches_give_the_same_answers():
    t = small_tree()
    b = as_binary_tree(t)
    assert b.splits_by_set and b.n_features == 2
    levels = np.array([*itertools.product([0, 1, 2, 6, 70], [1.0, 2.5, 3.0])])
    X = levels.astype(np.float32)
    want = t.value[t.apply(X), 0]
    np.testing.assert_allclose(b.predict(X)[:, 0], want)
    gone = ROWS[[4, 5]]
    assert b.predict(gone[1:]).ravel().tolist() == [0.6, 0.4]  # as the root does
    assert b.weighted_n_node_samples[0] == 10
    inner = b.children_left >= 0
    below = lambda side: b.weighted_n_node_samples[side[inner]]
    np.testing.assert_allclose(
        below(b.children_left) + below(b.children_right),
        b.weighted_n_node_samples[inner],
    )


def test_collapsed_nodes():
    t = small_tree()
    cut = np.zeros(6, bool)
    cut[2] = True
    got = collapse_multiway_nodes(t, cut)
    assert is_sound_multiway_tree(got)
    assert got.node_count == 4 and got.n_leaves == 3
    assert got.counts.tolist() == t.counts[:4].tolist()
    assert np.isnan(got.threshold).all()
    assert got.feature[2] == -1 and got.nodes[2, 4] == 0
    assert got.apply(ROWS).tolist() == [1, 3, 2, 2, 2, 0, 0]
    assert t.node_count == 6  # the tree given stays
    cut[0] = True
    root = collapse_multiway_nodes(t, cut)
    assert root.node_count == 1 and is_sound_multiway_tree(root)
    same = collapse_multiway_nodes(t, np.zeros(6, bool))
    np.testing.assert_array_equal(same.nodes, t.nodes)


def test_middle_nodes_are_renumbered():
    """Cutting node 1 moves its later siblings' children forward."""
    nodes = np.array([
        [-1, 0, 0, 0, 1, 2], [0, 0, 1, 1, 3, 2], [0, 1, 1, 1, 5, 2],
        [1, 0, 2, -1, 0, 0], [1, 1, 2, -1, 0, 0],
        [2, 0, 2, -1, 0, 0], [2, 1, 2, -1, 0, 0],
    ])  # fmt: skip
    counts = np.arange(14.0).reshape(7, 2)
    t = MultiwayTree(nodes, np.full(7, NAN), counts, 2)
    got = collapse_multiway_nodes(t, np.arange(7) == 1)
    assert is_sound_multiway_tree(got)
    assert got.children(2).tolist() == [3, 4] and got.parent.tolist() == [
        -1,
        0,
        0,
        2,
        2,
    ]
    assert got.counts[3:].tolist() == counts[5:].tolist()


def best_costs(children, alone, here, v=0):
    """The least cost of a subtree, by recursion, and the nodes to cut."""
    if not children[v]:
        return alone[v], set()
    below = [best_costs(children, alone, here, c) for c in children[v]]
    cost = here[v] + sum(c for c, _ in below)
    if alone[v] <= cost:
        return alone[v], {v}
    return cost, set().union(*(cut for _, cut in below))


def test_nodes_cheaper_as_leaves(rng):
    t = small_tree()
    children = [t.children(v).tolist() for v in range(6)]
    for _ in range(50):
        alone = rng.random(6) * [3, 1, 2, 1, 1, 1]
        here = np.where(t.is_leaf, 0.0, 0.2 * rng.random(6))
        mask = nodes_cheaper_as_leaves(t.parent, t.depth, t.is_leaf, alone, here)
        _, cut = best_costs(children, alone, here)
        found = set(np.flatnonzero(mask).tolist())
        if 0 in found:
            found = {0}  # a cut node hides the cuts below it
        assert found == cut


def test_a_leaf_that_costs_as_much_is_preferred():
    """Up to the rounding of sums."""
    t = small_tree()
    alone = np.array([9.0, 0.1, 0.3, 0.1, 0.1, 0.2])  # 0.1 + 0.2 is more than 0.3
    cut = nodes_cheaper_as_leaves(t.parent, t.depth, t.is_leaf, alone, np.zeros(6))
    assert np.flatnonzero(cut).tolist() == [2]
    alone[2] = np.nextafter(0.1 + 0.2, 1)
    cut = nodes_cheaper_as_leaves(t.parent, t.depth, t.is_leaf, alone, np.zeros(6))
    assert np.flatnonzero(cut).tolist() == [2]
    alone[2] = 0.3001
    cut = nodes_cheaper_as_leaves(t.parent, t.depth, t.is_leaf, alone, np.zeros(6))
    assert not cut.any()


def test_pruning_weighs_certain_leaves_against_few_rows():
    t = small_tree()
    # 0 of 2 and 0 of 3 wrong against 2 of 5: the split stays at a confidence of 0.5
    kept = prune_pessimistic(t, 0.5)
    assert kept.node_count == 6
    counts = t.counts.copy()
    counts[2], counts[4], counts[5] = [4, 1], [2, 0], [2, 1]
    useless = prune_pessimistic(t._replace(counts=counts), 0.25)
    assert useless.node_count < 6 and is_sound_multiway_tree(useless)


def test_pessimistic_limit():
    u = lambda e, n: multiway_tree.pessimistic_errors(e, n, 0.25) / n
    assert u(0, 6) == pytest.approx(0.206, abs=5e-4)
    assert u(0, 9) == pytest.approx(0.143, abs=5e-4)
    assert u(0, 1) == pytest.approx(0.750)
    assert u(5, 5) == 1.0
    from scipy.stats import binom

    assert binom.cdf(3, 20, u(3, 20)) == pytest.approx(0.25)
