"""Pairs of words and their mutual information: worked numbers and properties."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from pansophy.text import collocations, cooccurrence, pmi, remove_stop_words

SENTENCES = [s.split() for s in ("the cat sat on the mat", "the dog sat on the mat")]


def of(pairs, matrix, x, y):
    return matrix[pairs.words.index(x), pairs.words.index(y)]


def test_worked_example():
    pairs = cooccurrence(SENTENCES)
    assert pairs.counts.sum() == 10
    expected = {
        ("the", "cat"): 1,
        ("the", "mat"): 2,
        ("sat", "on"): 2,
        ("mat", "the"): 0,
    }
    for (x, y), count in expected.items():
        assert of(pairs, pairs.counts, x, y) == count
    unigram = pmi(pairs)
    table = pmi(pairs, marginals="pairs")
    for x, y, a, b in [
        ("the", "cat", 1.280934, 0.916291),
        ("cat", "sat", 1.974081, 1.609438),
        ("sat", "on", 1.974081, 1.609438),
        ("on", "the", 1.280934, 1.609438),
    ]:
        assert of(pairs, unigram, x, y) == pytest.approx(a, abs=1e-6)
        assert of(pairs, table, x, y) == pytest.approx(b, abs=1e-6)


def test_properties():
    independent = np.outer([1, 2, 3], [4, 5])
    np.testing.assert_allclose(pmi(independent).toarray(), 0, atol=1e-12)
    pairs = cooccurrence(SENTENCES, window=2, symmetric=True)
    assert abs(pairs.counts - pairs.counts.T).nnz == 0
    scores = pmi(pairs, marginals="pairs").toarray()
    np.testing.assert_allclose(scores, scores.T)
    p = pairs.counts.toarray() / pairs.counts.sum()
    information = np.sum(p * scores)
    marginal = p.sum(axis=0)
    inside = p > 0
    direct = p[inside] * np.log(p[inside] / np.outer(marginal, marginal)[inside])
    assert information == pytest.approx(direct.sum())
    assert abs(pmi(pairs, kind="npmi", marginals="pairs")).max() <= 1 + 1e-12
    assert pmi(pairs, kind="ppmi").min() >= 0
    with pytest.raises(ValueError, match="kind must be"):
        pmi(pairs, kind="mi")
    with pytest.raises(ValueError, match="marginals must be"):
        pmi(pairs, marginals="rows")
    with pytest.raises(ValueError, match="window must be"):
        cooccurrence(SENTENCES, window=0)


def test_stop_words():
    assert remove_stop_words(SENTENCES[0]) == ["cat", "sat", "mat"]
    assert remove_stop_words(SENTENCES[0], []) == SENTENCES[0]
    with pytest.raises(ValueError, match="stop_words must be"):
        remove_stop_words(["a"], "german")


def test_collocations():
    text = ["new york is big", "he left new york", "new is not old", "is he old"] * 3
    sentences = [s.split() for s in text]
    for measure in ("npmi", "likelihood_ratio"):
        found = collocations(sentences, measure=measure, min_count=6)
        assert found[0].words == ("new", "york")
    triples = collocations(sentences, length=3)
    assert all(c.count == 3 and len(c.words) == 3 for c in triples)
    n = sum(map(len, sentences))
    words = [w for s in sentences for w in s]
    first = triples[0]
    expected = np.log(first.count / (3 * (2 + 2 + 2 + 1)))
    expected -= sum(np.log(words.count(w) / n) for w in first.words)
    assert first.score == pytest.approx(expected)
    with pytest.raises(ValueError, match="length must be 2 or 3"):
        collocations(sentences, length=4)
    with pytest.raises(ValueError, match="measure must be"):
        collocations(sentences, measure="t")


def test_sentences_may_be_texts():
    texts = ["the cat sat", "the dog sat"]
    lists = [text.split() for text in texts]
    assert cooccurrence(texts).words == cooccurrence(lists).words
    assert collocations(texts * 2) == collocations(lists * 2)
    assert remove_stop_words("the cat") == ["cat"]
    for nothing in ([], [[]], [""]):
        found = cooccurrence(nothing)
        assert found.words == [] and found.counts.shape == (0, 0)
        assert pmi(found).shape == (0, 0)
        assert collocations(nothing) == []
    with pytest.raises(ValueError, match="string object received"):
        cooccurrence("one text")
    with pytest.raises(ValueError, match="got None"):
        collocations([None])


def test_likelihood_ratio_is_that_of_the_table_of_pairs():
    """Against SciPy's G2 of the contingency table of every pair."""
    twice = collocations(
        [["a", "b"]] * 10 + [["c", "d"]] * 10, measure="likelihood_ratio", min_count=1
    )
    assert twice[0].score == pytest.approx(20 * np.log(4))  # [[10, 0], [0, 10]]
    rng = np.random.default_rng(0)
    p = np.arange(1, 9) / 36
    sentences = [[f"w{i}" for i in rng.choice(8, 12, p=p)] for _ in range(60)]
    found = collocations(sentences, measure="likelihood_ratio", min_count=1, top=99)
    pairs = [pair for s in sentences for pair in pairwise(s)]
    assert len(found) == len(set(pairs))
    for c in found:
        starts = np.array([a == c.words[0] for a, _ in pairs])
        ends = np.array([b == c.words[1] for _, b in pairs])
        table = [
            [(starts & ends).sum(), (starts & ~ends).sum()],
            [(~starts & ends).sum(), (~starts & ~ends).sum()],
        ]
        ratio = chi2_contingency(table, correction=False, lambda_="log-likelihood")
        assert c.score == pytest.approx(ratio.statistic, rel=1e-9, abs=1e-9)
