"""Points that show a text: a group for each, nothing to see."""

import io

import matplotlib.pyplot as plt
import pytest

from pansophy.compare.report.hover_points import HoverPoints


def test_a_group_with_the_text_of_each_point():
    figure, ax = plt.subplots()
    ax.set(xlim=(0, 10), ylim=(0, 10))
    ax.add_artist(HoverPoints([[1, 1], [2, 5]], ["first", "a & b"], 30))
    out = io.StringIO()
    figure.savefig(out, format="svg")
    text = out.getvalue()
    assert text.count('id="hover:') == 2 and 'id="hover:first"' in text
    assert "hover:a &amp; b" in text


def test_as_many_texts_as_points():
    figure, ax = plt.subplots()
    ax.add_artist(HoverPoints([[1, 1], [2, 5]], ["one"], 30))
    with pytest.raises(ValueError, match="zip"):
        figure.savefig(io.StringIO(), format="svg")
