"""Vocabulary: ids, unknown tokens, padding."""

import pytest

from pansophy.text import Vocabulary


def test_ids_and_tokens():
    words = Vocabulary(["b", "a"], special_tokens=("<s>",))
    assert len(words) == 5
    assert "a" in words
    assert "x" not in words
    assert words.ids(["a", "b", "x", "<pad>", "<s>"]).tolist() == [1, 0, 2, 3, 4]
    assert words.tokens_of([0, 4, 2]) == ["b", "<s>", "<unk>"]
    assert "2 tokens" in repr(words)
    with pytest.raises(ValueError, match="from 0 to 4"):
        words.tokens_of([5])
    with pytest.raises(ValueError, match="from 0 to 4"):
        words.tokens_of([-1])


def test_counts_decide():
    counts = {"a": 1, "c": 3, "b": 3, "d": 2}
    assert Vocabulary.from_counts(counts).tokens == ("b", "c", "d", "a")
    assert Vocabulary.from_counts(counts, max_size=1).tokens == ("b",)
    assert Vocabulary.from_counts(counts, min_frequency=3).tokens == ("b", "c")
    with pytest.raises(ValueError, match="max_size"):
        Vocabulary.from_counts(counts, max_size=0)


def test_rules():
    strict = Vocabulary(["a"], unknown=None, padding=None)
    with pytest.raises(ValueError, match="'x' is not in the vocabulary"):
        strict.ids(["x"])
    with pytest.raises(ValueError, match="no padding token"):
        strict.pad([[0]])
    with pytest.raises(ValueError, match="'a' is repeated"):
        Vocabulary(["a", "b", "a"])
    with pytest.raises(ValueError, match="repeated"):
        Vocabulary(["<unk>"])


def test_padding():
    words = Vocabulary(["a", "b"])
    ids, mask = words.pad([[0], [0, 1, 0]])
    assert ids.tolist() == [[0, 3, 3], [0, 1, 0]]
    assert mask.tolist() == [[True, False, False], [True, True, True]]
    ids, mask = words.pad([[0], [0, 1, 0]], 2, side="left")
    assert ids.tolist() == [[3, 0], [0, 1]]
    assert mask.tolist() == [[False, True], [True, True]]
    assert words.pad([]).ids.shape == (0, 0)
    with pytest.raises(ValueError, match="side"):
        words.pad([[0]], side="top")
