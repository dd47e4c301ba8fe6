"""ExhaustiveSelector: the best of all subsets."""

import numpy as np
import pytest

from pansophy.feature_selection import (
    ExhaustiveSelector,
    SequentialFeatureSelector,
)
from pansophy.linear_model import LinearRegression, LogisticRegression


def problem(rng, n=80, d=8, rho=0.6):
    X = rng.normal(size=(n, d)) + rho * rng.normal(size=(n, 1))
    w = np.where(np.arange(d) % 3 == 0, rng.normal(size=d) * 2, 0.0)
    return X, X @ w + 1 + rng.normal(size=n)


class TestExhaustive:
    def test_never_worse_than_greedy(self, rng):
        X, y = problem(rng, d=6)
        best = ExhaustiveSelector(LinearRegression()).fit(X, y)
        assert len(best.scores_) == 2**6 - 1
        for direction in ("forward", "backward"):
            greedy = SequentialFeatureSelector(
                LinearRegression(), direction=direction, n_features_to_select=3
            ).fit(X, y)
            assert best.score_ >= greedy.scores_[-1] - 1e-12

    def test_refuses_too_many(self, rng):
        X, y = rng.normal(size=(30, 20)), rng.normal(size=30)
        with pytest.raises(ValueError, match="1048575 subsets, more than limit"):
            ExhaustiveSelector().fit(X, y)

    def test_classifier(self, rng):
        X = rng.normal(size=(60, 3))
        best = ExhaustiveSelector(LogisticRegression()).fit(X, X[:, 2] > 0)
        assert best.support_[2]
