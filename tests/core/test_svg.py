"""SVG pictures: well-formed whatever the text, boxes where they were asked for."""

from xml.etree import ElementTree

from pansophy.core.svg import LINE, MARGIN, svg_box, svg_page

NAME = "{http://www.w3.org/2000/svg}"


def test_text_is_escaped_and_the_margin_is_around():
    box = svg_box(50, 20, 100, 40, ["a < b & c", "second"], "#fff")
    page = ElementTree.fromstring(svg_page(100, 40, 'a "title" <x>', [box]))
    assert page.find(NAME + "title").text == 'a "title" <x>'
    assert float(page.get("width")) == 100 + 2 * MARGIN
    assert page.get("viewBox").split()[:2] == [f"{-MARGIN:g}"] * 2
    rect = page.find(NAME + "rect")
    assert [float(rect.get(k)) for k in ("x", "y", "width", "height")] == [
        0,
        0,
        100,
        40,
    ]
    first, second = page.findall(NAME + "text")
    assert first.text == "a < b & c"
    assert [t.get("font-weight") for t in (first, second)] == ["600", "400"]
    assert float(second.get("y")) - float(first.get("y")) == LINE


def test_an_oval_with_one_line_is_not_bold():
    page = ElementTree.fromstring(
        svg_page(10, 10, "t", [svg_box(5, 6, 10, 4, ["x"], "red", oval=True)])
    )
    oval = page.find(NAME + "ellipse")
    assert [float(oval.get(k)) for k in ("cx", "cy", "rx", "ry")] == [5, 6, 5, 2]
    assert page.find(NAME + "text").get("font-weight") == "400"
    assert page.find(NAME + "rect") is None
