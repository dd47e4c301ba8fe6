"""Held-out costs of nodes against sums over the rows that pass them."""

import numpy as np
import pytest

from pansophy import datasets
from pansophy.tree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    DirectionalTreeRegressor,
    ID3Classifier,
    prune_reduced_error,
)
from pansophy.tree.pruning import held_out_cost
from pansophy.tree.pruning.held_out_cost import (
    held_out_costs,
    label_row_codes,
    leaf_mask,
    single_path_tree,
    sums_of_subtrees,
)
from tests.tree.small_trees import small_tree


def passing_rows(tree, X):
    """By node the rows that pass it, and those that stop there."""
    path = tree.decision_path(X).toarray().astype(bool)
    stop = tree.apply(X)
    return path, stop[:, None] == np.arange(tree.node_count)


def test_costs_of_classes(rng):
    X, w = rng.normal(size=(90, 3)).astype(np.float32), rng.random(90)
    y = rng.choice(["a", "b", "c"], 90)
    model = DecisionTreeClassifier(max_depth=4).fit(X[:50], y[:50])
    tree = model.tree_
    said = model.classes_[tree.value[:, 0].argmax(axis=1)]
    alone, here, total = held_out_costs(model, X, y, w)
    path, stop = passing_rows(tree, X)
    for v in range(tree.node_count):
        wrong = w * (y != said[v])
        assert alone[v] == pytest.approx(wrong[path[:, v]].sum())
        assert here[v] == pytest.approx(wrong[stop[:, v]].sum())
    assert total == pytest.approx(w.sum())
    assert (here[~leaf_mask(tree)] == 0).all()


def test_costs_of_numbers(rng):
    """Squared errors in units of the spread of each output, over their number."""
    X, w = rng.normal(size=(90, 3)).astype(np.float32), rng.random(90)
    Y = rng.normal(size=(90, 2)) * [1, 50] + 1000
    model = DecisionTreeRegressor(max_depth=4).fit(X[:50], Y[:50])
    alone, here, total = held_out_costs(model, X, Y, w)
    assert total == 1.0
    spread = w @ (Y - np.average(Y, axis=0, weights=w)) ** 2
    path, stop = passing_rows(model.tree_, X)
    for v in range(model.tree_.node_count):
        cost = w * (((Y - model.tree_.value[v, :, 0]) ** 2) / spread).mean(axis=1)
        assert alone[v] == pytest.approx(cost[path[:, v]].sum())
        assert here[v] == pytest.approx(cost[stop[:, v]].sum())


def test_costs_of_angles(rng):
    X = rng.normal(size=(80, 2)).astype(np.float32)
    y = np.mod(90 * X[:, 0] + 20 * rng.normal(size=80), 360)
    w = rng.random(80)
    model = DirectionalTreeRegressor(period=360.0, max_depth=3).fit(X[:50], y[:50])
    alone, here, total = held_out_costs(model, X, y, w)
    path, _ = passing_rows(model.tree_, X)
    for v in range(model.tree_.node_count):
        turn = np.radians(y - model.tree_.value[v, 0, 0])
        cost = w * (1 - np.cos(turn))
        assert alone[v] == pytest.approx(cost[path[:, v]].sum())
    leaves = leaf_mask(model.tree_)
    np.testing.assert_allclose(here[leaves], alone[leaves])
    # the total is that of the best single angle
    best = min((w * (1 - np.cos(np.radians(y - a)))).sum() for a in range(360))
    assert total == pytest.approx(best, rel=1e-3) and total <= best
    score = model.score(X, y, sample_weight=w)
    assert 1 - alone[leaves].sum() / total == pytest.approx(score)


def test_rows_that_stop_at_inner_nodes_of_multiway_trees():
    table = datasets.load_weather().table
    X = table.drop_columns(["Play"]).to_pandas()
    y = np.array(table["Play"].to_pylist())
    model = ID3Classifier().fit(X, y)
    assert (leaf_mask(model.tree_) == model.tree_.is_leaf).all()
    odd = X.copy()
    odd.loc[0, "Outlook"] = "Hail"  # stops at the root, which answers "yes"
    alone, here, total = held_out_costs(model, odd, y)
    assert total == 14.0
    assert here[0] == float(y[0] != "yes") and alone[0] == (y != "yes").sum()
    assert alone.dtype == np.float64


def test_models_whose_rows_are_split_are_refused(rng):
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    with pytest.raises(TypeError, match="prunes by its own `confidence`"):
        single_path_tree(C45Classifier().fit(X, y))
    both = DecisionTreeClassifier(missing="both").fit(X, y)
    held_out_costs(both, X, y)
    X[0, 0] = np.nan
    with pytest.raises(TypeError, match="ends at several leaves"):
        held_out_costs(both, X, y)


def test_codes_of_rows_of_labels():
    classes = [np.array(["a", "b"]), np.array([0, 5])]
    Y = np.array([["a", 5], ["b", 0], ["a", 5], ["z", 5]], object)
    codes, known = label_row_codes(Y, classes)
    assert codes[0] == codes[2] and len(set(codes)) == 3 == len(known)
    again, _ = label_row_codes(np.array([["b", 0], ["b", 5]], object), classes, known)
    assert again[0] == codes[1] and again[1] == len(known)  # a pair not seen before


def test_sums_go_up_the_tree():
    sums = np.array([[1.0], [2.0], [4.0], [8.0], [16.0]])
    got = sums_of_subtrees(small_tree(), sums)
    assert got.ravel().tolist() == [31, 2, 28, 8, 16]
    assert sums[0, 0] == 1.0  # a copy


def test_costs_are_scores():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(80, 3)), rng.random(80)
    Y = np.c_[rng.integers(0, 2, 80), rng.integers(0, 3, 80)]
    for model, y in (
        (DecisionTreeClassifier(max_depth=4), Y[:, 1]),
        (DecisionTreeClassifier(max_depth=4), np.array(["a", "b", "c"])[Y[:, 1]]),
        (DecisionTreeRegressor(max_depth=4), rng.normal(size=80)),
        (DecisionTreeRegressor("absolute_error", max_depth=4), rng.normal(size=80)),
        (DecisionTreeRegressor(max_depth=4), rng.normal(size=(80, 2))),
    ):
        model.fit(X[:40], y[:40])
        alone, _, total = held_out_cost.held_out_costs(model, X, y, w)
        leaves = held_out_cost.leaf_mask(model.tree_)
        score = 1 - alone[leaves].sum() / total
        assert score == pytest.approx(model.score(X, y, sample_weight=w))
    several = DecisionTreeClassifier(max_depth=4).fit(X[:40], Y[:40])
    alone, _, total = held_out_cost.held_out_costs(several, X, Y)
    exact = np.mean(np.all(several.predict(X) == Y, axis=1))
    leaves = held_out_cost.leaf_mask(several.tree_)
    assert 1 - alone[leaves].sum() / total == pytest.approx(exact)


def test_labels_that_training_never_saw_are_wrong():
    model = DecisionTreeClassifier().fit([[1], [2], [3], [4]], ["a", "a", "b", "b"])
    cut = prune_reduced_error(model, [[1], [4]], ["a", "z"])
    assert cut.get_n_leaves() == 1
    with pytest.raises(ValueError, match="2 rows, but y has 1"):
        prune_reduced_error(model, [[1], [4]], ["a"])
