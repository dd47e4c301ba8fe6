"""What word vectors share: numbered sentences, cosines, analogies, mean vectors."""

import numpy as np
import pytest

from pansophy.text import SkipGram
from pansophy.text.embeddings.word_vectors import known_words, number_sentences


@pytest.fixture
def model():
    made = SkipGram()
    made.words_ = np.array(["man", "king", "woman", "queen", "apple"])
    made.vectors_ = np.array(
        [[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [-3, 0, 0]], np.float32
    )
    return made


def test_frequent_words_come_first_and_rare_ones_are_left_out():
    numbered = number_sentences([["b", "a", "b"], ["c"], ["a", "b"]], 2)
    assert numbered.words == ["b", "a"] and numbered.counts.tolist() == [3, 2]
    assert numbered.ids.tolist() == [0, 1, 0, 1, 0]
    assert numbered.ends.tolist() == [3, 3, 5]  # a sentence of rare words is empty
    left = known_words(np.array([2, -1, 0]), np.array([1, 3]))
    assert left.ids.tolist() == [2, 0] and list(left.ends) == [1, 2]
    with pytest.raises(ValueError, match="all be texts or all lists"):
        number_sentences(["a text", ["a", "list"]], 1)


def test_cosines_and_analogies(model):
    assert model.similarity("man", "king") == pytest.approx(0.5**0.5)
    assert model.similarity("man", "apple") == pytest.approx(-1)
    assert model.analogy("man", "king", "woman")[0].word == "queen"
    near = model.most_similar("man", n=2)
    assert [s.word for s in near] == ["king", "woman"]  # equal: in their order
    assert len(model.most_similar(["man", "king"], n=50)) == 3
    with pytest.raises(KeyError, match="'pear' has no vector"):
        model.vector("pear")
    with pytest.raises(ValueError, match="have no words"):
        model.most_similar([])


def test_texts_are_the_mean_of_known_words(model):
    found = model.transform(["man pear apple", "pear", "queen"])
    np.testing.assert_allclose(found, [[-1, 0, 0], [0, 0, 0], [1, 1, 1]])


def test_too_few_words_are_told(model):
    with pytest.raises(ValueError, match="min_count=5 times: lower"):
        model.fit([["a", "b"]])
