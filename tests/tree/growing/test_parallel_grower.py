"""The parallel grower: Newton trees, tiles of columns, threads, row subsets, sets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.tree.growing import grower as grower_module
from pansophy.tree.growing._structures import NEWTON, SQUARE
from pansophy.tree.growing.criteria import Criterion
from pansophy.tree.growing.grower import Grower, GrowthLimits
from pansophy.tree.growing.prepared_columns import prepare_columns
from tests.oracles import newton_tree
from tests.tree.growing.test_grower import same

VIEWS = {
    "lists": {"as_bytes": False},
    "bytes": {"max_bins": 255},
    "tiles": {"max_bins": 255, "interleave": True},
}


def table(seed, n=90, d=4, missing=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1])
    score = 2 * X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.asarray(score, float), rng.random(n) + 0.1, rng


def newton(X, y, w, view="tiles", l2=0.0, rows=None, forms=None, **limits):
    options = VIEWS[view] if isinstance(view, str) else view
    grower = Grower(
        prepare_columns(X, forms=forms, **options),
        Criterion(NEWTON, 1, l2=l2),
        GrowthLimits(**limits),
    )
    return grower.grow(y[:, None], w, rows=rows)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("case", ["plain", "limits", "monotone", "groups"])
def test_newton_tree_equals_slow_tree(view, case):
    X, y, w, _ = table(3)
    slow = {"max_leaves": 9, "l2": 0.7}
    fast = {"max_leaves": 9, "l2": 0.7}
    if case == "limits":
        slow |= {"min_leaf": 6, "min_weight": 4.0}
        fast |= {"min_leaf": 6, "min_weight": 4.0}
    if case == "monotone":
        slow["sign"] = [1, 0, -1, 0]
        fast["signs"] = np.array([1, 0, -1, 0])
    if case == "groups":
        slow["groups"] = fast["groups"] = np.array([[1, 1, 0, 0], [0, 1, 1, 1]], bool)
    tree, rows, start, stop = newton(X, w * y, w, view, **fast)
    nodes = newton_tree.grow(X, w * y, w, **slow)
    assert tree.node_count == len(nodes)
    for i, node in enumerate(nodes):
        np.testing.assert_array_equal(np.sort(rows[start[i] : stop[i]]), node["rows"])
        value = np.clip(node["value"], node["low"], node["high"])
        assert tree.value[i, 0, 0] == pytest.approx(value)
        if "children" in node:
            _, feature, threshold, missing_left, *_ = node["split"]
            assert (tree.feature[i], tree.threshold[i]) == (feature, threshold)
            assert tree.missing_go_to_left[i] == missing_left
        else:
            assert tree.children_left[i] == -1


def test_no_gain_no_split():
    X = np.arange(20.0, dtype=np.float32)[:, None]
    for view in VIEWS:
        assert newton(X, np.zeros(20), None, view).tree.node_count == 1
        assert newton(X, np.ones(20), None, view, l2=1.0).tree.node_count == 1


def test_tiles_of_any_width_and_small_pools_give_the_same_tree(monkeypatch):
    for d in (1, 3, 8, 11, 17):
        X, y, w, _ = table(d, n=4000, d=max(d, 3))
        X = np.ascontiguousarray(X[:, :d])
        limits = {"max_leaves": 40, "min_leaf": 5}
        trees = [newton(X, w * y, w, view, **limits) for view in ("bytes", "tiles")]
        monkeypatch.setattr(grower_module, "HISTOGRAM_POOL", 0)
        trees.append(newton(X, w * y, w, **limits))
        monkeypatch.undo()
        for other in trees[1:]:
            same(trees[0].tree, other.tree)
            np.testing.assert_array_equal(trees[0].rows, other.rows)


@pytest.mark.parametrize("kind", ["newton", "squares", "deep"])
def test_threads_do_not_matter(kind, monkeypatch):
    X, y, w, _ = table(8, n=40_000, d=9)
    criterion = Criterion(NEWTON, 1) if kind == "newton" else Criterion(SQUARE, 1)
    limits = (
        GrowthLimits() if kind == "deep" else GrowthLimits(max_leaves=60, min_leaf=10)
    )
    grower = Grower(
        prepare_columns(X, max_bins=100, interleave=True), criterion, limits
    )
    grow = lambda: grower.grow(np.round(y, 1)[:, None], w)
    many = [grow() for _ in range(3)]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    alone = grow()
    for one in many:
        same(one.tree, alone.tree)
        np.testing.assert_array_equal(one.rows, alone.rows)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_row_order_does_not_matter_at_all(seed):
    X, y, w, rng = table(seed, n=300)
    order = rng.permutation(len(X))
    limits = {"max_leaves": 12, "min_leaf": 3}
    one = newton(X, y, w, **limits).tree
    other = newton(X[order], y[order], w[order], **limits).tree
    same(one._replace(value=0, weighted_n_node_samples=0),
         other._replace(value=0, weighted_n_node_samples=0))  # fmt: skip
    np.testing.assert_allclose(one.value, other.value, rtol=1e-12, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_weights_are_repetition_in_bins(seed):
    X, y, _, rng = table(seed, n=120)
    times = rng.integers(1, 5, len(X))
    copies = np.repeat(np.arange(len(X)), times)
    limits = GrowthLimits(max_leaves=20)

    def grow(X, y, w):
        grower = Grower(
            prepare_columns(X, w, 12, interleave=True), Criterion(SQUARE, 1), limits
        )
        return grower.grow(y[:, None], w).tree

    one, other = grow(X, y, times.astype(float)), grow(X[copies], y[copies], None)
    np.testing.assert_array_equal(one.feature, other.feature)
    np.testing.assert_array_equal(one.threshold, other.threshold)
    np.testing.assert_array_equal(one.weighted_n_node_samples, other.n_node_samples)
    np.testing.assert_allclose(one.value, other.value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("view", VIEWS)
def test_some_rows_are_as_good_as_a_table_of_them(view):
    X, y, w, rng = table(2, n=500)
    X = np.round(X, 1)  # as many values as bins
    rows = np.sort(rng.choice(500, 300, replace=False)).astype(np.int32)
    some = newton(X, y, w, view, max_leaves=25, rows=rows)
    alone = newton(X[rows], y[rows], w[rows], view, max_leaves=25)
    same(some.tree, alone.tree)
    np.testing.assert_array_equal(some.rows, rows[alone.rows])


@pytest.mark.parametrize("view", ["bytes", "tiles"])
@pytest.mark.parametrize("form", [1, 2])
def test_rows_follow_their_sets(view, form):
    X, y, w, rng = table(4, n=600)
    X[:, 3] = np.where(rng.random(600) < 0.1, np.nan, rng.integers(0, 200, 600))
    y = y + 3 * np.sin(np.nan_to_num(X[:, 3], nan=7.0))
    forms = np.array([0, 0, 0, form], np.int8)
    tree, rows, start, stop = newton(X, y, w, view, max_leaves=15, forms=forms)
    assert np.any(tree.sets)
    for v in np.flatnonzero(tree.sets.any(axis=1)):
        x = X[rows[start[v] : stop[v]], 3]
        bits = np.unpackbits(tree.sets[v].view(np.uint8), bitorder="little")
        left = bits[np.nan_to_num(x).astype(int)].astype(bool)
        left = np.where(np.isnan(x), tree.missing_go_to_left[v], left)
        cut = stop[tree.children_left[v]] - start[v]
        np.testing.assert_array_equal(left, np.arange(len(x)) < cut)


def test_a_pure_node_is_a_leaf_whatever_the_weights():
    X, _, w, _ = table(6, n=400)
    classes = (X[:, :1] > 0.1).astype(float)
    grower = Grower(
        prepare_columns(X, w, 60, interleave=True),
        Criterion(SQUARE, 1, (2,)),
        GrowthLimits(),
    )
    tree = grower.grow(classes, w).tree
    leaf = tree.children_left < 0
    assert np.all(tree.impurity[~leaf] > 1e-9)
    mixed = np.flatnonzero(leaf & (tree.impurity > 0))
    assert len(mixed) == 0 or np.all(tree.n_node_samples[mixed] > 1)
