"""LinearClassifier with given weights, margins and the canonical plane."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.linear_model import (
    LinearClassifier,
    canonical_plane,
    margins,
)


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
