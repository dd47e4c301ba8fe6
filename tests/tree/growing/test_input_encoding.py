"""Categorical, directional and missing columns: reading, splitting and predicting."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy import persist
from pansophy.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestRegressor,
    RotationForestRegressor,
)
from pansophy.params import ParameterError
from pansophy.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    DirectionalSplit,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from pansophy.tree.growing.input_encoding import InputEncoder
from tests.oracles import tree as oracle


def frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    town = rng.choice(["Bern", "Rome", "Oslo", "Wien"], n).astype(object)
    grade = pd.Categorical(rng.choice(["a", "b", "c"], n), categories=list("cba"))
    size = rng.normal(size=n)
    town[::17] = None
    size[::13] = np.nan
    y = (town == "Rome") | ((grade == "a") & (size > 0))
    return pd.DataFrame({"town": town, "size": size, "grade": grade}), np.asarray(y)


def every_table(df):
    yield df
    yield pl.from_pandas(df)
    yield pa.Table.from_pandas(df, preserve_index=False)


def test_all_kinds_of_tables_give_the_same_tree():
    df, y = frame()
    trees = []
    for X in every_table(df):
        model = DecisionTreeClassifier(categorical_features="from_dtype").fit(X, y)
        assert model.feature_names_in_.tolist() == ["town", "size", "grade"]
        np.testing.assert_array_equal(model.predict(X), y)
        trees.append(model)
    values = df.to_numpy(object)
    for X in (values, values.tolist()):
        trees.append(DecisionTreeClassifier(categorical_features=[0, 2]).fit(X, y))
        np.testing.assert_array_equal(trees[-1].predict(X), y)
    for categorical in (["town", "grade"], [True, False, True]):
        trees.append(DecisionTreeClassifier(categorical_features=categorical))
        trees[-1].fit(df, y)
    for model in trees:
        np.testing.assert_array_equal(model.tree_.sets, trees[0].tree_.sets)
        np.testing.assert_array_equal(model.tree_.value, trees[0].tree_.value)


def test_codes_of_levels():
    X = np.array([["b", 1], ["a", 2], [None, 1], ["b", 7]], dtype=object)
    inputs = InputEncoder.learn(X, [0, 1])
    np.testing.assert_array_equal(
        inputs.encode(X), np.array([[1, 0], [0, 1], [np.nan, 0], [1, 2]], np.float32)
    )
    # a level never seen, and a number where words were learnt
    new = np.array([["z", 3], [5, 2]], dtype=object)
    np.testing.assert_array_equal(
        inputs.encode(new), np.array([[np.nan, np.nan], [np.nan, 1]], np.float32)
    )
    assert inputs.encode(X).dtype == np.float32
    mixed = np.array([[1], ["1"], ["x"]], dtype=object)
    assert InputEncoder.learn(mixed, [0]).tables[0].values.tolist() == ["1", "x"]
    big = np.array([[1e20], [-3.5], [1e20]])
    np.testing.assert_array_equal(
        InputEncoder.learn(big, [0]).encode(big)[:, 0], [1.0, 0.0, 1.0]
    )


def test_plain_tables_are_not_copied():
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    inputs = InputEncoder.learn(X)
    assert inputs.plain
    assert inputs.encode(X) is X or np.shares_memory(inputs.encode(X), X)


def test_ten_thousand_levels_share_a_code():
    rng = np.random.default_rng(0)
    level = np.concatenate([np.arange(10_000), rng.integers(0, 200, 10_000)])
    y = np.where(level < 200, level % 2, 2)
    X = np.array([f"k{v}" for v in level])[:, None]
    model = DecisionTreeClassifier(categorical_features=[0]).fit(X, y)
    codes = model.inputs_.encode(X)[:, 0]
    assert len(np.unique(codes)) == 255
    assert (codes == 254).sum() == 10_000 - 254
    assert model.score(X, y) == 1.0
    assert model.predict([["never"]])[0] in (0, 1, 2)
    # weights decide which levels keep a code
    w = np.where(level >= 9_900, 100.0, 1.0)
    kept = InputEncoder.learn(X, [0], w=w).encode(X)[:, 0]
    assert np.all(kept[level >= 9_900] < 254)


def test_unknown_missing_and_single_levels():
    X = np.array([["a"], ["b"], ["c"], ["c"], [None]], dtype=object)
    y = np.array([0, 1, 1, 1, 0])
    model = DecisionTreeClassifier(categorical_features=[0]).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    # a level never seen goes where missing values went
    assert model.predict([["new"], [None]]).tolist() == [0, 0]
    one = DecisionTreeClassifier(categorical_features=[0]).fit(
        [["a"]] * 4, [0, 1, 1, 1]
    )
    assert one.get_n_leaves() == 1
    assert one.predict([["b"]]).tolist() == [1]
    gone = np.array([[None, 1.0], [None, 2.0], [None, 3.0]], dtype=object)
    for options in ({"categorical_features": [0]}, {"directional_features": [0]}):
        empty = DecisionTreeRegressor(**options).fit(gone, [1.0, 2.0, 9.0])
        np.testing.assert_allclose(empty.predict(gone), [1.0, 2.0, 9.0])


def test_level_of_no_weight_is_unknown():
    X, y = np.array([["a"], ["b"], ["c"], ["c"]]), np.array([0, 1, 1, 1])
    for options in ({"sample_weight": [1, 1, 0, 0]}, {"class_weight": {0: 1, 1: 0}}):
        w = options.pop("sample_weight", None)
        model = DecisionTreeClassifier(categorical_features=[0], **options)
        model.fit(X, y, w)
        assert "c" not in model.inputs_.tables[0].values


def gains(model, X, y, w, ways, name):
    """Each inner node's gain and the largest one possible."""
    tree, codes = model.tree_, model.inputs_.encode(X)
    path = tree.decision_path(codes).toarray().astype(bool)
    y = y.reshape(len(y), -1)
    for node in np.flatnonzero(tree.children_left >= 0):
        rows = path[:, node]
        left = path[rows, tree.children_left[node]]
        mine = oracle.best_gain(name, [left], y[rows], w[rows])
        f = [way(X[rows, i]) for i, way in enumerate(ways)]
        most = max(oracle.best_gain(name, way, y[rows], w[rows]) for way in f)
        yield mine, most, w[rows].sum() * oracle.impurity(name, y[rows], w[rows])


def targets(kind, X, rng):
    t = np.nan_to_num(X[:, 0], nan=2.0)
    score = np.sin(3 * t) + np.cos(2 * np.nan_to_num(X[:, 1])) + rng.normal(size=len(X))
    if kind in ("gini", "entropy", "zero_one"):
        return (score > 0).astype(int)
    if kind == "many":
        return np.digitize(score, [-1, 0, 1])
    if kind == "poisson":
        return np.round(score**2) + 0.25
    if kind in ("pair", "gaussian_joint"):
        return np.c_[score, np.cos(t) + 0.3 * rng.normal(size=len(X))]
    return score


CLASSES = ("gini", "entropy", "zero_one")
SUBSETS = [*CLASSES, "squared_error", "poisson", "gaussian", "many", "pair"]


@pytest.mark.parametrize("kind", [*SUBSETS, "gaussian_joint"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("split", ["subset", "level"])
def test_sets_are_the_best_of_all(kind, missing, split):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 7, size=(90, 2)).astype(float)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    y, w = targets(kind, X, rng), rng.integers(1, 4, 90).astype(float)
    options = {"categorical_features": [0, 1], "categorical_split": split}
    name = {"many": "gini", "pair": "squared_error"}.get(kind, kind)
    if "gaussian" in kind:
        y = (y - np.average(y, axis=0, weights=w)) / np.sqrt(
            np.average((y - np.average(y, axis=0, weights=w)) ** 2, axis=0, weights=w)
        )
    cls = DecisionTreeClassifier if y.dtype.kind == "i" else DecisionTreeRegressor
    model = cls(name, max_depth=4, **options).fit(X, y, w)
    assert model.tree_.sets.any()
    way = oracle.subsets if split == "subset" else oracle.one_levels
    found = list(gains(model, X, y, w, [way, way], name))
    assert len(found) > 3
    for mine, most, whole in found:
        assert mine == pytest.approx(most, abs=1e-8 * whole)


def test_two_levels_agree_and_one_of_many_is_found():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(80, 3))
    y = rng.integers(0, 3, 80)
    fit = lambda split: DecisionTreeClassifier(
        categorical_features=[0, 1, 2], categorical_split=split
    ).fit(X, y)
    a, b = fit("subset"), fit("level")
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    numbers = DecisionTreeClassifier().fit(X, y)
    np.testing.assert_allclose(a.predict_proba(X), numbers.predict_proba(X))
    # one level against the rest needs a split per level, a set only one
    X = rng.integers(0, 12, size=(300, 1))
    y = np.isin(X[:, 0], [1, 4, 5, 9])
    sets = DecisionTreeClassifier(categorical_features=[0]).fit(X, y)
    level = DecisionTreeClassifier(
        categorical_features=[0], categorical_split="level"
    ).fit(X, y)
    assert sets.get_n_leaves() == 2
    assert level.get_n_leaves() == 5
    assert sorted(sets.splits_[0].right) == [1, 4, 5, 9]
    np.testing.assert_array_equal(sets.splits_[0].test(X[:, 0]), ~y)


def test_many_levels_and_classes_follow_the_main_direction():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 40, size=(4000, 1))
    y = X[:, 0] % 4
    model = DecisionTreeClassifier(categorical_features=[0]).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.get_n_leaves() < 12
    assert ExtraTreeClassifier(categorical_features=[0]).fit(X, y).score(X, y) == 1.0


ANGLES = [*CLASSES, "squared_error", "many", "pair"]


@pytest.mark.parametrize("kind", ANGLES)
@pytest.mark.parametrize("missing", [False, True])
def test_half_circles_are_the_best_of_all(kind, missing):
    rng = np.random.default_rng(4)
    X = rng.uniform(-4, 9, size=(60, 2))
    X[:, 1] = np.round(X[:, 1] * 2) * np.pi / 6  # the hours of a clock
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    y, w = targets(kind, X, rng), rng.integers(1, 4, 60).astype(float)
    cls = DecisionTreeClassifier if y.dtype.kind == "i" else DecisionTreeRegressor
    name = {"many": "gini", "pair": "squared_error"}.get(kind, kind)
    model = cls(name, directional_features=[0, 1], max_depth=4).fit(X, y, w)
    way = oracle.half_circles
    for mine, most, whole in gains(model, X, y, w, [way, way], name):
        assert mine == pytest.approx(most, abs=1e-8 * whole)
    # the description of a split agrees with the tree
    codes = model.inputs_.encode(X)
    path = model.tree_.decision_path(codes).toarray().astype(bool)
    for node, split in enumerate(model.splits_):
        if split is not None:
            assert isinstance(split, DirectionalSplit)
            rows = path[:, node]
            left = path[rows, model.tree_.children_left[node]]
            x = X[rows, split.feature]
            np.testing.assert_array_equal(split.test(x), left)
            there = ~np.isnan(x)
            plain = np.c_[np.cos(x), np.sin(x)][there] @ split.u >= 0
            np.testing.assert_array_equal(plain, left[there])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 6.28), st.sampled_from([30, 400]))
def test_angles_wrap_and_turn(seed, turn, n):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 2 * np.pi, size=(n, 1))
    y = np.cos(t[:, 0] - 1) + 0.5 * rng.normal(size=n)
    fit = lambda t: DecisionTreeRegressor(directional_features=[0], max_depth=3).fit(
        t, y
    )
    plain = fit(t)
    grid = np.linspace(0, 7, 500)[:, None]
    again = fit(t + 2 * np.pi * rng.integers(-3, 4, size=t.shape))
    np.testing.assert_array_equal(plain.tree_.sets, again.tree_.sets)
    np.testing.assert_allclose(plain.predict(t), again.predict(t - 4 * np.pi))
    turned = fit(t + turn)
    np.testing.assert_allclose(turned.predict(t + turn), plain.predict(t))
    for a, b in zip(plain.splits_, turned.splits_):
        if a is not None:
            off = np.mod(b.direction - a.direction - turn + 1, 2 * np.pi)
            assert off == pytest.approx(1, abs=1e-5)
    same = np.mean(turned.predict(grid + turn) == plain.predict(grid))
    assert same > 0.99


def test_days_of_the_week_wrap():
    day = np.tile(np.arange(7.0), 8)[:, None]
    y = np.isin(day[:, 0], [6, 0, 1]).astype(float)
    week = DecisionTreeRegressor(directional_features={0: 7}, max_depth=1).fit(day, y)
    line = DecisionTreeRegressor(max_depth=1).fit(day, y)
    np.testing.assert_array_equal(week.predict(day) > 0.5, y > 0.5)
    assert not np.array_equal(line.predict(day) > 0.5, y > 0.5)
    split = week.splits_[0]
    middle = split.direction if split.test([0.0])[0] else (split.direction + 3.5) % 7
    assert min(middle, 7 - middle) < 1.01
    np.testing.assert_array_equal(week.predict(day + 7), week.predict(day))
    names = pd.DataFrame({"day": day[:, 0], "z": 0.0})
    named = DecisionTreeRegressor(directional_features={"day": 7}).fit(names, y)
    np.testing.assert_allclose(named.predict(names), y, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"max_leaf_nodes": 6}, {"max_features": 1}])
def test_row_order_weights_and_thread_counts_do_not_matter(options, monkeypatch):
    rng = np.random.default_rng(7)
    X = np.c_[
        rng.integers(0, 12, (500, 2)), rng.uniform(0, 6, 500), rng.normal(size=500)
    ]
    y, times = rng.integers(0, 3, 500), rng.integers(1, 4, 500)
    model = DecisionTreeClassifier(
        categorical_features=[0, 1],
        directional_features=[2],
        random_state=0,
        min_samples_leaf=0.02,
        **options,
    )
    weighted = model.fit(X, y, times).predict_proba(X)
    copies = rng.permutation(np.repeat(np.arange(500), times))
    model.set_params(min_samples_leaf=1)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    weighted = model.fit(X, y, times).predict_proba(X)
    repeated = model.fit(X[copies], y[copies]).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-12)


def test_both_branches_are_averaged():
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1], [1, 0], [1, 1]])
    y = np.array([1.0, 2, 3, 7, 3, 7])
    model = DecisionTreeRegressor(missing="both").fit(X, y)
    np.testing.assert_allclose(model.predict(X), y)
    np.testing.assert_allclose(
        model.predict([[np.nan, 0], [np.nan, 1], [1, np.nan], [np.nan, np.nan]]),
        [(2 * 1 + 4 * 3) / 6, (2 * 2 + 4 * 7) / 6, 5, (1 * 3 + 4 * 5) / 6]
        if model.tree_.feature[0] == 1
        else [7 / 3, 16 / 3, 5, 23 / 6],
    )
    df, y = frame()
    options = {"categorical_features": "from_dtype", "max_depth": 4}
    default = DecisionTreeClassifier(**options).fit(df, y)
    both = DecisionTreeClassifier(missing="both", **options).fit(df, y)
    full = ~df.isna().any(axis=1)
    np.testing.assert_array_equal(
        default.predict_proba(df[full]), both.predict_proba(df[full])
    )
    p = both.predict_proba(df)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    codes, tree = both.inputs_.encode(df), both.tree_
    for i in np.flatnonzero(~full)[:10]:
        np.testing.assert_allclose(p[i], walk(tree, codes[i], 0))
    np.testing.assert_array_equal(both.predict(df), both.classes_[p.argmax(axis=1)])


def walk(tree, x, node):
    """The weighted average of the sub-trees of a node, slowly."""
    a, b = tree.children_left[node], tree.children_right[node]
    if a < 0:
        return tree.value[node, 0]
    v, w = x[tree.feature[node]], tree.weighted_n_node_samples
    if np.isnan(v):
        return (w[a] * walk(tree, x, a) + w[b] * walk(tree, x, b)) / (w[a] + w[b])
    left = v <= tree.threshold[node]
    if tree.sets[node].any():
        left = int(tree.sets[node][int(v) // 64]) >> (int(v) % 64) & 1
    return walk(tree, x, a if left else b)


def test_smoothing():
    X, y = [[0], [0], [0], [1]], ["a", "a", "b", "c"]
    model = DecisionTreeClassifier(smoothing=1.0, max_depth=1).fit(X, y)
    np.testing.assert_allclose(
        model.predict_proba([[0], [1]]), [[3 / 6, 2 / 6, 1 / 6], [1 / 4, 1 / 4, 2 / 4]]
    )
    assert np.isfinite(model.predict_log_proba([[0]])).all()
    two = DecisionTreeClassifier(smoothing=0.5).fit(
        X, np.c_[[0, 0, 1, 1], [0, 1, 2, 2]]
    )
    a, b = two.predict_proba(X)
    np.testing.assert_allclose(a.sum(axis=1), 1)
    np.testing.assert_allclose(b[3], [0.5 / 2.5, 0.5 / 2.5, 1.5 / 2.5])


@pytest.mark.parametrize("cls", [ExtraTreeClassifier, ExtraTreeRegressor])
def test_random_sets_repeat_with_the_seed(cls):
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(0, 30, 300), rng.uniform(0, 6, 300), rng.integers(0, 3, 300)]
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    y = rng.integers(0, 3, 300)
    for split in ("subset", "level"):
        fit = lambda seed, split=split: cls(
            random_state=seed,
            categorical_features=[0, 2],
            directional_features=[1],
            categorical_split=split,
        ).fit(X, y)
        a, b, c = fit(0), fit(0), fit(1)
        np.testing.assert_array_equal(a.tree_.sets, b.tree_.sets)
        assert not np.array_equal(a.tree_.sets, c.tree_.sets)
        assert a.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"categorical_features": "all"}, "categorical_features"),
        ({"categorical_features": [3]}, "must be in .0, n_features - 1."),
        ({"categorical_features": ["x"]}, "without feature names. Got 'x'"),
        ({"categorical_features": [True]}, "boolean mask must have shape"),
        ({"categorical_features": [0.5]}, "bool, int or str, got: float64"),
        ({"directional_features": {0: 0}}, "periods of directional_features"),
        ({"directional_features": [0], "categorical_features": [0]}, "cannot be both"),
        ({"categorical_features": [0], "monotonic_cst": [1, 0, 0]}, "monotonic_cst"),
        (
            {"categorical_features": [0], "criterion": "absolute_error"},
            "quantiles need",
        ),
    ],
)
def test_bad_parameters_are_named(options, words):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises((ValueError, ParameterError), match=words):
        DecisionTreeRegressor(**options).fit(X, X[:, 0])


def test_bad_tables_are_named():
    X = np.array([["a", 1.0], ["b", "x"]], dtype=object)
    with pytest.raises(ValueError, match="column 1 of X holds"):
        DecisionTreeClassifier(categorical_features=[0]).fit(X, [0, 1])
    with pytest.raises(ValueError, match="infinity"):
        DecisionTreeClassifier(categorical_features=[0]).fit(
            [[1, np.inf]] * 3, [0, 1, 1]
        )
    import scipy.sparse as sp

    with pytest.raises(TypeError, match="sparse"):
        DecisionTreeClassifier(categorical_features=[0]).fit(
            sp.eye(3).tocsr(), [0, 1, 1]
        )
    df, y = frame()
    model = DecisionTreeClassifier(categorical_features="from_dtype").fit(df, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(df[["size", "town", "grade"]])
    values = DecisionTreeClassifier(categorical_features=[0, 2]).fit(df.to_numpy(), y)
    with pytest.raises(ValueError, match="3 features"):
        values.predict([["Rome", 1.0]])


def test_levels_and_angles_are_saved(tmp_path):
    df, y = frame()
    df["hour"] = np.arange(len(df)) % 24.0
    model = DecisionTreeClassifier(
        categorical_features="from_dtype", directional_features={"hour": 24}
    ).fit(df, y)
    persist.save(model, tmp_path / "tree.pansophy")
    again = persist.load(tmp_path / "tree.pansophy")
    df.loc[0, "town"] = "Paris"
    np.testing.assert_array_equal(model.predict_proba(df), again.predict_proba(df))
    assert again.splits_ == model.splits_


def test_a_single_column_is_no_table():
    from pansophy.ensemble import HistGradientBoostingRegressor

    for kind in (DecisionTreeRegressor, HistGradientBoostingRegressor):
        with pytest.raises(ValueError, match="Expected 2D array"):
            kind(categorical_features=[0]).fit(["a", "b"], [1.0, 2.0])


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(),
        RandomForestRegressor(2),
        GradientBoostingRegressor(n_estimators=2),
        HistGradientBoostingRegressor(max_iter=2),
        IsolationForest(n_estimators=2),
        RotationForestRegressor(n_estimators=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_column_that_is_0_as_float32_is_named(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 1].copy()
    X[:, 1] *= 1e-300
    with pytest.warns(UserWarning, match="column 1 of X holds only values that are 0"):
        model.fit(X, y)
    X[:, 1] *= 1e280  # few of 60 values near 0 are no loss
    X[0, 1] = 1e-300
    model.fit(X, y)


@pytest.mark.parametrize("scale", [1e-150, 1e-300, 5e-324])
@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(),
        DecisionTreeRegressor("gaussian"),
        RandomForestRegressor(2),
        GradientBoostingRegressor(n_estimators=2),
        HistGradientBoostingRegressor(max_iter=2),
    ],
)
def test_targets_too_close_for_squares_are_refused(model, scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.round(10 * X[:, 0]) * scale
    with pytest.raises(ValueError, match=r"too little for sums of\s+squares"):
        model.fit(X, y)
    model.fit(X, np.full(60, scale))  # equal targets are no problem


def test_small_and_large_targets_are_fitted_alike():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=80)
    for model in (
        DecisionTreeRegressor(max_depth=3),
        RandomForestRegressor(3, random_state=0),
        GradientBoostingRegressor(n_estimators=3),
        HistGradientBoostingRegressor(max_iter=3),
    ):
        plain = model.fit(X, y).predict(X)
        for scale in (1e-130, 1e-30, 1e30, 1e130):
            scaled = model.fit(X, y * scale).predict(X) / scale
            np.testing.assert_allclose(scaled, plain, rtol=1e-6, atol=1e-9)
