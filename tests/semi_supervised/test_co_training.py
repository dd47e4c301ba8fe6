"""Co-training on two views."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from pansophy.linear_model import LogisticRegression
from pansophy.naive_bayes import GaussianNB
from pansophy.params import ParameterError
from pansophy.semi_supervised import (
    CoTraining,
    SelfTrainingClassifier,
)


def few(n=120, known=6, seed=0, centers=3, std=1.5):
    X, y = make_blobs(n, 4, centers=centers, cluster_std=std, random_state=seed)
    part = y.copy()
    rng = np.random.default_rng(seed)
    keep = np.concatenate(
        [
            rng.choice(np.flatnonzero(y == c), known, replace=False)
            for c in range(centers)
        ]
    )
    part[np.setdiff1d(np.arange(n), keep)] = -1
    return X, y, part


def test_identical_views_are_self_training():
    X, _, y = few(n=100)
    both = [[0, 1, 2, 3], [0, 1, 2, 3]]
    mine = CoTraining(GaussianNB(), views=both, k_best=5, max_iter=8).fit(X, y)
    alone = SelfTrainingClassifier(
        GaussianNB(), criterion="k_best", k_best=5, max_iter=8
    ).fit(X, y)
    np.testing.assert_array_equal(mine.transduction_, alone.transduction_)
    np.testing.assert_array_equal(mine.labeled_iter_, alone.labeled_iter_)
    np.testing.assert_array_equal(mine.predict(X), alone.predict(X))


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
    X, _, y = few()
    with pytest.raises(ParameterError, match="views"):
        CoTraining(views=[[0], [9]]).fit(X, y)
    with pytest.raises(ParameterError, match="two lists"):
        CoTraining(views=[[0]]).fit(X, y)
