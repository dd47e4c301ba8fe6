"""Trees exported as text, Graphviz and SVG."""

import io
import xml.etree.ElementTree as ET
from itertools import pairwise

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
    tree_drawing,
)
from pansophy.tree.tree_view import view_tree

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


NS = {"s": "http://www.w3.org/2000/svg"}


def boxes(svg):
    root = ET.fromstring(svg)
    keys = ("x", "y", "width", "height")
    return root, [
        [float(r.get(k)) for k in keys] for r in root.findall(".//s:rect", NS)
    ]


def test_svg_stands_by_itself(iris, tmp_path):
    svg = export_svg(iris, feature_names=["a<b", 'c"d', "e&f", "g"], title="Iris <3")
    root, found = boxes(svg)
    assert len(found) == iris.tree_.node_count
    assert root.find("s:title", NS).text == "Iris <3"
    words = [t.text for t in root.findall(".//s:text", NS)]
    assert any(w.startswith("e&f <= ") for w in words)
    assert sum("rows" in w or "row" in w for w in words) == len(found)
    wide, high = float(root.get("width")), float(root.get("height"))
    for x, y, w, h in found:
        assert x >= 0 and y >= 0 and x + w <= wide and y + h <= high
    assert export_svg(iris, tmp_path / "tree.svg") is None
    assert (tmp_path / "tree.svg").read_text("utf-8") == export_svg(iris)
    assert "http" not in svg.replace(NS["s"], "")


def test_svg_can_be_cut(iris):
    _, found = boxes(export_svg(iris, max_depth=1, filled=False))
    assert len(found) == 3


def test_boxes_do_not_overlap():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.integers(0, 3, 300)
    page = tree_drawing.draw_tree(DecisionTreeClassifier(max_depth=7).fit(X, y))
    rows = {}
    for b in page.boxes:
        rows.setdefault(b.y, []).append((b.x - b.width / 2, b.x + b.width / 2))
    for row in rows.values():
        row.sort()
        assert all(a[1] < b[0] for a, b in pairwise(row))
    for a, b, text in page.edges:
        assert text in ("yes", "no")
        assert page.boxes[a].y < page.boxes[b].y
    middle = {}
    for a, b, _ in page.edges:
        middle.setdefault(a, []).append(page.boxes[b].x)
    for a, xs in middle.items():
        assert page.boxes[a].x == pytest.approx((xs[0] + xs[-1]) / 2)


def test_places_are_tidy():
    # two subtrees of the same shape are drawn alike, their parent midway
    children = [[1, 2], [3, 4], [5, 6], [], [], [], []]
    x, width = tree_drawing.tidy_positions(children, np.full(7, 10.0), gap=2.0)
    assert x[0] == pytest.approx((x[1] + x[2]) / 2)
    assert x[4] - x[3] == x[6] - x[5] == 12.0
    assert width == 4 * 10 + 3 * 2


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
