"""DirectionalTreeRegressor: regression trees for angles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.tree import DirectionalTreeRegressor, export_text
from pansophy.tree.directional_tree import circular_mean
from tests.oracles import tree as oracle


def apart(a, b, period):
    """The least difference of angles."""
    return abs(np.mod(np.subtract(a, b) / period + 0.5, 1.0) - 0.5) * period


def table(seed, n=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = 3 * X[:, 0] + (X[:, 1] > 0) + 0.4 * rng.normal(size=n)
    return X, np.mod(y, 2 * np.pi), rng


def test_worked_numbers():
    X = [[0.0], [0.0]]
    model = DirectionalTreeRegressor(360).fit(X, [350, 10])
    assert apart(model.predict([[0]]), 0, 360) == pytest.approx(0, abs=1e-9)
    assert model.predict_spread([[0]]) == pytest.approx(0.015192, abs=1e-6)
    assert model.tree_.impurity[0] == pytest.approx(1 - 0.984808, abs=1e-6)
    model = DirectionalTreeRegressor(360).fit(X, [0, 90])
    assert model.predict([[0]]) == pytest.approx(45)
    assert 1 - model.predict_spread([[0]]) == pytest.approx(0.707107, abs=1e-6)
    assert circular_mean(np.radians([0, 90]))[1] == pytest.approx(0.707107, abs=1e-6)
    # angles that cancel have a spread of 1, and some answer
    model = DirectionalTreeRegressor(360).fit(X, [0, 180])
    assert model.predict_spread([[0]]) == pytest.approx(1)
    assert 0 <= model.predict([[0]])[0] < 360


def test_equals_slow_tree():
    for seed in range(4):
        X, y, rng = table(seed)
        w = rng.random(60) + 0.1 if seed % 2 else None
        if seed > 1:
            X[rng.random(X.shape) < 0.1] = np.nan
        tree = DirectionalTreeRegressor(min_samples_leaf=2).fit(X, y, w).tree_
        nodes = oracle.grow("direction", X, y, w, min_leaf=2, min_split=4)
        assert tree.node_count == len(nodes)
        for i, node in enumerate(nodes):
            assert tree.impurity[i] == pytest.approx(node["impurity"], abs=1e-9)
            assert apart(tree.value[i, 0, 0], node["value"][0, 0], 2 * np.pi) < 1e-9
            if node["split"] is not None:
                assert tree.feature[i] == node["split"][1]
                assert tree.threshold[i] == pytest.approx(node["split"][2])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(-10, 10))
def test_turning_the_targets_turns_the_answers(seed, turn):
    X, y, _ = table(seed)
    fit = lambda y: DirectionalTreeRegressor(max_depth=4, min_samples_leaf=3).fit(X, y)
    plain, turned = fit(y), fit(y + turn)
    np.testing.assert_array_equal(plain.tree_.feature, turned.tree_.feature)
    np.testing.assert_allclose(plain.tree_.threshold, turned.tree_.threshold)
    assert np.all(apart(turned.predict(X), plain.predict(X) + turn, 2 * np.pi) < 1e-6)
    np.testing.assert_allclose(
        turned.predict_spread(X), plain.predict_spread(X), atol=1e-9
    )


def test_full_tree_fits_and_scores():
    X, y, rng = table(0, n=200)
    model = DirectionalTreeRegressor(24.0).fit(X, y * 24 / (2 * np.pi))
    assert np.all(apart(model.predict(X), y * 24 / (2 * np.pi), 24) < 1e-9)
    assert model.score(X, y * 24 / (2 * np.pi)) == pytest.approx(1)
    assert np.all((model.predict(X) >= 0) & (model.predict(X) < 24))
    root = DirectionalTreeRegressor(max_depth=1, min_samples_leaf=100).fit(X, y)
    assert root.score(X, y) >= 0
    gone = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    both = DirectionalTreeRegressor(missing="both", max_depth=5).fit(gone, y)
    spread = both.predict_spread(gone)
    assert np.all((spread >= 0) & (spread <= 1))
    angle = np.mod(X[:, [0]] * 3, 2 * np.pi)
    wind = DirectionalTreeRegressor(directional_features=[0], max_depth=4).fit(angle, y)
    assert wind.score(angle, y) > 0.6


# -- several angles --------------------------------------------------------------


def test_the_same_angle_twice_is_the_tree_of_one():
    X, y, rng = table(5)
    X[rng.random(X.shape) < 0.1] = np.nan
    w = rng.integers(0, 3, len(y))
    one = DirectionalTreeRegressor(max_depth=4, missing="both").fit(X, y, w)
    two = DirectionalTreeRegressor(max_depth=4, missing="both").fit(
        X, np.stack([y, y + 1.0], axis=1), w
    )
    np.testing.assert_array_equal(one.tree_.feature, two.tree_.feature)
    np.testing.assert_allclose(one.tree_.impurity, two.tree_.impurity, atol=1e-12)
    answer, spread = two.predict(X), two.predict_spread(X)
    assert answer.shape == spread.shape == (60, 2)
    assert apart(answer[:, 0], one.predict(X), 2 * np.pi).max() < 1e-9
    assert apart(answer[:, 1], one.predict(X) + 1.0, 2 * np.pi).max() < 1e-9
    for k in range(2):
        np.testing.assert_allclose(spread[:, k], one.predict_spread(X), atol=1e-9)
    assert two.score(X, np.stack([y, y + 1.0], axis=1), w) == pytest.approx(
        one.score(X, y, w)
    )


def test_several_angles_gain_the_mean_of_their_gains():
    X, y, rng = table(6)
    Y = np.stack([y, rng.uniform(0, 2 * np.pi, len(y))], axis=1)
    model = DirectionalTreeRegressor(max_leaf_nodes=9).fit(X, Y)
    tree, leaf = model.tree_, model.apply(X)
    assert tree.value.shape == (tree.node_count, 2, 2)
    for v in np.unique(leaf):
        for k in range(2):
            mean, R = circular_mean(Y[leaf == v, k])
            assert apart(tree.value[v, k, 0], mean, 2 * np.pi) < 1e-9
            assert tree.value[v, k, 1] == pytest.approx(R)
        assert tree.impurity[v] == pytest.approx(1 - tree.value[v, :, 1].mean())
    inner = np.flatnonzero(tree.children_left >= 0)
    for v in inner:  # no split raises the impurity
        kids = [tree.children_left[v], tree.children_right[v]]
        share = tree.weighted_n_node_samples[kids] / tree.weighted_n_node_samples[v]
        assert share @ tree.impurity[kids] <= tree.impurity[v] + 1e-12
    assert export_text(model).count("value:") == tree.n_leaves
