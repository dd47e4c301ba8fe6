"""Classification and regression by k nearest neighbours."""

import numpy as np
import pytest
from sklearn import neighbors as theirs

from pansophy.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    local_vote,
)

LINE = np.array([[1.0], [2.0], [3.0], [6.0], [7.0]])


NAMES = np.array(["A", "A", "A", "B", "B"])


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize(("k", "share"), [(1, 1.0), (3, 2 / 3), (5, 3 / 5)])
def test_worked_votes(k, share):
    model = KNeighborsClassifier(k).fit(LINE, NAMES)
    assert model.predict_proba([[4.2]])[0, 0] == pytest.approx(share)
    assert model.predict([[4.2]]).tolist() == ["A"]


def test_one_neighbour_repeats_the_labels_and_all_give_the_priors():
    X, y = rows(40, 3), np.random.default_rng(1).integers(0, 3, 40)
    assert (KNeighborsClassifier(1).fit(X, y).predict(X) == y).all()
    P = KNeighborsClassifier(40).fit(X, y).predict_proba(rows(5, 3, 2))
    np.testing.assert_allclose(P, np.tile(np.bincount(y) / 40, (5, 1)))


def test_local_vote():
    X, alpha, y = [[0.0], [1.0], [5.0]], [1.0, 0.5, 2.0], [1, -1, -1]
    got = local_vote(X, alpha, np.array([[0.0], [2.9], [4.0]]), 1.0, y)
    np.testing.assert_allclose(got, [0.5, -0.5, -2.0])
    h, far = 0.7, np.array([0.0, 0.7, 1.4])
    np.testing.assert_allclose(
        np.exp(-((far / h) ** 2)), [1, 0.367879, 0.018316], atol=1e-6
    )


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda D: np.exp(-D)])
@pytest.mark.parametrize("algorithm", ["auto", "brute", "kd_tree"])
def test_votes_of_scikit_learn(weights, algorithm):
    X, Q = np.round(rows(200, 4), 1), np.round(rows(50, 4, 1), 1)
    Q[:10] = X[:10]
    y = np.random.default_rng(2).integers(0, 4, 200)
    how = {"n_neighbors": 7, "weights": weights, "algorithm": algorithm}
    X, Q = X + 1e-7 * rows(200, 4, 5), Q  # no ties, whose order is not set
    a = KNeighborsClassifier(**how).fit(X, y)
    b = theirs.KNeighborsClassifier(**how).fit(X, y)
    # scikit-learn's brute force loses digits of small distances
    np.testing.assert_allclose(a.predict_proba(Q), b.predict_proba(Q), atol=1e-6)
    assert (a.predict(Q) == b.predict(Q)).all()
    assert (a.predict(None) == b.predict(None)).all()
    assert a.score(None, y) == b.score(None, y)
    two = np.column_stack([y, -2.0 * y])
    for target in (y.astype(float), two):
        a = KNeighborsRegressor(**how).fit(X, target)
        b = theirs.KNeighborsRegressor(**how).fit(X, target)
        np.testing.assert_allclose(a.predict(Q), b.predict(Q), atol=1e-5)
    a = KNeighborsClassifier(**how).fit(X, two.astype(int))
    b = theirs.KNeighborsClassifier(**how).fit(X, two.astype(int))
    assert (a.predict(Q) == b.predict(Q)).all()
    for p, q in zip(a.predict_proba(Q), b.predict_proba(Q), strict=True):
        np.testing.assert_allclose(p, q, atol=1e-6)
