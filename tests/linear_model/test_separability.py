"""Planes: separability with proofs, margins, given classifiers, codes, doubt."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.multiclass import (
    OneVsOneClassifier,
    OneVsRestClassifier,
    OutputCodeClassifier,
)

from pansophy.linear_model import (
    LinearClassifier,
    LogisticRegression,
    ambiguous_mask,
    canonical_plane,
    hamming_codes,
    is_separable,
    margins,
    normalize_scores,
    separability,
)

SQUARE = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])


def check_plane(found, X, y):
    t = np.where(np.asarray(y) == found.classes[1], 1, -1)
    assert np.all(t * (X @ found.w + found.b) >= 1)


def check_proof(found, X, y):
    t = np.where(np.asarray(y) == found.classes[1], 1, -1)
    u = found.multipliers
    assert np.all((u >= 0) & (u <= 1)) and u.sum() > 0.1
    np.testing.assert_allclose((u * t) @ X, 0, atol=1e-6)
    assert (u * t).sum() == pytest.approx(0, abs=1e-6)


def test_gates():
    for y in ([0, 0, 0, 1], [0, 1, 1, 1], [1, 1, 0, 0]):
        found = is_separable(SQUARE, y)
        assert found and found.multipliers is None
        check_plane(found, SQUARE, y)
    found = is_separable(SQUARE, [0, 1, 1, 0])
    assert not found and found.w is None
    check_proof(found, SQUARE, [0, 1, 1, 0])


def test_rings_and_touching_points(rng, monkeypatch):
    angle = rng.uniform(0, 2 * np.pi, size=60)
    X = (
        np.column_stack([np.cos(angle), np.sin(angle)])
        * np.repeat([1.0, 3.0], 30)[:, None]
    )
    y = np.repeat(["inner", "outer"], 30)
    found = is_separable(X, y)
    assert not found
    check_proof(found, X, y)
    X, y = np.array([[0.0], [1], [1], [2]]), [0, 0, 1, 1]
    assert not is_separable(X, y)  # a point of both classes
    monkeypatch.setattr(separability, "PASSES", 0)
    thin = np.array([[0.0, 5], [1e-4, 7], [1, 6], [1 + 1e-4, 4]])
    for y in ([0, 0, 1, 1], [0, 1, 1, 0]):
        found = is_separable(thin, y)
        assert found
        check_plane(found, thin, y)


def test_three_classes(rng):
    corners = np.array([[0.0, 0], [8, 0], [0, 8]])
    y = np.repeat([0, 1, 2], 20)
    X = corners[y] + rng.uniform(-1, 1, size=(60, 2))
    found = is_separable(X, y)
    F = X @ found.w.T + found.b
    own = F[np.arange(60), y]
    F[np.arange(60), y] = -np.inf
    assert found and np.all(own - F.max(axis=1) >= 1)
    y[0] = 1
    X[0] = corners[0]
    found = is_separable(X, y)
    assert not found and found.multipliers.shape == (60, 3)
    assert np.all(found.multipliers[np.arange(60), y] == 0)


@given(st.integers(0, 2**31 - 1), st.floats(0.01, 100))
@settings(max_examples=25, deadline=None)
def test_margins_do_not_depend_on_the_scale(seed, factor):
    rng = np.random.default_rng(seed)
    X, w, b = rng.normal(size=(9, 3)), rng.normal(size=3), rng.normal()
    t = rng.choice([-1, 1], size=9)
    m = margins(X, t, w, b)
    np.testing.assert_allclose(margins(X, t, factor * w, factor * b), m, rtol=1e-9)
    wrong = LinearClassifier(w, b).predict(X) != t
    assert ((m < 0) == wrong).all()
    again = LinearClassifier(factor * w, factor * b).predict(X)
    assert (again == LinearClassifier(w, b).predict(X)).all()


def test_canonical_form():
    X, t = np.array([[2.0, 0], [4, 1], [-3, 0]]), np.array([1, 1, -1])
    w, b = canonical_plane(X, t, [5.0, 0.0], 0.0)
    assert (t * (X @ w + b)).min() == pytest.approx(1)
    assert margins(X, t, w, b).min() == pytest.approx(1 / np.linalg.norm(w))
    before = LinearClassifier([5.0, 0.0]).predict(X)
    assert (LinearClassifier(w, b).predict(X) == before).all()
    with pytest.raises(ValueError, match="does not separate"):
        canonical_plane(X, -t, w, b)
    with pytest.raises(ValueError, match="-1 and"):
        margins(X, [0, 1, 1], w)
    with pytest.raises(ValueError, match="other than 0"):
        margins(X, t, [0.0, 0.0])


def test_given_classifier(rng):
    assert LinearClassifier([1.0]).predict([[0.0]])[0] == 1  # sign(0) = +1
    W, b, X = rng.normal(size=(2, 3)), rng.normal(size=2), rng.normal(size=(50, 3))
    two = LinearClassifier(W, b, ["n", "p"]).predict(X)
    one = LinearClassifier(W[1] - W[0], b[1] - b[0], ["n", "p"]).predict(X)
    assert (one == two).all()
    assert LinearClassifier(np.ones((2, 1))).predict([[3.0]])[0] == 1  # a tie, likewise
    W, b = rng.normal(size=(4, 2)), rng.normal(size=4)
    many = LinearClassifier(W, b)
    X = rng.normal(size=(300, 2)) * 3
    label = many.predict(X)
    for c in range(4):  # convex: points between two of a class are of the class
        A = X[label == c]
        if len(A) > 1:
            mix = rng.uniform(size=(len(A), 1))
            assert (many.predict(mix * A + (1 - mix) * A[::-1]) == c).all()


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
    assert ambiguous_mask(votes, multi_class="pairs").tolist() == [False, True]
    assert np.argmax(votes[0]) == 0 and votes.sum(axis=1).tolist() == [3, 3]
    coef = np.vstack([m.coef_ for m in rest.estimators_])
    G = normalize_scores(F, coef)
    assert ((G > 0) == (F > 0)).all()
    scaled = normalize_scores(F * [1, 10, 1], coef * [[1], [10], [1]])
    np.testing.assert_allclose(scaled, G)
    with pytest.raises(ValueError, match="how must be"):
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
