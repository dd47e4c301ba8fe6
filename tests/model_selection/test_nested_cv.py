"""Nested cross-validation: folds rotate, test rows never reach tuning, honesty."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from pansophy.compare import nested_cross_validation
from tests.compare.evaluation.spies import Spy


@pytest.fixture
def rows():
    Spy.diary.clear()
    return np.arange(40.0)[:, None], np.full(40, 2.0)


def test_nested_folds_rotate_test_and_validation(rows):
    X, y = rows
    n = 4
    result = nested_cross_validation(
        Spy(), {"c": [5.0, 1.0]}, X, y, folds=np.arange(40) % n
    )
    assert result.fits == 2 * n * (n - 1) == sum(e[0] == "fit" for e in Spy.diary)
    assert nested_cross_validation(Spy(), {"c": [1.0]}, X, y, folds=n).fits == n * (
        n - 1
    )
    assert result.chosen == ({"c": 1.0},) * n
    assert np.isnan(np.diag(result.test)).all()
    assert np.nansum(result.test) == n * (n - 1) and result.loss == 1.0
    assert "24 fits" in str(result)


def test_nested_test_rows_never_reach_tuning(rows):
    """In the diary, a fold's rows are first read after its setting was chosen."""
    X, y = rows
    n, fold = 5, np.arange(40) % 5
    nested_cross_validation(Spy(), {"c": [5.0, 1.0]}, X, y, folds=fold)
    per_turn = len(Spy.diary) // n
    for t in range(n):
        turn = Spy.diary[t * per_turn : (t + 1) * per_turn]
        met = [bool(set(e[2]) & set(np.flatnonzero(fold == t))) for e in turn]
        assert met == [False] * (per_turn - (n - 1)) + [True] * (n - 1)
        assert all(e[:2] == ("predict", 1.0) for e in turn[-(n - 1) :])


def test_nested_loss_is_honest_where_the_best_of_many_is_not():
    """Classes drawn by lot: the best of 30 seeds looks good, and is not."""

    class Lot(ClassifierMixin, BaseEstimator):
        def __init__(self, seed=0):
            self.seed = seed

        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            rng = np.random.default_rng([self.seed, *X[:, 0].astype(int)])
            return rng.integers(0, 2, len(X))

    rng = np.random.default_rng(0)
    inner, outer = [], []
    for i in range(20):
        X, y = np.arange(60.0)[:, None] + 100 * i, rng.integers(0, 2, 60)
        found = nested_cross_validation(
            Lot(), {"seed": list(range(30))}, X, y, folds=3, random_state=i
        )
        inner.append(np.nanmean(found.validation))
        outer.append(found.loss)
    assert np.mean(inner) < 0.42
    assert np.mean(outer) == pytest.approx(0.5, abs=0.04)


def test_nested_bad_input(rows):
    X, y = rows
    for wrong, words in [
        (
            lambda: nested_cross_validation(Spy(), {"c": [1]}, X, y, folds=2),
            "three parts",
        ),
        (
            lambda: nested_cross_validation(Spy(), {"c": [1]}, X[:3], y[:3], folds=4),
            "too few",
        ),
        (
            lambda: nested_cross_validation(Spy(), {"c": [1]}, X, y, folds=[0, 1, 2]),
            "40 entries",
        ),
        (
            lambda: nested_cross_validation(Spy(), {"c": [np.nan]}, X, y, folds=3),
            "finite",
        ),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong()
