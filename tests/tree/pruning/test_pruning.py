"""Reduced-error pruning equals the best of all subtrees."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import tree as peer
from sklearn.datasets import make_classification, make_regression

from pansophy import datasets
from pansophy.tree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    prune_reduced_error,
)
from pansophy.tree.pruning import _pruning as loops
from pansophy.tree.pruning.pruning import collapse_nodes


def test_accuracy_never_falls_and_pruning_twice_changes_nothing():
    X, y = make_classification(
        600, 8, n_informative=4, n_classes=3, flip_y=0.2, random_state=0
    )
    train, held, fresh = ((X[i::3], y[i::3]) for i in range(3))
    full = DecisionTreeClassifier().fit(*train)
    cut = prune_reduced_error(full, *held)
    assert cut.score(*held) > full.score(*held)
    assert cut.tree_.node_count < full.tree_.node_count
    assert cut.score(*fresh) > full.score(*fresh)
    again = prune_reduced_error(cut, *held)
    assert again.tree_.node_count == cut.tree_.node_count
    np.testing.assert_array_equal(again.tree_.feature, cut.tree_.feature)
    assert full.score(*train) == 1.0  # the model itself is untouched
    assert cut.get_params() == full.get_params()


def test_numbers():
    X, y = make_regression(600, 6, noise=60.0, random_state=0)
    train, held = (X[:300], y[:300]), (X[300:], y[300:])
    for target in (1, 2):
        ys = [v[1] if target == 1 else np.c_[v[1], v[0][:, 0]] for v in (train, held)]
        full = DecisionTreeRegressor().fit(train[0], ys[0])
        cut = prune_reduced_error(full, held[0], ys[1])
        assert cut.score(held[0], ys[1]) > full.score(held[0], ys[1])
        assert cut.get_n_leaves() < full.get_n_leaves()
        again = prune_reduced_error(cut, held[0], ys[1])
        assert again.get_n_leaves() == cut.get_n_leaves()


def subtrees(tree, v=0):
    """Every way to cut a tree, as sets of nodes turned into leaves."""
    left, right = tree.children_left[v], tree.children_right[v]
    yield {v}
    if left >= 0:
        for a, b in itertools.product(subtrees(tree, left), subtrees(tree, right)):
            yield a | b


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_no_smaller_subtree_is_as_good(seed, classes):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(25, 2)), rng.normal(size=(30, 2))
    y, z = rng.integers(0, 3, 25), rng.integers(0, 3, 30)
    cls = DecisionTreeClassifier if classes else DecisionTreeRegressor
    full = cls(max_depth=3).fit(X, y)
    cut = prune_reduced_error(full, Z, z)
    found = []
    for leaves in subtrees(full.tree_):
        full_copy = cls(max_depth=3).fit(X, y)
        inner = [v for v in leaves if full.tree_.children_left[v] >= 0]
        full_copy.tree_ = collapse_nodes(full.tree_, inner)
        found.append((round(-full_copy.score(Z, z), 10), len(leaves)))
    best, size = min(found)
    assert -cut.score(Z, z) == pytest.approx(best, abs=1e-9)
    assert cut.get_n_leaves() == size


def test_multiway():
    table = datasets.load_weather().table
    X, y = table.drop_columns(["Play"]).to_pandas(), np.array(table["Play"].to_pylist())
    model = ID3Classifier().fit(X, y)
    held = X.copy()
    held.loc[[1, 4], "Outlook"] = "Foggy"
    cut = prune_reduced_error(model, held[:6], y[:6])
    assert cut.score(held[:6], y[:6]) >= model.score(held[:6], y[:6])
    assert cut.tree_.node_count < model.tree_.node_count
    again = prune_reduced_error(cut, held[:6], y[:6])
    np.testing.assert_array_equal(again.tree_.nodes, cut.tree_.nodes)
    same = prune_reduced_error(model, X, y)
    np.testing.assert_array_equal(same.tree_.nodes, model.tree_.nodes)
    with pytest.raises(TypeError, match="confidence"):
        prune_reduced_error(C45Classifier().fit(X, y), X, y)


def test_splits_by_set_survive():
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(0, 6, 300), rng.normal(size=300)]
    y = np.isin(X[:, 0], [1, 4]).astype(int) ^ (rng.random(300) < 0.2)
    model = DecisionTreeClassifier(categorical_features=[0]).fit(X[:200], y[:200])
    cut = prune_reduced_error(model, X[200:], y[200:])
    assert cut.get_n_leaves() < model.get_n_leaves()
    assert cut.score(X[200:], y[200:]) >= model.score(X[200:], y[200:])


def test_missing_values_held_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] > 0).astype(int) ^ (rng.random(300) < 0.2)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = DecisionTreeClassifier().fit(X[:200], y[:200])
    cut = prune_reduced_error(model, X[200:], y[200:])
    assert cut.score(X[200:], y[200:]) > model.score(X[200:], y[200:])


def test_permutation_importance_finds_the_column():
    from sklearn.inspection import permutation_importance

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 2] > 0).astype(int)
    model = DecisionTreeClassifier(max_depth=3).fit(X[:200], y[:200])
    found = permutation_importance(model, X[200:], y[200:], n_repeats=5, random_state=0)
    assert np.argmax(found.importances_mean) == 2
    assert found.importances_mean[2] > 0.3
    np.testing.assert_allclose(np.delete(found.importances_mean, 2), 0, atol=0.05)


def test_a_node_whose_link_is_as_weak_as_alpha_is_cut():
    """At alpha = g exactly, as in scikit-learn; the numbers are powers of two."""
    X, y = np.arange(8.0)[:, None], np.array([0, 0, 1, 1, 2, 2, 3, 3.0])
    for alpha, leaves in ((0.125, 2), (np.nextafter(0.125, 0), 4), (1.0, 1)):
        ours = DecisionTreeRegressor(ccp_alpha=alpha).fit(X, y)
        theirs = peer.DecisionTreeRegressor(ccp_alpha=alpha).fit(X, y)
        assert ours.get_n_leaves() == theirs.get_n_leaves() == leaves
    left, right = np.array([1, -1, -1]), np.array([2, -1, -1])
    parent, by_depth = np.array([-1, 0, 0]), np.array([2, 1, 0])
    risk = np.array([1.0, 0.25, 0.25])
    for alpha, cut in ((0.5, [0]), (np.nextafter(0.5, 0), [])):
        found = loops.cut_weakest_links(left, right, parent, by_depth, risk, alpha)
        assert found[0].tolist() == cut
