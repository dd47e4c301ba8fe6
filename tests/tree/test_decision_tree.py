"""Estimators: scikit-learn's contract, parity, parameters, missing values, errors."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets
from sklearn import tree as sktree
from sklearn.model_selection import cross_val_score

from pansophy.core.arrays.class_weight import apply_class_weight
from pansophy.ensemble import (
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RotationForestRegressor,
)
from pansophy.params import ParameterError
from pansophy.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    export_rules,
    export_text,
)

PAIRS = [
    (DecisionTreeClassifier, sktree.DecisionTreeClassifier),
    (DecisionTreeRegressor, sktree.DecisionTreeRegressor),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_same_parameters_and_defaults(ours, theirs):
    mine, peer = ours().get_params(), theirs().get_params()
    assert {name: mine[name] for name in peer} == peer


def same_tree(a, b):
    for name in ("children_left", "children_right", "feature", "n_node_samples"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for name in ("threshold", "impurity", "weighted_n_node_samples", "value"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-9)
    left, right = a.children_left, a.children_right
    # where none are missing theirs go to the side of more rows, ours to the heavier
    more, heavy = (
        size[left] > size[right]
        for size in (a.n_node_samples, a.weighted_n_node_samples)
    )
    alike = (left >= 0) & (more == heavy)
    np.testing.assert_array_equal(
        a.missing_go_to_left[alike], b.missing_go_to_left.astype(bool)[alike]
    )


def distinct(seed, n=400, d=4, missing=False):
    """Data on which no two splits gain the same at nodes of ten or more rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, rng.random(n) + 0.5


OPTIONS = [
    {"min_samples_leaf": 10, "random_state": 0},
    {"max_leaf_nodes": 9, "min_samples_leaf": 5, "random_state": 0},
    {"max_depth": 3, "min_samples_split": 0.1, "random_state": 0},
    {"min_weight_fraction_leaf": 0.05, "min_impurity_decrease": 0.002}
    | {"random_state": 0},
    {"min_samples_leaf": 0.03, "ccp_alpha": 0.004, "random_state": 0},
]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
def test_same_trees_as_sklearn(options, missing):
    X, y, w = distinct(0, missing=missing)
    for criterion in ("squared_error", "poisson"):
        target = y if criterion == "squared_error" else np.exp(y)
        mine = DecisionTreeRegressor(criterion, **options).fit(X, target, w)
        other = sktree.DecisionTreeRegressor(criterion=criterion, **options)
        same_tree(mine.tree_, other.fit(X, target, w).tree_)
        np.testing.assert_allclose(mine.predict(X), other.predict(X))
        np.testing.assert_allclose(
            mine.feature_importances_, other.feature_importances_, atol=1e-9
        )
    labels = np.digitize(y, [-0.5, 0.5])
    # scikit-learn counts rows for "balanced", we count weights: give it the product
    balanced = apply_class_weight("balanced", labels, w)
    for criterion in ("gini", "entropy"):
        mine = DecisionTreeClassifier(criterion, class_weight="balanced", **options)
        other = sktree.DecisionTreeClassifier(criterion=criterion, **options)
        same_tree(mine.fit(X, labels, w).tree_, other.fit(X, labels, balanced).tree_)
        np.testing.assert_allclose(mine.predict_proba(X), other.predict_proba(X))
        np.testing.assert_array_equal(mine.apply(X), other.apply(X))
        ours, theirs = mine.decision_path(X), other.decision_path(X)
        assert (ours != theirs).nnz == 0


@pytest.mark.parametrize("sign", [[1, 0, -1, 0], [-1, 1, 0, 1]])
def test_monotone_trees_as_sklearn(sign):
    X, y, w = distinct(3)
    options = {"min_samples_leaf": 12, "monotonic_cst": sign, "random_state": 0}
    mine = DecisionTreeRegressor(**options).fit(X, y, w)
    same_tree(mine.tree_, sktree.DecisionTreeRegressor(**options).fit(X, y, w).tree_)
    mine = DecisionTreeClassifier(**options).fit(X, y > 0, w)
    other = sktree.DecisionTreeClassifier(**options).fit(X, y > 0, w)
    np.testing.assert_allclose(mine.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("loader", ["load_iris", "load_breast_cancer", "load_wine"])
def test_same_quality_as_sklearn(loader):
    X, y = getattr(datasets, loader)(return_X_y=True)
    mine = cross_val_score(DecisionTreeClassifier(), X, y).mean()
    theirs = cross_val_score(sktree.DecisionTreeClassifier(random_state=0), X, y).mean()
    assert mine > theirs - 0.04
    assert DecisionTreeClassifier().fit(X, y).score(X, y) == 1.0


def test_cost_complexity_path_as_sklearn():
    X, y, w = distinct(1)
    mine = DecisionTreeRegressor(min_samples_leaf=10)
    other = sktree.DecisionTreeRegressor(min_samples_leaf=10, random_state=0)
    a = mine.cost_complexity_pruning_path(X, y, w)
    b = other.cost_complexity_pruning_path(X, y, w)
    np.testing.assert_allclose(a.ccp_alphas, b.ccp_alphas, atol=1e-12)
    np.testing.assert_allclose(a.impurities, b.impurities, atol=1e-12)
    sizes = []
    for alpha in a.ccp_alphas[[3, 10, -2, -1]] * (1 + 1e-9):
        mine.set_params(ccp_alpha=alpha).fit(X, y, w)
        sizes.append(mine.get_n_leaves())
        other.set_params(ccp_alpha=alpha).fit(X, y, w)
        assert sizes[-1] == other.get_n_leaves()
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1


def test_export_text_as_sklearn():
    X, y = datasets.load_iris(return_X_y=True)
    options = {"max_depth": 4, "random_state": 0}
    mine = DecisionTreeClassifier(**options).fit(X, y)
    assert mine.get_depth() == 4
    depth_two = sktree.DecisionTreeClassifier(**options).fit(X[:, 3:], y)
    ours = DecisionTreeClassifier(**options).fit(X[:, 3:], y)
    for keywords in ({}, {"max_depth": 1}, {"spacing": 2, "decimals": 3}):
        assert export_text(ours, **keywords) == sktree.export_text(
            depth_two, **keywords
        )
    with pytest.raises(ValueError, match="feature_names must contain 1 elements"):
        export_text(ours, feature_names=["a", "b"])
    assert "leaves, depth 4" in str(mine)


def test_rules_are_exclusive_and_exhaustive():
    X, y = datasets.load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    names = ["a", "b", "c", "d"]
    rules = export_rules(model, feature_names=names, decimals=9)
    assert len(rules) == model.get_n_leaves()
    for row, label in zip(X.astype(np.float32), model.predict(X)):
        values = dict(zip(names, row.astype(float)))
        fired = []
        for rule in rules:
            tests, answer = rule.removeprefix("if ").split(" then class: ")
            if all(holds(t, values) for t in tests.split(" and ")):
                fired.append(int(answer))
        assert fired == [label]


def holds(test, values):
    name, sign, limit = test.split()
    below = values[name] <= float(limit)
    return below if sign == "<=" else not below


def test_missing_values_choose_their_side():
    X = np.array([[0.0], [1], [2], [3], [np.nan], [np.nan]])
    y = np.array([0, 0, 1, 1, 1, 1])
    model = DecisionTreeClassifier().fit(X, y)
    assert model.predict([[np.nan], [0.0], [3.0]]).tolist() == [1, 0, 1]
    # all that matters is whether the value is there: threshold infinity
    gone = DecisionTreeClassifier().fit(X, np.isnan(X[:, 0]))
    assert gone.tree_.threshold[0] == np.inf
    assert gone.predict([[1e30], [np.nan]]).tolist() == [False, True]
    # none missing in training: to the larger side
    full = DecisionTreeClassifier().fit(X[:4], [0, 1, 1, 1])
    assert full.predict([[np.nan]]).tolist() == [1]


@pytest.mark.parametrize("cls", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_random_choices_repeat_with_the_seed(cls):
    X, y, _ = distinct(4)
    y = (y > 0).astype(int)
    for options in ({"splitter": "random"}, {"max_features": "sqrt"}):
        a, b, c = (cls(random_state=s, **options).fit(X, y).tree_ for s in (0, 0, 1))
        np.testing.assert_array_equal(a.threshold, b.threshold)
        assert a.node_count != c.node_count or np.any(a.threshold != c.threshold)
        model = cls(random_state=0, **options).fit(X, y)
        assert model.score(X, y) == 1.0
    assert cls(max_features="log2").fit(X, y).max_features_ == 2
    assert cls(max_features=0.5).fit(X, y).max_features_ == 2


def test_features_are_drawn_until_one_can_split():
    X = np.zeros((30, 20))
    X[:, 13] = np.arange(30)
    y = np.arange(30) % 2
    model = DecisionTreeClassifier(max_features=1, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("bins", [16, 255])
def test_bins_are_nearly_as_good(bins):
    X, y, _ = distinct(5, n=4000)
    exact = DecisionTreeRegressor(max_leaf_nodes=60).fit(X[:3000], y[:3000])
    binned = DecisionTreeRegressor(max_leaf_nodes=60, max_bins=bins)
    binned.fit(X[:3000], y[:3000])
    assert binned.score(X[3000:], y[3000:]) > exact.score(X[3000:], y[3000:]) - 0.05
    for f in range(4):
        used = np.unique(binned.tree_.threshold[binned.tree_.feature == f])
        assert len(used) < bins


def test_sparse_equals_dense():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40)) * (rng.random((300, 40)) < 0.1)
    y = (X.sum(axis=1) > 0).astype(int)
    dense = DecisionTreeClassifier().fit(X, y)
    for kind in (sp.csr_matrix, sp.csc_matrix, sp.coo_array):
        thin = DecisionTreeClassifier().fit(kind(X), y)
        np.testing.assert_array_equal(dense.tree_.threshold, thin.tree_.threshold)
        np.testing.assert_array_equal(dense.apply(X), thin.apply(kind(X)))
        assert (dense.decision_path(X) != thin.decision_path(kind(X))).nnz == 0


def test_many_rows_predict_as_few():
    X, y, _ = distinct(6, n=40_000)
    model = DecisionTreeRegressor(max_depth=12).fit(X, y)
    parts = [model.predict(X[i : i + 999]) for i in range(0, len(X), 999)]
    np.testing.assert_array_equal(model.predict(X), np.concatenate(parts))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"criterion": "mae"}, "criterion of DecisionTreeRegressor must be one of"),
        ({"min_samples_split": 1}, "min_samples_split"),
        ({"min_samples_leaf": 1.0}, "min_samples_leaf"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes"),
        ({"max_bins": 256}, "from 2 to 255"),
        ({"criterion": "absolute_error", "max_bins": 9}, "max_bins must be None"),
        ({"monotonic_cst": [1]}, "monotonic_cst has shape"),
        ({"monotonic_cst": [2, 0, 0, 0]}, "array-like of -1, 0 or 1"),
    ],
)
def test_bad_parameters_are_named(options, words):
    X, y, _ = distinct(0, n=30)
    with pytest.raises((ParameterError, ValueError), match=words):
        DecisionTreeRegressor(**options).fit(X, y)


def test_bad_data_is_named():
    X, y, _ = distinct(0, n=30)
    with pytest.raises(ValueError, match="infinity"):
        DecisionTreeRegressor().fit(np.where(X > 2, np.inf, X) + 1e300, y)
    with pytest.raises(ValueError, match="poisson"):
        DecisionTreeRegressor("poisson").fit(X, y)
    with pytest.raises(ValueError, match="multiple outputs"):
        DecisionTreeRegressor(monotonic_cst=[0] * 4).fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="multiclass"):
        DecisionTreeClassifier(monotonic_cst=[0] * 4).fit(X, np.arange(30) % 3)
    with pytest.raises(ValueError, match="sample_weight"):
        DecisionTreeRegressor().fit(X, y, np.zeros(30))
    alone = DecisionTreeClassifier().fit(X, np.ones(30))
    assert alone.get_n_leaves() == 1
    assert alone.predict_proba(X).tolist() == [[1.0]] * 30
    same = DecisionTreeRegressor().fit(np.full((30, 2), 7.0), y)
    np.testing.assert_allclose(same.predict([[0, 0]]), y.mean())
    nothing = DecisionTreeRegressor().fit(np.full((30, 2), np.nan), y)
    np.testing.assert_allclose(nothing.predict([[0, np.nan]]), y.mean())


def test_smoothing_would_break_monotone_constraints():
    X, y, _ = distinct(0, n=30)
    model = DecisionTreeClassifier(smoothing=1.0, monotonic_cst=[1, 0, 0, 0])
    with pytest.raises(ParameterError, match="smoothing"):
        model.fit(X, y > 0)


@pytest.mark.parametrize("scale", [1e-20, 1e9, 1e15, 1e40])
@pytest.mark.parametrize("max_bins", [None, 64])
def test_the_scale_of_targets_and_weights_is_no_matter(scale, max_bins):
    X, y, _ = distinct(0, n=60)
    model = DecisionTreeRegressor(max_depth=3, max_bins=max_bins)
    expected = model.fit(X, y).predict(X)
    np.testing.assert_allclose(model.fit(X, y * scale).predict(X) / scale, expected)
    weighted = model.fit(X, y, np.full(60, scale))
    np.testing.assert_allclose(weighted.predict(X), expected)


def test_targets_too_large_to_be_squared():
    X, y, _ = distinct(0, n=30)
    with pytest.raises(ValueError, match="too large for sums of squares"):
        DecisionTreeRegressor().fit(X, y * 1e300)


@pytest.mark.parametrize(
    "model",
    [DecisionTreeRegressor(), RandomForestRegressor(2), IsolationForest(),
     HistGradientBoostingRegressor(), RotationForestRegressor()],
    ids=lambda m: type(m).__name__,
)  # fmt: skip
def test_values_too_large_for_float32_are_refused_without_a_warning(model):
    X, y, _ = distinct(0, n=30)
    with pytest.raises(ValueError, match="too large"):  # a warning would be an error
        model.fit((X - X.mean()) * 1e300, y)


def test_a_sparse_target_is_refused_with_what_to_do():
    X, y = datasets.load_iris(return_X_y=True)
    Y = sp.csr_matrix(np.eye(3)[y])
    pairs = (
        (DecisionTreeClassifier(), TypeError),
        (RandomForestClassifier(2), ValueError),
    )
    for model, error in pairs:
        with pytest.raises(error, match="sparse multilabel-indicator"):
            model.fit(X, Y)
        model.fit(X, Y.toarray())


@pytest.mark.parametrize("criterion", ["gaussian", "gaussian_joint"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_gaussian_leaves_predict_the_mean_of_their_rows(criterion, scale, rng):
    """Whatever the unit of each output, which does not change the splits either."""
    X = rng.normal(size=(120, 2))
    Y = np.c_[X[:, 0] > 0, X[:, 1]] + 0.1 * rng.normal(size=(120, 2)) + 3
    w = rng.uniform(0.5, 2, 120)
    how = {"criterion": criterion, "max_depth": 3, "min_samples_leaf": 10}
    plain = DecisionTreeRegressor(**how).fit(X, Y, sample_weight=w)
    model = DecisionTreeRegressor(**how).fit(X, Y * [scale, 1], sample_weight=w)
    np.testing.assert_array_equal(model.apply(X), plain.apply(X))
    leaf = model.apply(X)
    expected = [
        np.average(Y[leaf == v], axis=0, weights=w[leaf == v]) * [scale, 1]
        for v in leaf
    ]
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-9)
