"""Spelling: worked ties, frequencies, context."""

import numpy as np
import pytest

import pansophy
from pansophy.text import NGramModel, SpellCorrector, edit_distances

WORDS = ["cat", "car", "cart", "care", "cards", "cast"]


def test_worked_ties():
    model = SpellCorrector(kind="levenshtein").fit(WORDS)
    found = model.candidates("carr")
    assert {c.word for c in found if c.distance == 1} == {"car", "cart", "care"}
    assert model.correct("carr") == "car"
    assert all(model.correct(word) == word for word in WORDS)
    often = SpellCorrector().fit({**dict.fromkeys(WORDS, 1), "cart": 50})
    assert often.correct("carr") == "cart"
    assert model.correct("zzzzzz") == "zzzzzz"


def test_swapped_letters_are_one_error():
    words = ["form", "sort"]
    assert SpellCorrector(1).fit(words).correct("from") == "form"
    assert SpellCorrector(1, kind="levenshtein").fit(words).candidates("from") == []


def test_context_decides(tmp_path):
    # the word of the lecture: "brace" after "a", though "brare" is as near to "bradce"
    sentences = ["put on a brace", "a brace helps", "the brare of it"] * 3
    grams = NGramModel(2).fit(sentences)
    counts = {"put": 3, "on": 3, "a": 6, "brace": 6, "helps": 3, "brare": 30}
    model = SpellCorrector(language_model=grams).fit(counts)
    assert model.correct("brafe") == "brare"
    assert model.correct_sentence("put on a brafe") == ["put", "on", "a", "brace"]
    pansophy.save(model, tmp_path / "model.pansophy")
    again = pansophy.load(tmp_path / "model.pansophy")
    assert again.correct_sentence("put on a brafe") == ["put", "on", "a", "brace"]


def test_bad_input():
    with pytest.raises(ValueError, match="a word must be str, got None"):
        SpellCorrector().fit(["cat"]).correct(None)
    with pytest.raises(ValueError, match="not a text"):
        SpellCorrector().fit("word")
    with pytest.raises(ValueError, match="at least one word"):
        SpellCorrector().fit([])
    with pytest.raises(ValueError, match="above 0"):
        SpellCorrector().fit({"a": 0})


@pytest.mark.parametrize("kind", ["levenshtein", "osa", "damerau", "indel"])
def test_the_letters_leave_out_no_near_word(rng, kind):
    draw = lambda: "".join(rng.choice(list("abcdeé日"), rng.integers(1, 7)))
    words = sorted({draw() for _ in range(400)})
    model = SpellCorrector(kind=kind).fit(words)
    for _ in range(60):
        word = draw()
        distance = edit_distances([word], words, kind)[0]
        near = {w for w, d in zip(words, distance, strict=True) if d <= 2}
        assert {c.word for c in model.candidates(word, top=999)} == near


def test_few_words_of_a_large_dictionary_are_compared(rng):
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(rng.choice(letters, n)) for n in rng.integers(3, 12, 50_000)]
    model = SpellCorrector().fit(words)
    compared = [len(model._words_of_like_letters(w + "x")) for w in words[:20]]
    assert np.mean(compared) < 0.02 * len(model.words_)


def test_capitals_signs_and_empty_words():
    model = SpellCorrector().fit(["the", "cat", "data", "Paris", "a"])
    assert model.correct("") == "" and model.correct("...") == "..."
    assert model.correct_sentence(["Teh", "Cat,", "(dtaa)", "Pariss!", "TEH"]) == [
        "The", "Cat,", "(data)", "Paris!", "THE",
    ]  # fmt: skip
