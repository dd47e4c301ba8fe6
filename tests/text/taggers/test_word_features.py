"""Features of words, and sentences that are refused in one sentence."""

import numpy as np
import pytest

from pansophy.text import sentence_features, word_shape
from pansophy.text.taggers.word_features import check_sentences, check_tags, word_form


def test_shapes():
    assert word_shape("") == ""
    assert word_shape("McDonald's") == "XxXx'x"
    assert word_shape("日本") == "c"
    assert word_shape("...") == "."


def test_forms_of_short_words_have_no_endings():
    assert word_form("A") == {"word": "a", "shape": "X"}
    assert word_form("ab")["ending1"] == "b"
    assert "ending2" not in word_form("ab")
    assert word_form("Running")["ending3"] == "ing"


def test_neighbours():
    rows = sentence_features(["I", "saw", "Paris"], window=2)
    assert rows[0]["-1word"] == "<edge>"
    assert rows[0]["+2word"] == "paris"
    assert rows[2]["-2shape"] == "X"
    assert "-1shape" not in rows[0]
    alone = sentence_features(["I"], window=0)
    assert not any(key.startswith(("-", "+")) for key in alone[0])


def test_texts_are_split():
    assert check_sentences(["a b", ["c"]]) == [["a", "b"], ["c"]]
    assert check_tags(["XY", ["Z"]], [["a", "b"], ["c"]])[0].tolist() == ["X", "Y"]


@pytest.mark.parametrize(
    ("sentences", "words"),
    [
        ("one text", "got one text"), ([], "at least one sentence"),
        (["a", ""], "sentence 1 has no words"), ([["a", 3]], "got 3 in sentence 0"),
    ],
)  # fmt: skip
def test_sentences_that_are_none(sentences, words):
    with pytest.raises(ValueError, match=words):
        check_sentences(sentences)


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        (None, "tags are needed"), ([["X"]], "2 sentences, but tags of 1"),
        ([["X"], ["Y"]], "sentence 0 has 2 words, but 1 tags"),
        ([["X", np.nan], ["Y"]], "NaN|missing"),
    ],
)  # fmt: skip
def test_tags_that_do_not_fit(tags, words):
    with pytest.raises(ValueError, match=words):
        check_tags(tags, [["a", "b"], ["c"]])
