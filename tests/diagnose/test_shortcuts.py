"""Columns that should not matter, and labels that mean nothing."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin

from pansophy.diagnose import permutation_check, shortcuts
from pansophy.diagnose.permutation_check import permutation_within
from pansophy.linear_model import LinearRegression, LogisticRegression
from pansophy.tree import DecisionTreeClassifier


class Line(RegressorMixin, BaseEstimator):
    """Least squares without ceremony: thousands of fits are made here."""

    def fit(self, X, y):
        self.w_ = np.linalg.lstsq(X, y, rcond=None)[0]
        return self

    def predict(self, X):
        return X @ self.w_


@pytest.fixture
def photos(rng):
    """A sign of the class, a stamp that goes with it in 9 of 10 rows, and noise."""
    y = rng.integers(0, 2, 600)
    stamp = np.where(rng.random(600) < 0.9, y, 1 - y)
    table = pd.DataFrame({
        "sign": y + 0.6 * rng.normal(size=600), "stamp": stamp,
        "noise": rng.normal(size=600),
    })  # fmt: skip
    return table, y


def test_a_planted_shortcut_is_found_by_all_three(photos):
    X, y = photos
    found = {s.column: s for s in shortcuts(LogisticRegression(), X, y)}
    stamp = found["stamp"]
    assert stamp.verdict == "shortcut"
    assert stamp.shuffled.low > 0 and stamp.without.low > 0
    assert stamp.conflicting[0] > 0.3 > stamp.conflicting[1]
    assert stamp.agreeing[0] < stamp.agreeing[1]
    assert stamp.alone == pytest.approx(0.9, abs=0.03)
    assert "'stamp' is used as a shortcut" in str(stamp)
    assert stamp.finding().severity == "warning" and stamp.finding().column == "stamp"
    assert found["noise"].verdict == "not needed" and found["noise"].finding() is None


def test_any_table_any_task(photos, rng):
    X, y = photos
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    (one,) = shortcuts(model, X.to_numpy(), y, [1])
    (same,) = shortcuts(model, X.to_numpy(), y, ["b"], names=["a", "b", "c"])
    assert one.shuffled == same.shuffled and same.column == "b"
    numbers = shortcuts(
        LinearRegression(), X, y + 0.1 * rng.normal(size=600), ["stamp"]
    )
    assert numbers[0].shuffled.low > 0 and np.isfinite(numbers[0].conflicting).all()
    with pytest.raises(ValueError, match="'typo'"):
        shortcuts(model, X, y, ["typo"])


def test_frames_of_the_product(photos, rng):
    import pyarrow as pa

    from pansophy.diagnose.column_access import (
        column_values,
        n_rows,
        with_constant_column,
        with_permuted_column,
    )
    from pansophy.tables.mixed_frame import MixedFrame

    X, y = photos
    frame = MixedFrame(X.to_numpy(), (pa.array([f"word {k}" for k in y]),))
    order = rng.permutation(600)
    mixed = with_permuted_column(frame, 1, order)
    np.testing.assert_array_equal(
        column_values(mixed, 1), column_values(frame, 1)[order]
    )
    np.testing.assert_array_equal(column_values(mixed, 0), column_values(frame, 0))
    assert list(column_values(with_permuted_column(frame, 3, order), 3)) == [
        f"word {k}" for k in y[order]
    ]
    blank = with_constant_column(frame, 3)
    assert len(set(column_values(blank, 3))) == 1 and n_rows(blank) == 600


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
    assert stats.kstest(p, "uniform").pvalue > 0.01
    labels = rng.integers(0, 2, 100)
    none = permutation_check(
        LogisticRegression(), rng.normal(size=(100, 2)), labels, permutations=30
    )
    assert none.permuted.mean() == pytest.approx(0.5, abs=0.05)
    if none.p_value > 0.05:
        assert none.finding().severity == "alarm"


def test_shuffling_within_groups(rng):
    within = rng.integers(0, 4, 50)
    order = permutation_within(rng, 50, within)
    assert sorted(order) == list(range(50))
    np.testing.assert_array_equal(within[order], within)
    assert np.any(order != np.arange(50))
