"""Grown trees: rows by hand through five nodes, both ways of missing values, sums."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.tree as peer_trees
from sklearn import datasets

from pansophy.tree import DecisionTreeClassifier, DecisionTreeRegressor
from pansophy.tree.growing._structures import UNASKED
from pansophy.tree.storage import tree as module
from pansophy.tree.storage.tree import (
    Tree,
    is_sound_tree,
    map_dense_blocks,
    resolve_missing_sides,
    round_down_float32,
)
from tests.tree.small_trees import code_set, small_tree

NAN = np.nan
# leaves: 1 if x1 <= 0.5, else 3 if x0 <= -1 or missing, else 4; x1 missing goes right
ROWS = np.array(
    [[0, 0.5], [-9, 0.4], [-1, 0.6], [0, 0.6], [NAN, 2], [0, NAN], [NAN, NAN]],
    np.float32,
)
LEAVES = [1, 1, 3, 4, 3, 4, 3]


def test_rows_go_to_their_leaves(monkeypatch):
    t = small_tree()
    assert t.apply(ROWS).tolist() == LEAVES
    assert t.predict(ROWS).shape == (7, 1, 1)
    assert t.predict(ROWS).ravel().tolist() == [1, 1, 6, 4, 6, 4, 6]
    monkeypatch.setattr(module, "BLOCK", 2)  # by several threads
    assert t.apply(ROWS).tolist() == LEAVES


def test_numbers_of_a_tree():
    t = small_tree()
    assert (t.node_count, t.n_leaves, t.max_depth, t.capacity) == (5, 3, 2, 5)
    assert (t.n_outputs, t.max_n_classes, t.n_classes.tolist()) == (1, 1, [1])
    depth, parent = t.places
    assert depth.tolist() == [0, 1, 1, 2, 2] and parent[1:].tolist() == [0, 0, 2, 2]
    assert str(t) == "a tree of 5 nodes, 3 of them leaves"


def test_paths():
    path = small_tree().decision_path(ROWS).toarray()
    assert path.dtype == np.int64
    assert path[0].tolist() == [1, 1, 0, 0, 0] and path[2].tolist() == [1, 0, 1, 1, 0]
    assert (path.sum(axis=1) == [2, 2, 3, 3, 3, 3, 3]).all()


def test_sets_of_codes():
    sets = np.zeros((5, 4), np.uint64)
    sets[2] = code_set(0, 3, 64, 255)
    threshold = np.array([0.5, -2, NAN, -2, -2])
    t = small_tree(sets=sets, threshold=threshold)
    codes = np.array([0, 1, 3, 63, 64, 128, 255, NAN], np.float32)
    X = np.stack([codes, np.ones(8, np.float32)], axis=1)
    assert t.splits_by_set
    assert t.apply(X).tolist() == [3, 4, 3, 4, 3, 4, 3, 3]
    assert "splits by set: use pansophy.tree.shap_values" in str(t)
    with pytest.raises(TypeError, match=r"use pansophy\.tree\.export_text"):
        _ = t.n_classes
    assert not small_tree(sets=np.zeros((5, 4), np.uint64)).splits_by_set


def test_missing_values_go_both_ways():
    """Eq. (1): shares of the training weight, 4/10 and 6/10, then 1/6 and 5/6."""
    t = small_tree()
    value = np.array([0.0, 10.0, 0.0, 200.0, 3000.0])
    got = t.spread(ROWS, value)
    right = (200 + 5 * 3000) / 6
    want = [10, 10, 200, 3000, right, 0.4 * 10 + 0.6 * 3000, 0.4 * 10 + 0.6 * right]
    np.testing.assert_allclose(got, want, rtol=1e-12)
    pairs = t.spread(ROWS, np.stack([value, -value], axis=1))
    np.testing.assert_allclose(pairs, np.stack([got, -got], axis=1), rtol=1e-12)


def test_partial_dependence_is_added():
    t = small_tree()
    out = np.ones(2)
    t.compute_partial_dependence(np.array([[-2.0], [0.0]]), np.array([0]), out)
    # x1 is not known: 0.4 of the weight at 1.0, and 6.0 or 4.0 of the rest
    np.testing.assert_allclose(out, [1 + 0.4 + 0.6 * 6, 1 + 0.4 + 0.6 * 4])


def test_importances():
    t = small_tree()
    # weighted impurity: 30 at the root, 4 and 12 below it; of these 0 and 2.5
    falls = np.array([12 - 2.5, 30 - 4 - 12]) / 10
    got = t.compute_feature_importances(normalize=False)
    np.testing.assert_allclose(got, falls, rtol=1e-12)
    np.testing.assert_allclose(
        t.compute_feature_importances(), falls / falls.sum(), rtol=1e-12
    )
    flat = small_tree(impurity=np.zeros(5))
    assert flat.compute_feature_importances().tolist() == [0.0, 0.0]


def test_thresholds_are_rounded_down():
    """x <= t and x <= round_down(t) are the same for every float32 x."""
    above = np.float32(0.1)  # more than 0.1
    assert float(above) > 0.1
    low = round_down_float32(np.array([0.1, 0.5, -0.1, np.inf, -np.inf]))
    assert low.dtype == np.float32
    assert low[0] == np.nextafter(above, np.float32(-np.inf)) < 0.1
    assert low[1:].tolist() == [0.5, -np.float32(0.1), np.inf, -np.inf]
    t = small_tree(threshold=np.array([0.1, -2, -1, -2, -2]))
    assert t.apply(np.array([[0, above]], np.float32)).tolist() == [4]


def test_sides_of_missing_values():
    left, right = np.array([1, -1, 3, -1, -1]), np.array([2, -1, 4, -1, -1])
    weight = np.array([10.0, 4, 6, 5, 1])
    sides = lambda *asked: resolve_missing_sides(
        np.array(asked), left, right, weight
    ).tolist()
    U = UNASKED
    assert sides(U, U, U, U, U) == [False, False, True, False, False]  # the heavier
    assert sides(1, 1, 0, 0, 0) == [True, False, False, False, False]  # as learned


def test_forged_trees_are_unsound():
    t = small_tree()
    assert is_sound_tree(t)
    assert not is_sound_tree(t._replace(feature=np.array([-2, -2, 0, -2, -2])))
    assert not is_sound_tree(t._replace(children_left=np.array([1, -1, 0, -1, -1])))
    assert not is_sound_tree(t._replace(children_right=np.array([2, -1, -1, -1, -1])))


def test_blocks_of_sparse_rows():
    X = sp.random_array((7, 3), density=0.5, random_state=0, format="csc")
    sizes = []

    def double(rows):
        sizes.append(len(rows))
        return 2 * rows

    got = map_dense_blocks(X, double, values=6)
    np.testing.assert_array_equal(got, 2 * X.toarray())
    assert sizes == [2, 2, 2, 1]
    dense = X.toarray()
    assert map_dense_blocks(dense, lambda rows: rows) is dense


def test_classes_of_several_outputs():
    value = np.zeros((5, 2, 3))
    value[:, 0, :2], value[:, 1, :3] = 0.5, 1 / 3
    t = small_tree()._replace(value=value)
    assert t.n_classes.tolist() == [2, 3] and t.n_outputs == 2


def test_a_tree_is_copied_and_pickled_by_its_own_type():
    X, y = datasets.load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor(max_depth=3).fit(X, y)
    assert isinstance(model.tree_, peer_trees._tree.Tree)
    for tree in (pickle.loads(pickle.dumps(model.tree_)), copy.deepcopy(model.tree_)):
        assert type(tree) is Tree
        np.testing.assert_array_equal(tree.value, model.tree_.value)
    assert type(copy.copy(model.tree_)) is Tree
    assert "7 nodes" in str(DecisionTreeRegressor(max_depth=2).fit(X, y).tree_)


def test_the_low_level_tree_takes_sparse_rows_and_knows_its_classes():
    X, y = datasets.load_iris(return_X_y=True)
    X = np.where(X < 2, 0, X).astype(np.float32)
    for cls in (DecisionTreeClassifier, DecisionTreeRegressor):
        tree = cls(max_depth=4).fit(X, y).tree_
        for rows in (sp.csr_matrix(X), sp.csr_array(X), sp.csc_matrix(X)):
            np.testing.assert_array_equal(tree.apply(rows), tree.apply(X))
            np.testing.assert_array_equal(tree.predict(rows), tree.predict(X))
            path = tree.decision_path(rows)
            assert (path != tree.decision_path(X)).nnz == 0
        assert tree.n_classes.tolist() == [3 if cls is DecisionTreeClassifier else 1]
        assert tree.capacity == tree.node_count
