"""The style: contrast in light and dark, headings in order, descriptions of figures."""

import itertools
import re
from importlib import resources

import pytest

from pansophy.compare.report.html import render_report
from tests.compare.comparisons import TASKS, ready

CSS = "".join(
    resources.files("pansophy.compare.report")
    .joinpath("templates", name)
    .read_text("utf-8")
    for name in ("tokens.css", "style.css")
)
READABLE = 4.5  # of the guidelines for text, WCAG 2 AA
VISIBLE = 3.0  # of figures


def tokens(dark) -> dict[str, str]:
    """The colours by name."""
    start = CSS.index("@media (prefers-color-scheme: dark)")
    part = CSS[start : CSS.index("@media", start + 9)] if dark else CSS[:start]
    return dict(re.findall(r"--([a-z]+): (#[0-9a-f]{3,6})\b", part))


def luminance(color) -> float:
    digits = color[1:] if len(color) == 7 else "".join(2 * d for d in color[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [
        v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_and_figures_stand_out(dark):
    color = tokens(dark)
    for ground in ("paper", "wash", "kept"):
        for text in ("ink", "soft", "blue", "red", "amber"):
            assert contrast(color[text], color[ground]) >= READABLE, (text, ground)
    for mark in ("gain", "blue"):
        assert contrast(color[mark], color["wash"]) >= VISIBLE
    assert contrast("#ffffff", color["tag"]) >= READABLE


def test_the_two_colours_of_the_dots_differ_for_the_colour_blind():
    """Blue and orange: apart in the blue-yellow direction, which most people keep."""
    blue_of = lambda c: int(c[5:7], 16) - (int(c[1:3], 16) + int(c[3:5], 16)) / 2
    for dark in (False, True):
        color = tokens(dark)
        assert blue_of(color["blue"]) - blue_of(color["gain"]) > 100


@pytest.mark.parametrize("task", TASKS)
def test_headings_go_down_by_one_and_figures_are_described(task):
    text = render_report(ready(task))
    levels = [int(n) for n in re.findall(r"<h([1-6])[ >]", text)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    pictures = re.findall(r"<svg[^>]*>", text)
    assert pictures
    for tag in pictures:
        named = re.search(r'aria-label="([^"]+)"', tag)
        assert named or 'aria-hidden="true"' in tag, tag
    assert "http://" not in re.sub(r"http://www\.w3\.org/[\w/]+", "", text)


def test_nothing_is_cut_in_print_and_pages_are_a4():
    printed = CSS[CSS.index("@media print") :]
    assert "size: A4" in printed
    for name in ("figure", ".first", "tr"):
        rules = re.findall(
            rf"[^{{}}]*{re.escape(name)}[ ,][^{{}}]*{{([^}}]*)}}", printed
        )
        assert any("break-inside: avoid" in rule for rule in rules), name
