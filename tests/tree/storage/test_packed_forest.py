"""Packed trees: the same leaves and sums as the trees they were made of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.core.loops import threads
from pansophy.tree import DecisionTreeClassifier, DecisionTreeRegressor
from pansophy.tree.storage.packed_forest import (
    KEEP_ALL,
    KEEP_IMPURITIES,
    KEEP_LEAVES,
    pack_forest,
    smallest_exact_dtype,
)


def table(n=300, d=5, seed=0, missing=True):
    """Rows with ties, missing and huge values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[:, 1] = X[:, 1].round(1)
    if missing:
        X[rng.random((n, d)) < 0.1] = np.nan
    X[:3, 0] = np.finfo(np.float32).max, -np.finfo(np.float32).max, 0.0
    return X, np.nan_to_num(X[:, 1]) + rng.normal(size=n)


def trees(X, y, k=5, **options):
    fit = lambda i: DecisionTreeRegressor(max_features=2, random_state=i, **options)
    return [fit(i).fit(X, y).tree_ for i in range(k)]


def probes(X, some):
    """Rows at, just below and just above thresholds, infinities and missing values."""
    rng = np.random.default_rng(1)
    values = np.concatenate([t.threshold[t.feature >= 0] for t in some])
    near = values.astype(np.float32)
    around = [near, np.nextafter(near, np.float32(9e9)), np.nextafter(near, -near)]
    pool = np.concatenate([*around, [np.inf, -np.inf, np.nan, 0.0]]).astype(np.float32)
    return rng.choice(pool, size=(2000, X.shape[1]))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("leaves", [None, 8])
def test_same_leaves_and_sums(missing, leaves):
    X, y = table(missing=missing)
    some = trees(X, y, max_leaf_nodes=leaves)
    forest = pack_forest(some)
    Z = np.concatenate([X, probes(X, some)])
    if not missing:
        Z = np.nan_to_num(Z, nan=0.5)
    expected = sum(t.predict(Z)[:, :, 0] for t in some)
    np.testing.assert_array_equal(forest.sum(Z), expected)
    if leaves is None:  # nodes are numbered root, left branch, right branch in both
        np.testing.assert_array_equal(
            forest.apply(Z), np.stack([t.apply(Z) for t in some], axis=1)
        )
    value = forest.value[forest.leaves(Z)][:, :, 0]
    np.testing.assert_array_equal(
        value, np.stack([t.predict(Z)[:, 0, 0] for t in some], axis=1)
    )


def test_splits_by_set():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 40, size=(500, 3)).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.isin(X[:, 0], [1, 5, 7, 30]) + 0.1 * rng.normal(size=500)
    model = DecisionTreeRegressor(categorical_features=[0, 2]).fit(X, y)
    assert model.tree_.sets is not None
    forest = pack_forest([model.tree_, model.tree_])
    Z = rng.integers(-1, 60, size=(300, 3)).astype(float)  # some levels are new
    codes = model.inputs_.encode(Z)
    np.testing.assert_array_equal(forest.sum(codes)[:, 0], 2 * model.predict(Z))
    again = forest.tree(1)
    np.testing.assert_array_equal(again.sets, model.tree_.sets)
    np.testing.assert_array_equal(again.apply(codes), model.tree_.apply(codes))


def test_range_of_trees_out_and_columns():
    X, y = table(200)
    some = trees(X, y, 6)
    forest = pack_forest(some)
    parts = forest.sum(X, 0, 2) + forest.sum(X, 2, 6)
    np.testing.assert_allclose(parts, forest.sum(X), rtol=1e-14)
    out = np.ones((200, 1))
    assert forest.sum(X, out=out) is out
    np.testing.assert_allclose(out, 1 + parts, rtol=1e-14)
    by_class = forest.sum(X, column=np.arange(6) % 3)
    assert by_class.shape == (200, 3)
    expected = some[1].predict(X)[:, 0, 0] + some[4].predict(X)[:, 0, 0]
    np.testing.assert_array_equal(by_class[:, 1], expected)


def test_float64_rows_are_rounded_like_float32():
    X, y = table(200)
    forest = pack_forest(trees(X, y))
    Z = np.random.default_rng(3).normal(size=(100, 5))
    np.testing.assert_array_equal(forest.sum(Z), forest.sum(Z.astype(np.float32)))


def test_same_for_any_number_of_threads():
    X, y = table(200)
    forest = pack_forest(trees(X, y, 20))
    Z = np.tile(X, (200, 1))
    with threads.limit_threads(1):
        one = forest.sum(Z)
    with threads.limit_threads(2):
        np.testing.assert_array_equal(forest.sum(Z), one)


CRITERIA = [
    (DecisionTreeRegressor, "squared_error", KEEP_LEAVES),
    (DecisionTreeRegressor, "poisson", KEEP_IMPURITIES),
    (DecisionTreeRegressor, "absolute_error", KEEP_ALL),
    (DecisionTreeClassifier, "gini", KEEP_LEAVES),
    (DecisionTreeClassifier, "entropy", KEEP_IMPURITIES),
]


@pytest.mark.parametrize(("kind", "criterion", "keep"), CRITERIA)
@pytest.mark.parametrize("outputs", [1, 2])
def test_trees_come_back_whole(kind, criterion, keep, outputs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    Y = rng.integers(0, 4, size=(150, outputs))
    Y = Y[:, 0] if outputs == 1 else Y
    fit = lambda i: kind(
        criterion=criterion, max_depth=3 + i, max_features=2, random_state=i
    )
    w = rng.integers(1, 4, size=150).astype(float)
    some = [fit(i).fit(X, Y, w).tree_ for i in range(3)]
    forest = pack_forest(some, keep)
    for t, tree in enumerate(some):
        again = forest.tree(t)
        for name in tree._fields[:9]:
            a, b = getattr(again, name), getattr(tree, name)
            assert a.dtype == b.dtype, name
            tol = {"rtol": 1e-6, "atol": 1e-6} if name == "threshold" else {}
            np.testing.assert_allclose(a, b, err_msg=name, **{"atol": 1e-12, **tol})
        assert again.n_features == tree.n_features


def test_a_single_leaf():
    model = DecisionTreeRegressor().fit([[0.0], [1.0]], [3.0, 3.0])
    forest = pack_forest([model.tree_] * 3)
    np.testing.assert_array_equal(forest.sum(np.zeros((5, 1), np.float32)), 9.0)
    np.testing.assert_array_equal(forest.apply(np.zeros((5, 1), np.float32)), 0)
    assert forest.sum(np.zeros((0, 1), np.float32)).shape == (0, 1)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False), min_size=2, max_size=12))
def test_any_floats(values):
    X = np.array(values, np.float32)[:, None]
    if np.isinf(X).any():
        X = np.clip(X, np.finfo(np.float32).min, np.finfo(np.float32).max)
    tree = DecisionTreeRegressor().fit(X, np.arange(len(X))).tree_
    ends = np.float32([np.inf, -np.inf])
    with np.errstate(over="ignore", under="ignore"):
        up, down = np.nextafter(X, ends[0]), np.nextafter(X, ends[1])
    Z = np.concatenate([X, up, down, [[np.nan], [np.inf], [-np.inf]]]).astype(
        np.float32
    )
    np.testing.assert_array_equal(pack_forest([tree]).apply(Z)[:, 0], tree.apply(Z))


def test_narrow_loses_nothing():
    for a, kind in [
        (np.array([0.0, 255.0]), np.uint8),
        (np.array([0.0, 256.0]), np.uint16),
        (np.array([0.5, -1.0]), np.float32),
        (np.array([0.1]), np.float64),
        (np.array([1e300]), np.float64),
    ]:
        small = smallest_exact_dtype(a)
        assert small.dtype == kind
        np.testing.assert_array_equal(small.astype(float), a)


def test_twelve_bytes_a_node():
    X, y = table(2000, missing=False)
    forest = pack_forest(trees(X, y))
    assert forest.nbytes <= 12 * forest.node_count
