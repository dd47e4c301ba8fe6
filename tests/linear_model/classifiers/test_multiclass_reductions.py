"""Comparable scores, ambiguous rows and error-correcting output codes."""

import numpy as np
import pytest
from sklearn.multiclass import (
    OneVsOneClassifier,
    OneVsRestClassifier,
    OutputCodeClassifier,
)

from pansophy.linear_model import (
    LogisticRegression,
    ambiguous_mask,
    hamming_codes,
    normalize_scores,
)


def toy(rng):
    y = np.repeat([0, 1, 2], 40)
    corners = np.array([[0.0, 0], [3, 0], [0, 3]])
    return corners[y] + rng.normal(size=(120, 2)), y


def test_votes_and_doubtful_rows(rng):
    X, y = toy(rng)
    rest = OneVsRestClassifier(LogisticRegression()).fit(X, y)
    pairs = OneVsOneClassifier(LogisticRegression()).fit(X, y)
    assert len(rest.estimators_) == 3 and len(pairs.estimators_) == 3
    grid = np.stack(np.meshgrid(*[np.linspace(-3, 6, 60)] * 2), axis=-1).reshape(-1, 2)
    F = rest.decision_function(grid)
    doubt = ambiguous_mask(F)
    assert doubt.any() and not doubt.all()
    sole = np.argmax(F > 0, axis=1)
    assert (np.argmax(F, axis=1)[~doubt] == sole[~doubt]).all()
    votes = np.array([[2, 0, 1], [1, 1, 1]])
    assert ambiguous_mask(votes, multi_class="ovo").tolist() == [False, True]
    assert np.argmax(votes[0]) == 0 and votes.sum(axis=1).tolist() == [3, 3]
    coef = np.vstack([m.coef_ for m in rest.estimators_])
    G = normalize_scores(F, coef)
    assert ((G > 0) == (F > 0)).all()
    scaled = normalize_scores(F * [1, 10, 1], coef * [[1], [10], [1]])
    np.testing.assert_allclose(scaled, G)
    with pytest.raises(ValueError, match="multi_class must be"):
        ambiguous_mask(F, multi_class="all")


def test_numbers_of_models(rng):
    y = np.repeat(np.arange(10), 6)
    X = 4 * np.eye(10)[y] + rng.normal(size=(60, 10))
    rest = OneVsRestClassifier(LogisticRegression()).fit(X, y)
    pairs = OneVsOneClassifier(LogisticRegression()).fit(X, y)
    assert len(rest.estimators_) == 10 and len(pairs.estimators_) == 45


@pytest.mark.parametrize("c", [2, 5, 10, 16])
@pytest.mark.parametrize("correct", [0, 1, 2])
def test_codes_correct_wrong_bits(c, correct, rng):
    code = hamming_codes(c, correct)
    words = code.words
    far = (words[:, None] != words[None]).sum(axis=2) + 99 * np.eye(c, dtype=int)
    assert far.min() == code.distance >= 2 * correct + 1 and code.corrects >= correct
    y = rng.integers(0, c, size=200)
    bits = code.encode(y)
    for row in bits:
        flip = rng.choice(words.shape[1], size=code.corrects, replace=False)
        row[flip] ^= 1
    assert (code.decode(bits) == y).all()


def test_lengths_of_codes(rng):
    assert hamming_codes(10).words.shape == (10, 4)
    assert hamming_codes(1000).words.shape == (1000, 10)
    assert hamming_codes(16, correct=1).words.shape == (16, 7)
    X, y = toy(rng)
    model = OutputCodeClassifier(LogisticRegression(), code_size=1.5, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.7
    with pytest.raises(ValueError, match="at least 2"):
        hamming_codes(1)
    with pytest.raises(ValueError, match="24 bits"):
        hamming_codes(1000, correct=7)
