"""K-d trees: the order and boxes of their nodes, and queries against all pairs."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.distances import kd_tree
from pansophy.distances._kd_tree import WIDE
from pansophy.distances.kd_tree import (
    LEAF,
    build_kd_tree,
    is_sound_kd_tree,
    kd_tree_of_queries,
    leaf_tasks,
    rounding_factor,
    tree_count_within,
    tree_k_nearest,
    tree_within,
    tree_within_blocks,
)
from tests.oracles import neighbors as oracle

SQUARED = (2, 2.0)


def normal_rows(n, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def squared_distances(Q, X):
    return ((Q[:, None, :] - X[None, :, :]) ** 2).sum(axis=-1)


def places(tree, level, node):
    """First and last place of a node, by the layout that `distances/_kd_tree.py`
    describes.
    """
    n = len(tree.order)
    return (n * node) >> level, (n * (node + 1)) >> level


@given(n=st.integers(1, 90), leaf=st.integers(1, 40), sort=st.booleans())
def test_nodes_of_a_tree(n, leaf, sort):
    X = normal_rows(n)
    tree = build_kd_tree(X, leaf, sort=sort)
    assert sorted(tree.order) == list(range(n))
    if not sort:
        assert (tree.order == np.arange(n)).all()
    np.testing.assert_array_equal(tree.XT[:, :n], X[tree.order].T)
    assert tree.XT.shape == (3, n + WIDE) and (tree.XT[:, n:] == 0).all()
    for level in range(tree.levels + 1):
        for node in range(1 << level):
            start, stop = places(tree, level, node)
            assert stop > start  # no node is empty
            own = X[tree.order[start:stop]]
            box = (1 << level) - 1 + node
            np.testing.assert_array_equal(tree.lo[box], own.min(axis=0))
            np.testing.assert_array_equal(tree.hi[box], own.max(axis=0))
            if level == tree.levels:
                # or one level more would leave nodes without rows
                assert stop - start <= leaf or 2 << tree.levels > n
            elif sort:
                widest = np.ptp(own, axis=0).argmax()
                _, middle = places(tree, level + 1, 2 * node)
                below = X[tree.order[start:middle], widest]
                above = X[tree.order[middle:stop], widest]
                assert below.max() <= above.min()
    assert is_sound_kd_tree(tree)
    # with one level less the leaves would be too large
    assert tree.levels == 0 or np.ceil(n / (1 << (tree.levels - 1))) > leaf


def test_a_large_tree_is_the_same_by_threads(monkeypatch):
    X = normal_rows(700, 2)
    one = build_kd_tree(X, 8)
    monkeypatch.setattr(kd_tree, "SMALL", 100)  # the top levels one by one
    other = build_kd_tree(X, 8)
    for a, b in zip(one, other):
        np.testing.assert_array_equal(a, b)


def test_the_rows_given_stay_as_they_are():
    X = normal_rows(50)
    before = X.copy()
    build_kd_tree(X, 4)
    np.testing.assert_array_equal(X, before)


def test_forged_trees_are_unsound():
    tree = build_kd_tree(normal_rows(40), 4)
    assert is_sound_kd_tree(tree)
    assert not is_sound_kd_tree(tree._replace(levels=tree.levels + 1))
    assert not is_sound_kd_tree(tree._replace(lo=tree.lo[:-1]))
    assert not is_sound_kd_tree(tree._replace(levels=7, lo=np.zeros((255, 3))))
    broken = tree.XT.copy()
    broken[0, 0] = np.nan
    assert not is_sound_kd_tree(tree._replace(XT=broken))


def test_trees_of_queries_are_as_fine_as_that_of_the_rows():
    X = normal_rows(320)
    tree = build_kd_tree(X, LEAF)
    assert kd_tree_of_queries(tree, None) is tree
    few = kd_tree_of_queries(tree, normal_rows(20, seed=1))
    assert len(few.order) == 20 and 20 / (1 << few.levels) <= 2  # 32 * 20 // 320
    many = kd_tree_of_queries(tree, normal_rows(1000, seed=1))
    assert 1000 / (1 << many.levels) <= LEAF


@pytest.mark.parametrize("n", [1, 5, 90])
@pytest.mark.parametrize("rows", [1, 7, 1024])
def test_tasks_cover_every_leaf_once(n, rows):
    tree = build_kd_tree(normal_rows(n), 4)
    spans = [task() for task in leaf_tasks(lambda a, b: (a, b), tree, rows)]
    assert spans[0][0] == 0 and spans[-1][1] == 1 << tree.levels
    assert all(a[1] == b[0] for a, b in pairwise(spans))
    assert (len(spans) == 1) == (rows >= n or tree.levels == 0)


def test_rounding_is_covered():
    double = build_kd_tree(normal_rows(5, 4), 4)
    eps = np.finfo(np.float64).eps
    assert rounding_factor(double) == 1 + 24 * eps
    single = build_kd_tree(normal_rows(5, 4).astype(np.float32), 4)
    assert rounding_factor(single).dtype == np.float32 and rounding_factor(single) > 1


@pytest.mark.parametrize("k", [1, 5, 30])
def test_nearest_rows(k):
    X, Q = normal_rows(150), normal_rows(23, seed=1)
    tree = build_kd_tree(X, 8)
    for asked in (Q, None):
        D = squared_distances(X if asked is None else asked, X)
        want, where = oracle.k_nearest(D, k, asked is None)
        got, at = tree_k_nearest(SQUARED, tree, asked, k)
        assert (at == where).all()
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_rows_within_a_radius_of_each_query():
    X, Q = normal_rows(150), normal_rows(23, seed=1)
    tree = build_kd_tree(X, 8)
    r = np.linspace(0, 4, 23)  # squared
    near = squared_distances(Q, X) <= r[:, None]
    ends, rows, far = tree_within(SQUARED, tree, Q, r)
    assert len(ends) == 24 and ends[0] == 0 and ends[-1] == len(rows) == near.sum()
    for i, (a, b) in enumerate(pairwise(ends)):
        assert sorted(rows[a:b]) == np.flatnonzero(near[i]).tolist()
        np.testing.assert_allclose(
            far[a:b], squared_distances(Q[i : i + 1], X)[0, rows[a:b]], rtol=1e-12
        )


def test_blocks_of_near_queries():
    X, Q = normal_rows(150), normal_rows(70, seed=1)
    tree = build_kd_tree(X, 8)
    r = np.linspace(0, 4, 70)
    near = squared_distances(Q, X) <= r[:, None]
    found = np.zeros_like(near)
    asked = []
    blocks = list(tree_within_blocks(SQUARED, tree, Q, r, 10))
    assert len(blocks) > 3
    for who, ends, rows, _ in blocks:
        assert len(who) == len(ends) - 1
        asked += who.tolist()
        for i, (a, b) in zip(who, pairwise(ends)):
            found[i, rows[a:b]] = True
    assert sorted(asked) == list(range(70)) and (found == near).all()


def test_counts_and_weights_within_a_radius(rng):
    X, Q = normal_rows(150), normal_rows(23, seed=1)
    tree = build_kd_tree(X, 8)
    r = np.linspace(0, 9, 23)
    near = squared_distances(Q, X) <= r[:, None]
    counts = np.zeros(23, np.int64)
    assert tree_count_within(SQUARED, tree, Q, r, None, counts) is counts
    assert (counts == near.sum(axis=1)).all()
    w = rng.random(150)
    sums = tree_count_within(SQUARED, tree, Q, r, w, np.zeros(23))
    np.testing.assert_allclose(sums, near @ w, rtol=1e-12, atol=1e-14)
