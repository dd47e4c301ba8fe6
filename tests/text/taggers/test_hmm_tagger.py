"""Hidden Markov tagger: counts by hand, context, unknown words, all tags of a word."""

import itertools
import math

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, cross_val_score

import pansophy
from pansophy.text import HMMTagger, most_frequent_tags
from tests.text.tagged_corpus import tagged_sentences


@pytest.fixture(scope="module")
def corpus():
    return tagged_sentences(150, seed=0), tagged_sentences(80, seed=1)


def test_counts_by_hand():
    model = HMMTagger(alpha=0.0, form_weight=1e-9)
    model.fit(["can can", "can go"], [["M", "V"], ["M", "V"]])
    assert model.classes_.tolist() == ["M", "V"]
    assert model.start_.tolist() == [1.0, 0.0]
    assert model.transitions_.tolist() == [[0.0, 1.0], [0.0, 0.0]]
    assert model.end_.tolist() == [0.0, 1.0]
    np.testing.assert_allclose(model.word_tag_shares(["can"]), [[2 / 3, 1 / 3]])
    smooth = HMMTagger(alpha=1.0).fit(["can can", "can go"], [["M", "V"], ["M", "V"]])
    np.testing.assert_allclose(smooth.start_, [3 / 4, 1 / 4])
    np.testing.assert_allclose(smooth.transitions_, [[1 / 5, 3 / 5], [1 / 5, 1 / 5]])
    np.testing.assert_allclose(smooth.transitions_.sum(axis=1) + smooth.end_, 1.0)


def test_endings_by_hand():
    """Eq. (3) for one ending: casing first, then -g."""
    model = HMMTagger(longest_ending=1, ending_weight=2.0)
    model.fit(["sing go", "ring"], [["V", "N"], ["V"]])
    base = (np.array([1.0, 2.0]) + 0.5) / 4
    casing = (np.array([1.0, 2.0]) + 2 * base) / 5
    g = (np.array([0.0, 2.0]) + 2 * casing) / 4
    np.testing.assert_allclose(model.word_tag_shares(["king"]), [g])
    np.testing.assert_allclose(model.word_tag_shares(["xyz"]), [casing])
    np.testing.assert_allclose(model.word_tag_shares(["1234"]), [base])


def enumerated_sequences(model, words):
    """The best tags and all marginals, by all sequences of tags."""
    P = model.word_tag_shares(words) / model.tag_shares_
    k = len(model.classes_)
    best, total, marginals = (-1.0, None), 0.0, np.zeros((len(words), k))
    for tags in itertools.product(range(k), repeat=len(words)):
        p = model.start_[tags[0]] * model.end_[tags[-1]]
        p *= math.prod(P[i, t] for i, t in enumerate(tags))
        p *= math.prod(model.transitions_[a, b] for a, b in itertools.pairwise(tags))
        best = max(best, (p, tags))
        total += p
        for i, t in enumerate(tags):
            marginals[i, t] += p
    return [str(model.classes_[t]) for t in best[1]], marginals / total


def test_tags_are_the_best_of_all(corpus):
    model = HMMTagger().fit(*corpus[0])
    for words in (["the", "can"], ["a", "zork", "can", "fish"], ["light"]):
        tags, marginals = enumerated_sequences(model, words)
        assert model.predict([words]) == [tags]
        np.testing.assert_allclose(
            model.predict_proba([words])[0], marginals, atol=1e-9
        )


def test_beats_the_most_frequent_tag_on_ambiguous_words(corpus):
    (sentences, tags), (new, wanted) = corpus
    model = HMMTagger().fit(sentences, tags)
    usual = most_frequent_tags(sentences, tags)
    found = model.predict(new)
    assert [len(t) for t in found] == [len(s) for s in new]
    ambiguous = {"can", "fish", "light"}
    triples = [
        (word, t, f)
        for s, ts, fs in zip(new, wanted, found)
        for word, t, f in zip(s, ts, fs)
    ]
    held = [x for x in triples if x[0] in ambiguous]
    right = np.mean([t == f for _, t, f in held])
    baseline = np.mean([usual[word] == t for word, t, _ in held])
    assert right > baseline + 0.15
    unknown = [x for x in triples if x[0] not in usual]
    assert len(unknown) > 40
    assert np.mean([t == f for _, t, f in unknown]) > 0.95
    assert model.score(new, wanted) == pytest.approx(
        np.mean([t == f for _, t, f in triples])
    )


def test_brace_and_not_brare():
    """Handwriting: r and c look alike; pairs of letters tell them apart."""
    words = [
        "brace",
        "grace",
        "trace",
        "race",
        "place",
        "face",
        "bare",
        "care",
        "rare",
        "brand",
        "crab",
        "area",
    ]
    looks = {"r": "r-or-c", "c": "r-or-c"}
    shown = [[looks.get(letter, letter) for letter in word] for word in words]
    model = HMMTagger().fit(shown, [list(word) for word in words])
    glyphs = [looks.get(letter, letter) for letter in "brace"]
    assert glyphs == ["b", "r-or-c", "a", "r-or-c", "e"]
    assert "".join(model.predict([glyphs])[0]) == "brace"


def test_order_of_sentences_and_names_of_tags(corpus):
    (sentences, tags), (new, _) = corpus
    model = HMMTagger().fit(sentences, tags)
    turned = HMMTagger().fit(sentences[::-1], tags[::-1])
    assert turned.predict(new) == model.predict(new)
    renamed = HMMTagger().fit(sentences, [[f"{t}!" for t in part] for part in tags])
    assert renamed.predict(new) == [[f"{t}!" for t in p] for p in model.predict(new)]


def test_capitals_at_the_start_of_a_sentence():
    model = HMMTagger().fit(["the dog barks"] * 3, [["D", "N", "V"]] * 3)
    assert model.predict(["The dog barks"]) == [["D", "N", "V"]]


def test_save_load_and_unfitted(corpus, tmp_path):
    model = HMMTagger().fit(*corpus[0])
    pansophy.save(model, tmp_path / "model")
    again = pansophy.load(tmp_path / "model")
    assert again.predict(corpus[1][0]) == model.predict(corpus[1][0])
    with pytest.raises(NotFittedError):
        HMMTagger().predict(["a b"])
    with pytest.raises(ValueError, match="form_weight"):
        HMMTagger(form_weight=0).fit(["a"], [["X"]])


def test_folds_keep_documents_together():
    sentences = ["the cat sits", "a dog runs", "the dog sits", "a cat runs"] * 5
    tags = [["D", "N", "V"]] * 20
    documents = [0, 0, 1, 1, 2] * 4
    folds = GroupKFold(3)
    scores = cross_val_score(HMMTagger(), sentences, tags, groups=documents, cv=folds)
    assert scores.tolist() == [1.0] * 3
    for train, test in folds.split(sentences, tags, documents):
        assert not {documents[i] for i in train} & {documents[i] for i in test}
