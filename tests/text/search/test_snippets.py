"""Snippets: the best window, marks at words of the query."""

import pytest

from pansophy.text import best_snippet

TEXT = (
    "Filler text at the beginning. " * 20
    + "The red cat slept.\nA dog barked at the red cat on the mat. "
    + "Other words follow here. " * 20
)


def test_window_with_most_words():
    found = best_snippet(TEXT, "red cat mat", width=80)
    assert "barked" in found.text
    assert len(found.text) <= 90
    marked = [found.text[a:b] for a, b in found.marks]
    assert set(marked) == {"red", "cat", "mat"}
    assert found.highlighted("<", ">").count("<") == len(found.marks)
    assert found.highlighted("", "") == found.text
    inner = found.text.removeprefix("... ").removesuffix(" ...")
    assert TEXT[found.start : found.start + len(inner)].replace("\n", " ") == inner


def test_weights_decide():
    text = "alpha beta " + "x " * 200 + "gamma"
    assert "alpha" in best_snippet(text, "alpha beta gamma", width=40).text
    heavy = best_snippet(text, "alpha beta gamma", width=40, weights={"gamma": 9.0})
    assert "gamma" in heavy.text


def test_edges():
    assert best_snippet("short text", "none").text == "short text"
    assert best_snippet("", "a").text == ""
    assert best_snippet("Ein CAFÉ hier", '"café hier"').highlighted() == (
        "Ein **CAFÉ** **hier**"
    )
    long = best_snippet("y" * 1000, "none", width=50)
    assert len(long.text) <= 60
    with pytest.raises(ValueError, match="width"):
        best_snippet("a", "a", width=0)
