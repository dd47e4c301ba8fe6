"""Permutation tests: real signal is found, random labels are not."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin

from pansophy.diagnose import learning_curve, permutation_check
from pansophy.diagnose.model.permutation_check import permutation_within
from pansophy.linear_model import LinearRegression, LogisticRegression


class Line(RegressorMixin, BaseEstimator):
    """Least squares without ceremony: thousands of fits are made here."""

    def fit(self, X, y):
        self.w_ = np.linalg.lstsq(X, y, rcond=None)[0]
        return self

    def predict(self, X):
        return X @ self.w_


def test_real_signal_and_random_labels(rng):
    X = rng.normal(size=(60, 2))
    real = permutation_check(LinearRegression(), X, X[:, 0], permutations=49)
    assert real.p_value == 1 / 50 and real.finding() is None
    assert "something to learn" in str(real)
    few = permutation_check(Line(), X, X[:, 0], permutations=4)
    assert few.p_value == 0.2 and few.learned  # no shuffle did as well
    p = []
    for seed in range(50):
        g = np.random.default_rng(seed)
        A, b = g.normal(size=(30, 2)), g.normal(size=30)
        check = permutation_check(Line(), A, b, cv=3, permutations=9, random_state=seed)
        p.append(check.p_value)
    # uniform on 0.1, ..., 1: six deviations of the mean; the lowest value 5 times
    assert np.mean(p) == pytest.approx(0.55, abs=6 * np.sqrt(99 / 1200 / 50))
    assert np.sum(np.isclose(p, 0.1)) <= stats.binom.isf(1e-9, 50, 0.1)
    labels = rng.permutation(np.arange(100) % 2)
    none = permutation_check(
        LogisticRegression(), rng.normal(size=(100, 2)), labels, permutations=30
    )
    assert none.permuted.mean() == pytest.approx(0.5, abs=0.1)
    none = permutation_check(
        LogisticRegression(), np.ones((100, 2)), labels, permutations=30
    )
    assert none.p_value == 1 and none.finding().severity == "alarm"


def test_shuffling_within_groups(rng):
    within = rng.integers(0, 4, 50)
    order = permutation_within(rng, 50, within)
    assert sorted(order) == list(range(50))
    np.testing.assert_array_equal(within[order], within)
    assert np.any(order != np.arange(50))


def test_fewer_groups_than_folds(rng):
    X = rng.normal(size=(60, 2))
    groups = np.repeat(["a", "b", "c"], 20)
    y = (X[:, 0] > 0).astype(int)
    check = permutation_check(
        LogisticRegression(), X, y, groups=groups, permutations=19
    )
    assert check.learned
    curve = learning_curve(LogisticRegression(), X, y, groups=groups)
    assert curve.test.shape[1] == 3
    with pytest.raises(ValueError, match="at least two"):
        permutation_check(LogisticRegression(), X, y, groups=np.ones(60))
