"""CRF tagger: the chain CRF over features of words."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import pansophy
from pansophy.graphical import ChainCRF
from pansophy.text import (
    CRFTagger,
    HMMTagger,
    most_frequent_tags,
    sentence_features,
)
from tests.text.tagged_corpus import tagged_sentences


@pytest.fixture(scope="module")
def fitted():
    train, test = tagged_sentences(100, seed=0), tagged_sentences(60, seed=1)
    return CRFTagger().fit(*train), train, test


def test_is_the_chain_crf_over_features(fitted):
    model, (sentences, tags), (new, _) = fitted
    crf = ChainCRF(c2=0.1, all_possible_transitions=True)
    crf.fit([sentence_features(s) for s in sentences], tags)
    wanted = crf.predict([sentence_features(s) for s in new])
    assert model.predict(new) == [list(t) for t in wanted]
    P = model.predict_proba(new[:3])
    np.testing.assert_allclose(np.concatenate(P).sum(axis=1), 1.0)
    assert model.classes_.tolist() == sorted({t for part in tags for t in part})


def test_context_and_unknown_words(fitted):
    model, (sentences, tags), (new, wanted) = fitted
    usual = most_frequent_tags(sentences, tags)
    words = [w for s in new for w in s]
    true = np.array([t for part in wanted for t in part])
    found = np.array([t for part in model.predict(new) for t in part])
    ambiguous = np.isin(words, ["can", "fish", "light"])
    baseline = np.mean([usual[w] == t for w, t, a in zip(words, true, ambiguous) if a])
    assert np.mean(found[ambiguous] == true[ambiguous]) > baseline + 0.2
    unknown = np.array([w not in usual for w in words])
    assert np.mean(found[unknown] == true[unknown]) > 0.98
    assert model.score(new, wanted) > 0.97


def test_window(fitted):
    _, train, (new, wanted) = fitted
    alone = CRFTagger(window=0, max_iterations=30).fit(*train)
    assert alone.score(new, wanted) > 0.9


def test_save_load_and_unfitted(fitted, tmp_path):
    model, _, (new, _) = fitted
    pansophy.save(model, tmp_path / "model")
    assert pansophy.load(tmp_path / "model").predict(new) == model.predict(new)
    with pytest.raises(NotFittedError):
        CRFTagger().predict(["a b"])


def test_class_weight_moves_probabilities(fitted):
    model, train, (new, _) = fitted
    factors = {"N": 3.0, "V": 0.5}
    given = {tag: factors.get(tag, 1.0) for tag in model.classes_.tolist()}
    weighted = CRFTagger(class_weight=given).fit(*train)
    np.testing.assert_allclose(weighted.crf_.coef_, model.crf_.coef_)
    # a sentence of one word: the odds are multiplied by the factors
    P = model.predict_proba([["light"]])[0][0]
    expected = P * [given[tag] for tag in model.classes_.tolist()]
    found = weighted.predict_proba([["light"]])[0][0]
    np.testing.assert_allclose(found, expected / expected.sum())
    ones = CRFTagger(class_weight=dict.fromkeys(given, 7.0)).fit(*train)
    np.testing.assert_allclose(
        np.concatenate(ones.predict_proba(new)),
        np.concatenate(model.predict_proba(new)),
    )


@pytest.mark.parametrize("tagger", [CRFTagger(max_iterations=5), HMMTagger()])
def test_balanced_finds_more_of_a_rare_tag(tagger, rng):
    words = rng.integers(0, 10, 3000)
    is_rare = rng.random(3000) < np.where(words < 3, 0.3, 0.02)
    sentences = [[f"w{w}"] for w in words]
    tags = [["rare" if r else "usual"] for r in is_rare]
    plain = clone(tagger).fit(sentences, tags)
    weighted = clone(tagger).set_params(class_weight="balanced").fit(sentences, tags)
    assert plain.predict([["w1"], ["w7"]]) == [["usual"], ["usual"]]
    assert weighted.predict([["w1"], ["w7"]]) == [["rare"], ["usual"]]
    with pytest.raises(ValueError, match="class_weight must be above 0"):
        clone(tagger).set_params(class_weight={"rare": 0.0}).fit(sentences, tags)
    with pytest.raises(ValueError, match="not in class_weight"):
        clone(tagger).set_params(class_weight={"odd": 2.0}).fit(sentences, tags)
