"""Co-training on two views."""

import numpy as np
import pytest
from sklearn import naive_bayes as peer

from pansophy.linear_model import LogisticRegression
from pansophy.naive_bayes import GaussianNB
from pansophy.params import ParameterError
from pansophy.semi_supervised import CoTraining
from pansophy.semi_supervised.co_training import rows_by_class
from tests.semi_supervised.small_sets import partly_labelled


def self_training_by_class(X, y, counts, rounds):
    """Labels and rounds of self-training that takes some rows of each class."""
    y = y.copy()
    when = np.where(y < 0, -1, 0)
    for r in range(1, rounds + 1):
        P = GaussianNB().fit(X[y >= 0], y[y >= 0]).predict_proba(X)
        new = []
        for c, k in enumerate(counts):
            own = [i for i in np.flatnonzero(y < 0) if P[i].argmax() == c]
            new += [(i, c) for i in sorted(own, key=lambda i: -P[i, c])[:k]]
        for i, c in new:
            y[i] = c
            when[i] = r
    return y, when


def test_identical_views_are_self_training_by_class():
    X, _, y = partly_labelled(n=100)
    both = [[0, 1, 2, 3], [0, 1, 2, 3]]
    mine = CoTraining(GaussianNB(), views=both, k_best=[1, 2, 3], max_iter=6).fit(X, y)
    labels, when = self_training_by_class(X, y, [1, 2, 3], 6)
    np.testing.assert_array_equal(mine.transduction_, labels)
    np.testing.assert_array_equal(mine.labeled_iter_, when)


def test_k_best_is_shared_among_the_classes():
    # ten rows in the ratio (6 + 4) : (2 + 4), at least one each
    assert rows_by_class(10, [6, 2]).tolist() == [6, 4]
    assert rows_by_class(1, [6, 2, 1]).tolist() == [1, 1, 1]
    X, _, y = partly_labelled()
    given = CoTraining(k_best=[3, 3, 3], max_iter=4).fit(X, y)
    shared = CoTraining(k_best=9, max_iter=4).fit(X, y)
    np.testing.assert_array_equal(given.transduction_, shared.transduction_)
    with pytest.raises(ParameterError, match="each of 3 classes, got 2"):
        CoTraining(k_best=[3, 3]).fit(X, y)
    with pytest.raises(ParameterError, match="k_best must be a whole number"):
        CoTraining(k_best=[3, 3, 0]).fit(X, y)


@pytest.mark.parametrize(
    ("share", "known", "gain"),
    [(0.5, (8, 8), 0.04), (0.5, (6, 10), 0.0), (0.2, (4, 16), -0.02)],
)
def test_classes_keep_their_proportion(share, known, gain):
    """Two views of two columns, class shift 1.2: one class took all rows once."""
    scores = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y = (rng.random(400) < share).astype(int)
        X = rng.normal(size=(400, 4)) + 1.2 * y[:, None]
        part = np.full(400, -1)
        for c, k in enumerate(sorted(known, reverse=share < 0.5)):
            part[np.flatnonzero(y == c)[:k]] = c
        labelled = part >= 0
        scores.append(CoTraining(peer.GaussianNB()).fit(X, part).predict(X) == y)
        for view in ([0, 1], [0, 1, 2, 3]):
            alone = peer.GaussianNB().fit(X[labelled][:, view], y[labelled])
            scores.append(alone.predict(X[:, view]) == y)
        scores[-3:] = [np.mean(right[~labelled]) for right in scores[-3:]]
    mine, one, both = np.reshape(scores, (-1, 3)).mean(axis=0)
    assert mine > one + 0.03
    assert mine > both + gain


def test_two_views_beat_one_on_independent_views():
    rng = np.random.default_rng(3)
    gained = []
    for _ in range(5):
        y = rng.integers(0, 2, 400)
        # given the class, each view says its own thing
        A = rng.normal(size=(400, 5)) + 0.9 * (2 * y[:, None] - 1)
        B = rng.normal(size=(400, 5)) + 0.9 * (2 * y[:, None] - 1)
        part = np.full(400, -1)
        for c in range(2):
            part[np.flatnonzero(y == c)[:5]] = c
        X = np.hstack((A, B))
        views = [list(range(5)), list(range(5, 10))]
        pair = CoTraining(views=views, k_best=5, max_iter=60).fit(X, part)
        one = LogisticRegression().fit(A[part >= 0], part[part >= 0])
        gained.append((pair.predict(X) == y).mean() - (one.predict(A) == y).mean())
    assert np.mean(gained) > 0.02


def test_views_are_checked():
    X, _, y = partly_labelled()
    with pytest.raises(ParameterError, match="views"):
        CoTraining(views=[[0], [9]]).fit(X, y)
    with pytest.raises(ParameterError, match="two lists"):
        CoTraining(views=[[0]]).fit(X, y)
