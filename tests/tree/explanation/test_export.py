"""Trees exported as text, Graphviz and SVG."""

import io

import numpy as np
import pytest
import sklearn.tree
from sklearn.datasets import load_iris

from pansophy import datasets
from pansophy.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    export_graphviz,
    export_svg,
    export_text,
)
from pansophy.tree.explanation.tree_view import view_tree

IRIS = load_iris()


@pytest.fixture(scope="module")
def iris():
    return DecisionTreeClassifier(max_depth=3).fit(IRIS.data, IRIS.target)


@pytest.fixture(scope="module")
def weather():
    table = datasets.load_weather().table
    X = table.drop_columns(["Play"]).to_pandas()
    return ID3Classifier().fit(X, table["Play"].to_pylist())


@pytest.fixture(scope="module")
def peer(iris):
    """scikit-learn's tree, at a seed that grows the same one."""
    for seed in range(50):
        tree = sklearn.tree.DecisionTreeClassifier(max_depth=3, random_state=seed)
        tree.fit(IRIS.data, IRIS.target)
        if np.array_equal(tree.tree_.feature, iris.tree_.feature):
            return tree
    raise AssertionError("no seed grows the same tree")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"feature_names": list("abcd"), "class_names": list("xyz")},
        {"max_depth": 1, "spacing": 2, "decimals": 3},
        {"show_weights": True},
    ],
)
def test_text_equals_scikit_learns(iris, peer, options):
    assert export_text(iris, **options) == sklearn.tree.export_text(peer, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"feature_names": list("abcd"), "class_names": list("xyz"), "precision": 2},
        {"label": "root", "node_ids": True, "class_names": True},
        {"label": "none", "impurity": False, "proportion": True, "rotate": True},
        {"max_depth": 1, "leaves_parallel": True, "rounded": True, "fontname": "arial"},
    ],
)
def test_dot_equals_scikit_learns(iris, peer, options):
    assert export_graphviz(iris, **options) == sklearn.tree.export_graphviz(
        peer, **options
    )


def test_dot_of_numbers_and_several_outputs():
    X, Y = IRIS.data[:, :2], IRIS.data[:, 2:]
    for y in (Y[:, 0], Y):
        ours = DecisionTreeRegressor(max_depth=1).fit(X, y)
        theirs = sklearn.tree.DecisionTreeRegressor(max_depth=1).fit(X, y)
        assert export_graphviz(ours) == sklearn.tree.export_graphviz(theirs)
    w = np.random.default_rng(0).random(150)
    y = np.c_[IRIS.target, IRIS.target > 0]
    ours = DecisionTreeClassifier(max_depth=1).fit(X, y, w)
    theirs = sklearn.tree.DecisionTreeClassifier(max_depth=1).fit(X, y, w)
    assert export_graphviz(ours) == sklearn.tree.export_graphviz(theirs)


def test_dot_with_colours_and_markup(iris):
    text = export_graphviz(iris, filled=True, special_characters=True)
    assert text.count("fillcolor=") == iris.tree_.node_count
    assert "&le;" in text and "<br/>" in text
    file = io.StringIO()
    assert export_graphviz(iris, file) is None
    assert file.getvalue() == export_graphviz(iris)
    with pytest.raises(ValueError, match="label must be"):
        export_graphviz(iris, label="some")


def test_multiway_dot(weather):
    text = export_graphviz(weather, class_names=["no", "yes"])
    assert '[label="Outlook?\\nentropy = 0.94\\nsamples = 14\\nvalue = [5, 9]' in text
    assert text.count(" -> ") == 7
    for level in ("Overcast", "Rainy", "Sunny", "High", "Normal", "FALSE", "TRUE"):
        assert f'[label="{level}"]' in text


def test_names_are_checked(iris):
    for export in (export_text, export_graphviz, export_svg):
        with pytest.raises(ValueError, match="feature_names must contain 4"):
            export(iris, feature_names=["a"])
        with pytest.raises(ValueError, match="class_names must contain 3"):
            export(iris, class_names=["a"])


def test_names_of_the_training_frame(weather):
    assert "Outlook" in export_svg(weather)
    import pandas as pd

    X = pd.DataFrame({"length": [1.0, 2.0, 3.0]})
    model = DecisionTreeClassifier().fit(X, [0, 0, 1])
    assert export_text(model).startswith("|--- length <= 2.50")


def test_forests_are_refused(iris):
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(2).fit(IRIS.data, IRIS.target)
    with pytest.raises(TypeError, match="not one tree"):
        export_text(forest)


def test_splits_by_set():
    rng = np.random.default_rng(0)
    names = np.array(["sun", "rain", "fog", "snow"])
    X = np.c_[rng.integers(0, 4, 200), rng.integers(0, 9, 200)]
    y = np.isin(X[:, 0], [1, 3]).astype(int)
    Z = np.empty((200, 2), object)
    Z[:, 0], Z[:, 1] = names[X[:, 0]], X[:, 1]
    model = DecisionTreeClassifier(categorical_features=[0]).fit(Z, y)
    text = export_text(model, feature_names=["sky", "wind"])
    assert "sky in {fog, sun}" in text and "sky in {rain, snow}" in text
    assert "sky in {" in export_svg(model, feature_names=["sky", "wind"])
    assert "sky in {" in export_graphviz(model, feature_names=["sky", "wind"])
    seen = view_tree(model)
    assert seen.used == {0}


def test_splits_by_angle():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 360, 300)
    y = (np.cos(np.radians(x - 30)) > 0).astype(int)
    model = DecisionTreeClassifier(directional_features={0: 360.0}).fit(x[:, None], y)
    text = export_text(model, feature_names=["wind"], decimals=0)
    first = text.splitlines()[0]
    assert first.startswith("|--- wind in [")
    a, b = (float(v) for v in first.split("[")[1].rstrip(")").split(","))
    assert (b - a) % 360 == pytest.approx(180, abs=1)
    assert min(abs(a - 120), abs(a - 300)) < 5
