"""Terms that add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.diagnose import bias_variance, bias_variance_path
from pansophy.diagnose.model.bias_variance import squared_terms, zero_one_terms
from pansophy.linear_model import LinearRegression, Ridge
from pansophy.tree import DecisionTreeClassifier


def total(t):
    return t.bias + t.variance + t.noise + t.cross


@given(st.integers(0, 10**6))
def test_terms_sum_exactly(seed):
    rng = np.random.default_rng(seed)
    G, y, f = rng.normal(size=(7, 30)), rng.normal(size=30), rng.normal(size=30)
    for truth in (None, f):
        t = squared_terms(G, y, truth)
        assert t.error == pytest.approx(np.mean((y - G) ** 2), rel=1e-12)
        assert total(t) == pytest.approx(t.error, rel=1e-9)
    assert squared_terms(G, y).noise == squared_terms(G, y).cross == 0
    labels, given_ = rng.integers(0, 4, size=(9, 40)), rng.integers(0, 4, 40)
    t = zero_one_terms(labels, given_)
    assert total(t) == pytest.approx(np.mean(labels != given_), abs=1e-12)


def test_ridge_trades_variance_for_bias():
    rng = np.random.default_rng(0)
    w = rng.normal(size=8)
    grid = rng.normal(size=(200, 8))
    noisy = grid @ w + rng.normal(size=200)

    def simulate(n, rng):
        X = rng.normal(size=(n, 8))
        return X, X @ w + rng.normal(size=n)

    args = np.zeros((20, 8)), np.zeros(20), grid, noisy
    how = {"truth": grid @ w, "simulate": simulate, "repeats": 80}
    terms = bias_variance_path(Ridge(), "alpha", [0.1, 5, 50], *args, **how)
    assert terms[0].bias < terms[1].bias < terms[2].bias
    assert terms[0].variance > terms[1].variance > terms[2].variance
    assert all(t.noise == terms[0].noise for t in terms)  # not of the model
    assert all(abs(t.cross) < 0.3 * t.error for t in terms)
    plain = bias_variance(LinearRegression(), *args, **how)
    assert plain.bias < 0.05 * plain.variance  # the truth is a line
    assert "bias" in str(plain) and "noise" in str(plain)


def test_classifier_and_refusals(rng):
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] > 0).astype(int)
    tree = DecisionTreeClassifier(random_state=0)
    t = bias_variance(tree, X[:60], y[:60], X[60:], y[60:], repeats=10)
    assert t.loss == "zero-one" and total(t) == pytest.approx(t.error)
    with pytest.raises(ValueError, match="y_test or truth"):
        bias_variance(tree, X, y, X)
    with pytest.raises(ValueError, match="loss must"):
        bias_variance(tree, X, y, X, y, loss="log")
