"""Tree-augmented naive Bayes against its network."""

import numpy as np
import pytest

from pansophy.graphical import (
    TreeAugmentedNB,
)
from pansophy.naive_bayes import CategoricalNB


def classes(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.integers(0, 3, (n, 4))
    X[:, 1] = np.where(rng.random(n) < 0.7, (X[:, 0] + y) % 3, X[:, 1])
    X[:, 2] = np.where(rng.random(n) < 0.5, y, X[:, 2])
    X[:, 3] = np.where(rng.random(n) < 0.6, X[:, 1], X[:, 3])
    return X, np.array(["p", "q", "r"])[y]


def test_tan_finds_what_naive_bayes_cannot_see():
    X, y = classes()
    model = TreeAugmentedNB().fit(X, y)
    edges = {frozenset((j, p[0])) for j, p in enumerate(model.parents_) if p}
    assert {frozenset((0, 1)), frozenset((1, 3))} <= edges
    assert model.score(X, y) > CategoricalNB().fit(X, y).score(X, y) + 0.1
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_tan_is_its_network():
    X, y = classes(200)
    model = TreeAugmentedNB(alpha=0.5).fit(X, y)
    network = model.network("y")
    rows = {f"x{j}": X[:5, j] for j in range(4)}
    np.testing.assert_allclose(
        network.predict_proba(rows, "y"), model.predict_proba(X[:5])
    )
    X = X[:5].astype(float)
    X[0, 1] = X[1, 0] = X[1, 3] = X[2] = np.nan
    rows = {f"x{j}": X[:, j] for j in range(4)}
    np.testing.assert_allclose(
        network.predict_proba(rows, "y"), model.predict_proba(X), atol=1e-12
    )
    np.testing.assert_allclose(
        model.score_samples(X)[3:], network.score_samples(rows)[3:]
    )


def test_tan_weights_roots_and_samples():
    X, y = classes(300)
    w = np.random.default_rng(9).integers(0, 3, 300)
    a = TreeAugmentedNB().fit(X, y, sample_weight=w)
    b = TreeAugmentedNB().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X))
    c, d = (TreeAugmentedNB(alpha=0, root=r).fit(X, y) for r in (0, 2))
    np.testing.assert_allclose(c.score_samples(X), d.score_samples(X))
    drawn, labels = a.sample(4000, random_state=0)
    again = TreeAugmentedNB().fit(drawn, labels)
    assert again.parents_ == a.parents_
    with pytest.raises(ValueError, match="not seen in fit"):
        a.predict([[9, 0, 0, 0]])
    with pytest.raises(ValueError, match="root must be a column"):
        TreeAugmentedNB(root=7).fit(X, y)
    TreeAugmentedNB(min_categories=10).fit(X, y).predict([[9, 0, 0, 0]])
