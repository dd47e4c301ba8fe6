"""Drawings of trees: places, captions, colours and SVG."""

import io
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_iris

from pansophy import datasets
from pansophy.tree import DecisionTreeClassifier, ID3Classifier, export_svg
from pansophy.tree.explanation import tree_drawing
from pansophy.tree.explanation.tree_drawing import (
    BASE,
    DROP,
    GAP,
    LETTER,
    PAD,
    NodeBox,
    blend_with_white,
    distinct_hues,
    draw_tree,
    edge_caption,
    node_captions,
    node_colors,
    return_or_write,
    svg_edge,
)
from pansophy.tree.explanation.tree_view import view_tree
from tests.tree.small_trees import ModelOfTree, small_tree

IRIS = load_iris()


@pytest.fixture(scope="module")
def iris():
    return DecisionTreeClassifier(max_depth=3).fit(IRIS.data, IRIS.target)


def shares(*rows):
    """A model of the small tree with these class shares."""
    tree = small_tree(value=np.array(rows))
    return ModelOfTree(tree, classes_=np.array(["no", "yes"]))


SURE = shares([0.5, 0.5], [1, 0], [0.25, 0.75], [0, 1], [0.5, 0.5])


def test_wide_nodes_push_their_neighbours():
    # the first child is wide: the second stands half of both widths and a gap away
    x, width = tree_drawing.tidy_positions([[1, 2], [], []], [4, 30, 10], gap=5.0)
    assert x.tolist() == [27.5, 15, 40] and width == 45
    # outlines count, not widths alone: a small sibling tucks in above a wide one
    children = [[1, 2], [3, 4], [], [], []]
    x, width = tree_drawing.tidy_positions(children, [2, 2, 2, 10, 10], gap=2.0)
    assert x[2] - x[1] == 4 and x[4] - x[3] == 12 and width == 22
    alone, width = tree_drawing.tidy_positions([[]], [8], gap=2.0)
    assert alone.tolist() == [4.0] and width == 8


def test_a_page_of_five_boxes():
    page = draw_tree(ModelOfTree(), feature_names=["a", "b"], decimals=1)
    assert [b.node for b in page.boxes] == [0, 1, 2, 3, 4]
    assert [b.lines for b in page.boxes] == [
        ("b <= 0.5", "3.0", "9 rows"),
        ("1.0", "4 rows"),
        ("a <= -1.0", "4.3", "5 rows"),
        ("6.0", "1 row"),
        ("4.0", "4 rows"),
    ]
    assert page.edges == [(0, 1, "yes"), (0, 2, "no"), (2, 3, "yes"), (2, 4, "no")]
    assert page.boxes[0].width == LETTER * len("b <= 0.5") + 2 * PAD
    rows = sorted({b.y for b in page.boxes})
    step = page.boxes[0].height + DROP
    assert np.diff(rows) == pytest.approx([step, step])
    assert page.height == 2 * step + page.boxes[0].height
    third, last = page.boxes[3:]
    assert last.x - third.x == pytest.approx((third.width + last.width) / 2 + GAP)


def test_a_cut_page():
    page = draw_tree(ModelOfTree(), max_depth=1, filled=False)
    assert [b.node for b in page.boxes] == [0, 1, 2]
    assert page.boxes[2].lines == ("4.33", "5 rows", "...")
    assert {b.fill for b in page.boxes} == {"#ffffff"}


def test_captions_of_classes_and_many_numbers():
    text = node_captions(SURE, view_tree(SURE), None, 2)
    assert text(1, True) == ("no 100%", "4 rows")
    assert text(2, False) == ("yes 75%", "5 rows", "...")
    named = node_captions(SURE, view_tree(SURE), ["rain", "sun"], 2)
    assert named(2, True) == ("feature_0 <= -1.00", "sun 75%", "5 rows")
    wide = ModelOfTree(small_tree()._replace(value=np.ones((5, 6, 1))))
    assert node_captions(wide, view_tree(wide), None, 0)(1, True)[0] == (
        "1, 1, 1, 1, ..."
    )


def test_levels_stand_at_their_edges():
    table = datasets.load_weather().table
    X = table.drop_columns(["Play"]).to_pandas()
    model = ID3Classifier().fit(X, table["Play"].to_pylist())
    seen = view_tree(model)
    assert edge_caption(seen, 0) == ""
    labels = {edge_caption(seen, c) for c in seen.children[0]}
    assert labels == {"Sunny", "Overcast", "Rainy"}
    assert draw_tree(model).boxes[0].lines[0] == "Outlook?"


def test_colours_of_numbers():
    colors = node_colors(ModelOfTree())  # values 3, 1, 4.33, 6, 4
    assert colors[1] == "#ffffff" and colors[3] == "#e58139"
    assert colors[0] == blend_with_white(BASE, 0.4)
    flat = ModelOfTree(small_tree(value=np.ones(5)))
    assert node_colors(flat) == ["#ffffff"] * 5
    several = ModelOfTree(small_tree()._replace(value=np.ones((5, 2, 1))))
    purest = node_colors(several)  # by impurity: node 3 has none, node 0 the most
    assert purest[3] == "#e58139" and purest[0] == "#ffffff"


def test_colours_of_classes():
    colors = node_colors(SURE)
    no, yes = distinct_hues(2)
    assert colors[0] == colors[4] == "#ffffff"  # undecided
    assert colors[1] == blend_with_white(no, 1.0)
    assert colors[3] == blend_with_white(yes, 1.0)
    assert colors[2] == blend_with_white(yes, (0.75 - 0.25) / (1 - 0.25))
    half = node_colors(SURE, most=0.5)
    assert half[1] == blend_with_white(no, 0.5)
    one = ModelOfTree(small_tree(value=np.ones(5)), classes_=np.array(["a"]))
    assert set(node_colors(one)) == {blend_with_white(distinct_hues(1)[0], 1.0)}


def test_hues():
    np.testing.assert_allclose(distinct_hues(3)[0], BASE, atol=1)  # the first one
    for n in (2, 5, 9):
        assert len(set(distinct_hues(n))) == n
    assert blend_with_white((0, 0, 0), 1.0) == "#000000"
    assert blend_with_white((55, 155, 255), 0.5) == "#9bcdff"


def test_edges_of_a_drawing():
    a = NodeBox(0, 50.0, 10.0, 20.0, 20.0, (), "")
    b = NodeBox(1, 80.0, 60.0, 20.0, 20.0, (), "")
    got = svg_edge(a, b, "a < b")
    assert "M50.0 20.0C50.0 35.0 80.0 35.0 80.0 50.0" in got
    assert "a &lt; b" in got and 'y="45.0"' in got


def test_text_is_returned_or_written(tmp_path):
    assert return_or_write("x", None) == "x"
    file = io.StringIO()
    assert return_or_write("x", file) is None and file.getvalue() == "x"
    assert return_or_write("\u00e4", tmp_path / "f") is None
    assert (tmp_path / "f").read_bytes() == "\u00e4".encode()


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
