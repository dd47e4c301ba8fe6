"""DecisionStump: its split is the best of all single splits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.tree import DecisionStump


def errors(left, y, w):
    """Weighted errors of the majorities of two sides."""
    sides = (left, ~left)
    return sum(w[s].sum() - max(w[s & (y == c)].sum() for c in set(y)) for s in sides)


def questions(x, levels):
    """All questions of a column, as the rows on the left."""
    values = np.unique(x)
    return [x == v for v in values] if levels else [x <= v for v in values[:-1]]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.integers(2, 4))
def test_the_stump_is_the_best_of_all(seed, levels, n_classes):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(25, 3))
    y = rng.integers(0, n_classes, 25)
    w = rng.integers(1, 4, 25).astype(float)
    stump = DecisionStump(categorical_features=[0, 1, 2] if levels else None)
    stump.fit(X, y, w)
    found = [questions(x, levels) for x in X.T]
    # at most one question less than values, none between equal ones
    assert all(len(q) <= len(np.unique(x)) - (not levels) for q, x in zip(found, X.T))
    least = min(errors(left, y, w) for q in found for left in q)
    mine = w[stump.predict(X) != y].sum()
    assert mine == pytest.approx(least)
    assert stump.get_n_leaves() <= 2


def test_match_and_threshold_forms():
    rng = np.random.default_rng(0)
    X = rng.choice(["red", "green", "blue"], size=(60, 2))
    y = X[:, 1] == "green"
    stump = DecisionStump(categorical_features=[0, 1]).fit(X, y)
    # zero loss exactly when some feature = value reproduces y
    assert stump.feature_ == 1
    assert stump.split_.left == ("green",)
    assert stump.score(X, y) == 1.0
    both = (X[:, 1] == "green") & (X[:, 0] == "red")
    assert DecisionStump(categorical_features=[0, 1]).fit(X, both).score(X, both) < 1
    Z = rng.normal(size=(60, 3))
    line = DecisionStump().fit(Z, Z[:, 2] > 0.1)
    assert line.feature_ == 2
    below, above = Z[Z[:, 2] <= 0.1, 2].max(), Z[Z[:, 2] > 0.1, 2].min()
    assert line.split_.threshold == pytest.approx((below + above) / 2)
    nothing = DecisionStump().fit(np.ones((4, 1)), [0, 1, 1, 1])
    assert nothing.feature_ is None
    assert nothing.split_ is None
    assert nothing.predict([[5.0]]).tolist() == [1]
    gini = DecisionStump("gini").fit([[0], [1], [2], [3]], [0, 0, 0, 1])
    assert gini.split_.threshold == 2.5
