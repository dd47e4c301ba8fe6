"""Criteria for every kind of target equal a slow reference tree, node by node."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.params import ParameterError
from pansophy.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.oracles import tree as oracle
from tests.tree.growing.test_grower import compare, table


def standard(y, w=None):
    mean = np.average(y, axis=0, weights=w)
    return (y - mean) / np.sqrt(np.average((y - mean) ** 2, axis=0, weights=w))


@pytest.mark.parametrize("criterion", ["zero_one", "gain_ratio"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_classifier_equals_slow_tree(criterion, missing, n_classes):
    for seed in range(3):
        X, score, rng = table(seed, missing=missing, steps=[None, 4, 2][seed])
        y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
        w = rng.random(len(X)) + 0.1 if seed == 1 else None
        model = DecisionTreeClassifier(criterion, min_samples_leaf=3).fit(X, y, w)
        slow = {"min_leaf": 3, "min_split": 6, "classes": (n_classes,)}
        compare(model.tree_, oracle.grow(criterion, X, y, w, **slow))


@pytest.mark.parametrize("criterion", ["gaussian", "gaussian_joint", "quantile"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
def test_regressor_equals_slow_tree(criterion, missing, outputs):
    for seed in range(3):
        X, y, rng = table(seed, missing=missing, steps=[None, 4, 2][seed])
        y = y[:, None] if outputs == 1 else np.c_[y, y + rng.normal(size=len(y))]
        w = rng.random(len(X)) + 0.1 if seed == 1 else None
        y = standard(y, w) if criterion != "quantile" else y
        model = DecisionTreeRegressor(criterion, min_samples_leaf=4, quantile=0.8)
        name = 0.8 if criterion == "quantile" else criterion
        slow = {"min_leaf": 4, "min_split": 8}
        tree = model.fit(X, y, w).tree_
        compare(tree, oracle.grow(name, X, y, w, **slow))


def test_gaussian_numbers():
    X, y = np.arange(6)[:, None], np.array([1.0, 2, 3, 10, 11, 12])
    tree = DecisionTreeRegressor("gaussian", max_depth=1).fit(X, y).tree_
    assert tree.threshold[0] == 2.5
    gain = tree.impurity[0] - 0.5 * (tree.impurity[1] + tree.impurity[2])
    assert gain == pytest.approx(1.723006, abs=1e-6)
    np.testing.assert_allclose(tree.value[:, 0, 0], [6.5, 2, 11])
    squared = DecisionTreeRegressor(max_depth=1).fit(X, y).tree_
    np.testing.assert_allclose(
        squared.impurity, [20.916667] + [0.666667] * 2, atol=1e-6
    )


def test_gaussian_is_free_of_scale_and_has_a_floor():
    X, y, _ = table(0)
    for criterion in ("gaussian", "gaussian_joint"):
        model = DecisionTreeRegressor(criterion, min_samples_leaf=3)
        one = model.fit(X, y).tree_
        other = model.fit(X, 1e6 * y - 5e5).tree_
        np.testing.assert_array_equal(one.threshold, other.threshold)
        np.testing.assert_allclose(one.impurity, other.impurity, atol=1e-6)
        # targets of one value: a leaf, and no infinite entropy
        flat = DecisionTreeRegressor(criterion).fit(X, (X[:, 0] > 0) * 3.0)
        assert flat.get_n_leaves() == 2
        assert np.isfinite(flat.tree_.impurity).all()
        assert np.all(flat.tree_.impurity[1:] == 0)
        constant = DecisionTreeRegressor(criterion).fit(X, np.full(len(X), 4.0))
        np.testing.assert_array_equal(constant.predict(X), 4.0)


def test_joint_gain_of_uncorrelated_outputs_is_the_sum():
    # at the root and on both sides of the only split the outputs are uncorrelated
    a = np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])
    Y = np.concatenate([a, 3 * a])
    X = np.repeat([0.0, 1.0], 4)[:, None]
    root = lambda criterion, Y: DecisionTreeRegressor(criterion).fit(X, Y).tree_
    gain = lambda t: t.impurity[0] - t.impurity[1:] @ t.weighted_n_node_samples[1:] / 8
    joint, summed = root("gaussian_joint", Y), root("gaussian", Y)
    single = [root("gaussian", Y[:, o]) for o in range(2)]
    assert gain(joint) == pytest.approx(gain(summed))
    assert gain(joint) == pytest.approx(sum(gain(t) for t in single))
    for o in range(2):
        np.testing.assert_allclose(joint.value[:, o], single[o].value[:, 0], atol=1e-12)


def test_joint_sees_correlation():
    # each output by itself is spread alike on both sides; their correlation turns
    rng = np.random.default_rng(0)
    x = np.linspace(-1, 1, 400)
    z = rng.normal(size=400)
    Y = np.c_[z, np.where(x > 0.2, z, -z) + 0.1 * rng.normal(size=400)]
    joint = DecisionTreeRegressor("gaussian_joint", max_depth=1, min_samples_leaf=20)
    tree = joint.fit(x[:, None], Y).tree_
    assert tree.threshold[0] == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_quantile_leaves(share):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, size=(4000, 1))
    y = X[:, 0] + rng.normal(size=4000)
    model = DecisionTreeRegressor("quantile", quantile=share).fit(X, y)
    below = np.mean(y <= model.predict(X))
    assert below == pytest.approx(share, abs=0.002)
    assert model.get_n_leaves() == 4
    if share == 0.5:
        median = DecisionTreeRegressor("absolute_error").fit(X, y).tree_
        np.testing.assert_allclose(model.tree_.value, median.value)
        np.testing.assert_allclose(2 * model.tree_.impurity, median.impurity)


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(
        ["zero_one", "gain_ratio", "gaussian", "gaussian_joint", "quantile"]
    ),
)
def test_weights_are_repetitions_and_impurity_never_rises(seed, criterion):
    X, score, rng = table(seed, n=40, steps=3)
    times = rng.integers(1, 4, len(X))
    if criterion in ("zero_one", "gain_ratio"):
        y, model = (score > 0).astype(int), DecisionTreeClassifier(criterion)
    else:
        y, model = np.round(score, 1), DecisionTreeRegressor(criterion, quantile=0.75)
    weighted = model.fit(X, y, times).tree_
    copies = rng.permutation(np.repeat(np.arange(len(X)), times))
    repeated = model.fit(X[copies], y[copies]).tree_
    np.testing.assert_array_equal(weighted.feature, repeated.feature)
    np.testing.assert_array_equal(weighted.threshold, repeated.threshold)
    np.testing.assert_allclose(weighted.value, repeated.value, atol=1e-12)
    total = weighted.weighted_n_node_samples * weighted.impurity
    inner = np.flatnonzero(weighted.children_left >= 0)
    sides = weighted.children_left[inner], weighted.children_right[inner]
    after = total[sides[0]] + total[sides[1]]
    assert np.all(after <= total[inner] * (1 + 1e-9) + 1e-12)


def test_several_classes_need_a_criterion_that_adds_up():
    X, score, _ = table(0)
    Y = np.c_[score > 0, X[:, 1] > 0]
    for criterion in ("zero_one", "gain_ratio"):
        with pytest.raises(ParameterError, match="one column of classes"):
            DecisionTreeClassifier(criterion).fit(X, Y)
    with pytest.raises(ParameterError, match="quantile of"):
        DecisionTreeRegressor("quantile", quantile=1.0).fit(X, score)
    with pytest.raises(ParameterError, match="max_bins must be None"):
        DecisionTreeRegressor("quantile", max_bins=9).fit(X, score)


def test_constant_targets_one_class_and_great_depth():
    X, score, _ = table(0)
    for criterion in ("gini", "entropy", "zero_one", "gain_ratio"):
        model = DecisionTreeClassifier(criterion, max_depth=10**9)
        assert model.fit(X, np.full(60, "only")).get_n_leaves() == 1
        assert set(model.predict(X)) == {"only"}
        assert model.fit(X, score > 0).score(X, score > 0) == 1.0
    for criterion in ("squared_error", "absolute_error", "quantile", "poisson"):
        model = DecisionTreeRegressor(criterion).fit(X, np.full(60, 2.0))
        np.testing.assert_array_equal(model.predict(X), 2.0)
