"""Grown trees equal a slow reference tree; sorted lists equal bytes; invariances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.tree import DecisionTreeClassifier, DecisionTreeRegressor
from pansophy.tree.growing import grower as grower_module
from pansophy.tree.growing import prepared_columns as columns_module
from tests.oracles import tree as oracle


def compare(tree, nodes):
    """Node by node: split, side of missing values, counts, impurity and value."""
    assert tree.node_count == len(nodes)
    for i, node in enumerate(nodes):
        assert tree.n_node_samples[i] == len(node["rows"])
        assert tree.impurity[i] == pytest.approx(node["impurity"], abs=1e-9)
        if np.isinf(node["low"]) and np.isinf(node["high"]):
            np.testing.assert_allclose(tree.value[i], node["value"], atol=1e-9)
        if node["split"] is None:
            assert tree.children_left[i] == tree.children_right[i] == -1
            continue
        _, feature, threshold, missing_left, *_ = node["split"]
        assert tree.feature[i] == feature
        assert tree.threshold[i] == pytest.approx(threshold)
        assert tree.missing_go_to_left[i] == missing_left


def same(one, other, atol=0.0):
    """Two trees have equal arrays."""
    for a, b in zip(one, other):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, atol=atol, rtol=0.0 if atol == 0 else 1e-7)


def table(seed, n=60, d=3, missing=False, steps=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X = np.round(X * steps) / steps if steps else X
    score = 2 * X[:, 0] + (X[:, -1] > 0.3) + 0.6 * rng.normal(size=n)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X, score, rng


CLASSIFIERS = ["gini", "entropy", "log_loss"]
REGRESSORS = ["squared_error", "friedman_mse", "absolute_error", "poisson"]


@pytest.mark.parametrize("criterion", CLASSIFIERS)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_classifier_equals_slow_tree(criterion, missing, n_classes):
    for seed in range(3):
        X, score, _ = table(seed, missing=missing, steps=[None, 4, 2][seed])
        y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
        model = DecisionTreeClassifier(criterion).fit(X, y)
        compare(model.tree_, oracle.grow(criterion, X, y, classes=(n_classes,)))


@pytest.mark.parametrize("criterion", REGRESSORS)
@pytest.mark.parametrize("missing", [False, True])
def test_regressor_equals_slow_tree(criterion, missing):
    for seed in range(3):
        X, y, _ = table(seed, missing=missing, steps=[None, 4, 2][seed])
        y = np.round(y**2) if criterion == "poisson" else y
        model = DecisionTreeRegressor(criterion, min_samples_leaf=2).fit(X, y)
        compare(model.tree_, oracle.grow(criterion, X, y, min_leaf=2, min_split=4))


@pytest.mark.parametrize("criterion", ["gini", "entropy", *REGRESSORS])
def test_limits_and_weights_equal_slow_tree(criterion):
    X, score, rng = table(5, n=80, missing=True)
    w = rng.integers(0, 4, len(X)) + rng.random(len(X)) * (rng.random(len(X)) > 0.3)
    y = np.round(abs(score)) if criterion == "poisson" else score
    limits = {"min_samples_leaf": 3, "max_leaf_nodes": 7, "max_depth": 4}
    limits |= {"min_weight_fraction_leaf": 0.05, "min_impurity_decrease": 1e-3}
    slow = {"min_leaf": 3, "max_leaves": 7, "max_depth": 4, "min_split": 6}
    slow |= {"min_weight": 0.05 * w.sum(), "min_gain": 1e-3 * w.sum() - 1e-9}
    if criterion in CLASSIFIERS:
        y = np.digitize(score, [-1, 1])
        model = DecisionTreeClassifier(criterion, **limits).fit(X, y, w)
        nodes = oracle.grow(criterion, X, y, w, classes=(3,), **slow)
    else:
        model = DecisionTreeRegressor(criterion, **limits).fit(X, y, w)
        nodes = oracle.grow(criterion, X, y, w, **slow)
    compare(model.tree_, nodes)


@pytest.mark.parametrize("criterion", ["gini", "entropy", *REGRESSORS])
def test_monotone_constraints(criterion):
    X, score, _ = table(11, n=150)
    sign = [1, 0, -1]
    grid = np.tile(np.median(X, axis=0), (50, 1))
    if criterion in CLASSIFIERS:
        y = (score > 0).astype(int)
        model = DecisionTreeClassifier(criterion, monotonic_cst=sign).fit(X, y)
        nodes = oracle.grow(criterion, X, y, classes=(2,), sign=sign)
        predict = lambda Z: model.predict_proba(Z)[:, 1]
    else:
        y = np.round(score**2) if criterion == "poisson" else score
        model = DecisionTreeRegressor(criterion, monotonic_cst=sign).fit(X, y)
        nodes = oracle.grow(criterion, X, y, sign=sign)
        predict = model.predict
    compare(model.tree_, nodes)
    for f in (0, 2):
        line = grid.copy()
        line[:, f] = np.linspace(-3, 3, 50)
        for Z in (line, line + 0.3, X[:1] * 0 + line):
            assert np.all(np.diff(predict(Z)) * sign[f] >= 0)


def test_multi_output_equals_slow_tree():
    X, score, _ = table(3, n=50)
    classes = np.c_[(score > 0).astype(int), np.digitize(X[:, 1], [-0.5, 0.5])]
    for criterion in ("gini", "entropy"):
        model = DecisionTreeClassifier(criterion).fit(X, classes)
        compare(model.tree_, oracle.grow(criterion, X, classes, classes=(2, 3)))
        assert [p.shape for p in model.predict_proba(X)] == [(50, 2), (50, 3)]
        np.testing.assert_array_equal(model.predict(X), classes)
    for criterion in ("squared_error", "absolute_error", "poisson"):
        Y = np.c_[abs(score), X[:, 0] ** 2]
        model = DecisionTreeRegressor(criterion, max_depth=4).fit(X, Y)
        compare(model.tree_, oracle.grow(criterion, X, Y, max_depth=4))


@pytest.mark.parametrize("kind", ["gini", "entropy", "squared_error", "poisson"])
@pytest.mark.parametrize("random", [False, True])
def test_bytes_equal_lists_when_values_fit(kind, random, monkeypatch):
    X, score, rng = table(7, n=3000, d=5, missing=True, steps=20)
    y = np.digitize(score, [-1, 1]) if kind in CLASSIFIERS else np.round(score**2)
    w = rng.random(len(X)) + 0.1
    cls = DecisionTreeClassifier if kind in CLASSIFIERS else DecisionTreeRegressor
    splitter = "random" if random else "best"
    fit = lambda **k: cls(kind, splitter=splitter, random_state=0, **k).fit(X, y, w)
    by_bytes, by_bins = fit().tree_, fit(max_bins=255).tree_
    plain = columns_module.prepare_columns
    monkeypatch.setattr(
        "pansophy.tree.abstract_decision_tree.prepare_columns",
        lambda *a, **k: plain(*a, **{**k, "as_bytes": False}),
    )
    by_lists = fit().tree_
    for one in (by_bytes, by_bins):
        same(one, by_lists, atol=1e-9)


def test_trees_do_not_depend_on_threads_or_on_how_work_is_cut(monkeypatch):
    X, score, _ = table(2, n=6000, d=8, missing=True)
    X[:, 3] = np.round(X[:, 3], 1)
    y = (score > 0).astype(int)
    options = [{}, {"max_leaf_nodes": 50}, {"max_features": 3, "random_state": 1}]
    options += [{"splitter": "random", "random_state": 1, "max_leaf_nodes": 90}]
    options += [{"max_bins": 64}, {"max_bins": 64, "max_leaf_nodes": 50}]

    def all_trees():
        return [DecisionTreeClassifier(**o).fit(X, y).tree_ for o in options]

    whole = all_trees()
    monkeypatch.setattr(grower_module, "SHARED_VALUES", 1 << 12)
    monkeypatch.setattr(grower_module, "HISTOGRAM_ROWS", 64)
    many = all_trees()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    single = all_trees()
    for trees in (many, single):
        for one, other in zip(whole, trees):
            same(one, other)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["gini", "entropy", "squared_error"]))
def test_row_order_and_repetition_do_not_matter(seed, criterion):
    X, score, rng = table(seed, n=40, steps=3)
    times = rng.integers(1, 4, len(X))
    if criterion == "squared_error":
        y, model = np.round(score, 1), DecisionTreeRegressor(criterion)
    else:
        y, model = (score > 0).astype(int), DecisionTreeClassifier(criterion)
    weighted = model.fit(X, y, times).tree_
    order = rng.permutation(times.sum())
    copies = np.repeat(np.arange(len(X)), times)[order]
    repeated = model.fit(X[copies], y[copies]).tree_
    np.testing.assert_array_equal(weighted.feature, repeated.feature)
    np.testing.assert_array_equal(weighted.threshold, repeated.threshold)
    np.testing.assert_allclose(weighted.value, repeated.value, atol=1e-12)
    np.testing.assert_allclose(
        weighted.weighted_n_node_samples, repeated.weighted_n_node_samples
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_renamed_labels_and_monotone_transforms(seed):
    X, score, _ = table(seed, n=50)
    y = np.digitize(score, [-1, 1])
    names = np.array(["c", "a", "b"])
    plain = DecisionTreeClassifier().fit(X, y)
    named = DecisionTreeClassifier().fit(X, names[y])
    np.testing.assert_array_equal(plain.tree_.threshold, named.tree_.threshold)
    np.testing.assert_array_equal(names[plain.predict(X)], named.predict(X))
    bent = DecisionTreeClassifier().fit(np.exp(X), y)
    np.testing.assert_array_equal(plain.predict(X), bent.predict(np.exp(X)))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["gini", "squared_error", "poisson"]))
def test_impurity_never_rises_and_a_full_tree_fits(seed, criterion):
    X, score, _ = table(seed, n=70)
    if criterion == "gini":
        y, model = np.digitize(score, [-1, 1]), DecisionTreeClassifier()
    else:
        y = np.round(abs(score), 2) + (0.5 if criterion == "poisson" else 0.0)
        model = DecisionTreeRegressor(criterion)
    tree = model.fit(X, y).tree_
    total = tree.weighted_n_node_samples * tree.impurity
    inner = np.flatnonzero(tree.children_left >= 0)
    after = total[tree.children_left[inner]] + total[tree.children_right[inner]]
    assert np.all(after <= total[inner] * (1 + 1e-9))
    np.testing.assert_allclose(model.predict(X), y, atol=1e-12)
