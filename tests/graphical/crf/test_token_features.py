"""Features of tokens: nested ones, unknown ones, what is no sequence."""

import numpy as np
import pytest

from pansophy.core.arrays.ragged import Ragged
from pansophy.graphical.crf import token_features as tokens


def test_nested_features_are_named_by_their_path():
    M, ends, words = tokens.vectorize_tokens(
        [[{"w": {"low": "a", "n": 2.0}, "tags": {"y", "x"}, "yes": True}]]
    )
    found = dict(zip(words.attributes(), M.toarray()[0], strict=True))
    assert found == {"w:low:a": 1, "w:n": 2, "tags:x": 1, "tags:y": 1, "yes": 1}
    assert ends.tolist() == [1]


def test_attributes_that_a_model_does_not_know_are_left_out():
    _, _, words = tokens.vectorize_tokens([[{"w": "a"}, {"w": "b"}]])
    M, _, again = tokens.vectorize_tokens([[{"w": "b", "z": 1}, {"w": "c"}]], words)
    np.testing.assert_array_equal(M.toarray(), [[0, 1], [0, 0]])
    assert again is words and len(words) == 2
    restored = tokens.AttributeVocabulary(words.names, words.values)
    assert restored.number == words.number


def test_what_counts_as_sequences_of_tokens():
    assert tokens.is_token_sequences([[{"w": "a"}]])
    assert tokens.is_token_sequences([[], [["up", "down"]]])
    for other in ([], [[1.0, 2.0]], "text", [np.ones((2, 2))], [[[1]]]):
        assert not tokens.is_token_sequences(other)
    rows = Ragged.from_list([[1], [2, 3]]) if hasattr(Ragged, "from_list") else None
    if rows is not None:
        assert len(tokens.as_sequence_list(rows)) == 2
    assert tokens.as_sequence_list(iter([[1], [2]])) == [[1], [2]]


@pytest.mark.parametrize(("X", "words"), [
    ([], "holds no sequences"),
    ([{"w": "a"}], "put a single one into a list"),
    ([[{"w": "a"}], []], "is empty: leave it out"),
    ([["word"]], "got the text 'word'"),
])  # fmt: skip
def test_refusals(X, words):
    with pytest.raises(ValueError, match=words):
        tokens.check_sequence_list(X)
