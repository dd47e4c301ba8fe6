"""ID3 and C4.5: the textbook tree, a slow reference, levels of every kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy import datasets, persist
from pansophy.tree import (
    C45Classifier,
    ID3Classifier,
    export_text,
    information_gain,
    multiway_tree,
)
from tests.oracles import id3 as oracle


@pytest.fixture(scope="module")
def weather():
    table = datasets.load_weather().table
    return table.drop_columns(["Play"]).to_pandas(), np.array(table["Play"].to_pylist())


def test_weather_tree(weather):
    X, y = weather
    model = ID3Classifier().fit(X, y)
    assert export_text(model) == (
        "|--- Outlook = Overcast\n"
        "|   |--- class: yes\n"
        "|--- Outlook = Rainy\n"
        "|   |--- Humidity = High\n"
        "|   |   |--- class: no\n"
        "|   |--- Humidity = Normal\n"
        "|   |   |--- class: yes\n"
        "|--- Outlook = Sunny\n"
        "|   |--- Windy = FALSE\n"
        "|   |   |--- class: yes\n"
        "|   |--- Windy = TRUE\n"
        "|   |   |--- class: no\n"
    )
    assert model.get_n_leaves() == 5 and model.get_depth() == 2
    assert model.score(X, y) == 1.0
    assert "5 leaves, depth 2" in str(model)
    # every node: what it asks, the level that leads to it, its days without and with
    # play, its entropy
    tree, names = model.tree_, list(X.columns)
    walk, todo = [], [(0, "")]
    while todo:
        v, level = todo.pop(0)
        asks = "" if tree.is_leaf[v] else names[tree.feature[v]]
        walk.append((level, asks, *tree.counts[v], round(tree.impurity[v], 6)))
        if not tree.is_leaf[v]:
            levels = model.inputs_.tables[tree.feature[v]].values
            todo += [(c, str(levels[tree.level[c]])) for c in tree.children(v)]
    assert walk == [
        ("", "Outlook", 5, 9, 0.940286),
        ("Overcast", "", 0, 4, 0.0),
        ("Rainy", "Humidity", 3, 2, 0.970951),
        ("Sunny", "Windy", 2, 3, 0.970951),
        ("High", "", 3, 0, 0.0),
        ("Normal", "", 0, 2, 0.0),
        ("FALSE", "", 0, 3, 0.0),
        ("TRUE", "", 2, 0, 0.0),
    ]
    assert tree.node_count == len(walk)


def gains(X, y):
    groups = lambda c: [[np.sum(y[X[c] == v] == k) for k in ("yes", "no")] for v in
                        X[c].unique()]  # fmt: skip
    return {c: information_gain(*groups(c)) for c in X}


def test_weather_gains(weather):
    X, y = weather
    root = gains(X, y)
    want = {"Outlook": 0.246750, "Humidity": 0.151836, "Windy": 0.048127}
    assert root == pytest.approx({**want, "Temp": 0.029223}, abs=1e-6)
    # what the tree gained at its root is the best of them
    tree = ID3Classifier(max_depth=1).fit(X, y).tree_
    gained = tree.compute_feature_importances(normalize=False)
    assert gained[0] == pytest.approx(0.246750, abs=1e-6)
    inside = {
        v: gains(X[X.Outlook == v], y[X.Outlook == v]) for v in ("Sunny", "Rainy")
    }
    assert inside["Sunny"]["Windy"] == pytest.approx(0.970951, abs=1e-6)
    assert inside["Sunny"]["Humidity"] == pytest.approx(0.019973, abs=1e-6)
    assert inside["Rainy"]["Humidity"] == pytest.approx(0.970951, abs=1e-6)
    assert inside["Rainy"]["Temp"] == pytest.approx(0.570951, abs=1e-6)


def nested(tree, node=0):
    """A MultiwayTree in the oracle's form."""
    counts = {c: w for c, w in enumerate(tree.counts[node]) if w > 0}
    below = {int(tree.level[c]): nested(tree, c) for c in tree.children(node)}
    t = None if np.isnan(tree.threshold[node]) else float(tree.threshold[node])
    return counts, int(tree.feature[node]) if below else None, t, below


def same(a, b):
    assert a[0] == pytest.approx(b[0])
    assert a[1] == b[1]
    assert a[2] == pytest.approx(b[2])
    assert sorted(a[3]) == sorted(b[3])
    for k in a[3]:
        same(a[3][k], b[3][k])


@pytest.mark.parametrize("ratio", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_levels_agree_with_the_oracle(ratio, missing):
    rng = np.random.default_rng(0)
    X = rng.integers(0, [2, 3, 4, 6], size=(60, 4)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] + rng.integers(0, 2, 60)).astype(int) % 3
    X[rng.random(X.shape) < missing] = np.nan
    tree = multiway_tree.grow_multiway_tree(X, [2, 3, 4, 6], y, None, 3, ratio=ratio)
    columns = [[None if np.isnan(v) else int(v) for v in x] for x in X.T]
    rows = [(i, 1.0) for i in range(60)]
    same(
        nested(tree),
        oracle.grow(columns, [False] * 4, y.tolist(), rows, ratio=ratio, eager=True),
    )


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_thresholds_agree_with_the_oracle(missing):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3)).round(1).astype(np.float32)
    X[:, 2] = rng.integers(0, 4, 80)
    y = ((X[:, 0] > 0.3) ^ (X[:, 2] == 1)).astype(int) + (X[:, 1] > 1)
    X[rng.random(X.shape) < missing] = np.nan
    how = {"ratio": True, "eager": False, "least": 2.0}
    tree = multiway_tree.grow_multiway_tree(X, [0, 0, 4], y, None, 3, **how)
    columns = [[None if np.isnan(v) else float(v) for v in x] for x in X.T]
    rows = [(i, 1.0) for i in range(80)]
    assert tree.n_leaves > 4
    same(
        nested(tree), oracle.grow(columns, [True, True, False], y.tolist(), rows, **how)
    )


def test_every_kind_of_table_gives_the_same_tree(weather):
    import polars as pl

    X, y = weather
    forms = [X, X.to_numpy(), X.to_numpy().tolist(), pl.from_pandas(X),
             datasets.load_weather().table.drop_columns(["Play"]),
             X.astype("category")]  # fmt: skip
    for Z in forms:
        model = ID3Classifier().fit(Z, y)
        assert model.get_n_leaves() == 5
        np.testing.assert_array_equal(model.predict(Z), y)


@pytest.mark.parametrize("cls", [ID3Classifier, C45Classifier])
def test_weights_are_repetition(cls, weather):
    X, y = weather
    w = np.array([2, 1, 3, 0, 1, 2, 1, 1, 4, 1, 0, 1, 2, 1])
    a = cls().fit(X, y, w)
    b = cls().fit(X.loc[X.index.repeat(w)], np.repeat(y, w))
    np.testing.assert_array_equal(a.tree_.nodes, b.tree_.nodes)
    np.testing.assert_allclose(a.tree_.counts, b.tree_.counts)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["information_gain", "gain_ratio"]))
def test_consistent_rows_are_fitted_and_columns_asked_once(seed, criterion):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(40, 4))
    y = (X @ [27, 9, 3, 1]) % 7 % 3  # a function of the row
    model = ID3Classifier(criterion).fit(X, y)
    assert model.score(X, y) == 1.0
    tree = model.tree_
    for leaf in np.flatnonzero(tree.is_leaf):
        asked, v = [], tree.parent[leaf]
        while v >= 0:
            asked.append(int(tree.feature[v]))
            v = tree.parent[v]
        assert len(asked) == len(set(asked)) <= 4
    order = rng.permutation(40)
    again = ID3Classifier(criterion).fit(X[order], y[order]).tree_
    np.testing.assert_array_equal(tree.nodes, again.nodes)


def test_unknown_and_missing_levels_are_answered_by_the_node(weather):
    X, y = weather
    model = ID3Classifier().fit(X, y)
    new = [["Foggy", "Hot", "High", "TRUE"], [None, "Hot", "High", "TRUE"],
           ["Rainy", "Hot", None, "TRUE"], ["Sunny", "?", "?", "TRUE"]]  # fmt: skip
    new = type(X)(new, columns=X.columns)
    assert model.predict(new).tolist() == ["yes", "yes", "no", "no"]
    np.testing.assert_allclose(model.predict_proba(new)[0], [5 / 14, 9 / 14])


def test_missing_rows_are_shared_out(weather):
    X, y = weather
    model = C45Classifier(confidence=None).fit(X, y)
    new = type(X)([[None, "Hot", "High", "TRUE"]], columns=X.columns)
    p = model.predict_proba(new)[0]
    # 4/14 overcast: yes; 5/14 rainy and humid: no; 5/14 sunny and windy: no
    np.testing.assert_allclose(p, [10 / 14, 4 / 14])
    Z = X.copy()
    Z.loc[0, "Outlook"] = None
    tree = C45Classifier("information_gain", confidence=None).fit(Z, y).tree_
    below = tree.weighted_n_node_samples[tree.children(0)]
    np.testing.assert_allclose(below, np.array([4, 4, 5]) * 14 / 13)


def test_limits(weather):
    X, y = weather
    assert ID3Classifier(max_depth=1).fit(X, y).get_n_leaves() == 3
    assert ID3Classifier(min_samples_split=6).fit(X, y).get_n_leaves() == 3
    assert ID3Classifier(min_samples_split=15).fit(X, y).get_n_leaves() == 1
    # ID3 splits without gain, C4.5 does not
    X, y = [["a", "c"], ["a", "d"], ["b", "c"], ["b", "d"]], [0, 1, 1, 0]
    assert ID3Classifier().fit(X, y).score(X, y) == 1.0
    assert C45Classifier(min_samples_leaf=1).fit(X, y).get_n_leaves() == 1


def test_gain_ratio_avoids_keys():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = np.c_[np.arange(100), np.where(rng.random(100) < 0.1, 1 - y, y)]
    assert ID3Classifier().fit(X, y).tree_.feature[0] == 0  # a name for each row
    assert ID3Classifier("gain_ratio").fit(X, y).tree_.feature[0] == 1


def test_pruning_helps_on_noise():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(600, 6))
    y = (X[:, 0] > 1).astype(int)
    noisy = np.where(rng.random(600) < 0.2, 1 - y, y)
    grow = lambda c: C45Classifier(
        confidence=c, categorical_features=list(range(6))
    ).fit(X[:300], noisy[:300])
    full, cut, hard = grow(None), grow(0.25), grow(0.001)
    sizes = [m.get_n_leaves() for m in (full, cut, hard)]
    assert sizes[0] > sizes[1] >= sizes[2] == 4
    scores = [m.score(X[300:], y[300:]) for m in (full, cut, hard)]
    assert scores[0] < scores[1] <= scores[2] == 1.0


def test_mixed_frame_and_saving(tmp_path):
    table = datasets.load("customers").table.to_pandas()
    X, y = table.drop(columns="left"), table["left"].to_numpy()
    X = X[["age", "months", "plan", "region", "payment"]]
    model = C45Classifier().fit(X[:700], y[:700])
    assert model.score(X[700:], y[700:]) > max(np.mean(y == "yes"), np.mean(y == "no"))
    assert set(model.inputs_.is_categorical) == {True, False}
    persist.save(model, tmp_path / "m")
    again = persist.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={X.columns[0]: "other"}))


def test_many_levels_and_refusals():
    rng = np.random.default_rng(0)
    words = np.array([f"w{v}" for v in rng.integers(0, 5000, 6000)])
    y = rng.integers(0, 2, 6000)
    model = ID3Classifier().fit(np.c_[words, words].astype(object), y)
    assert len(model.tree_.children(0)) == 255  # 254 levels, and one for the rest
    import scipy.sparse as sp

    with pytest.raises(TypeError, match="sparse"):
        ID3Classifier().fit(sp.eye_array(3), [0, 1, 0])
    import pandas as pd

    with pytest.raises(ValueError, match="at least one row"):
        ID3Classifier().fit(pd.DataFrame({"a": []}), [])
    with pytest.raises(ValueError, match="confidence of C45Classifier"):
        C45Classifier(confidence=0.7).fit([[1], [2]], [0, 1])
