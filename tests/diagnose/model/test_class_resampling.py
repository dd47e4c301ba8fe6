"""Resampling makes classes equal and leaves held-out rows alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy import optim
from pansophy.diagnose import (
    balance_classes,
    balanced_rates,
)

Y = np.r_[np.ones(10, int), np.zeros(90, int)]


@given(st.integers(0, 10**6), st.sampled_from(["up", "down"]))
def test_resampling_makes_classes_equal(seed, how):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], 60, p=[0.7, 0.2, 0.1])
    X = rng.normal(size=(60, 2))
    train = np.sort(rng.permutation(60)[:45])
    _, counts = np.unique(y[train], return_counts=True)
    out = balance_classes(X, y, how, train=train, random_state=seed)
    _, equal = np.unique(out.y, return_counts=True)
    assert set(equal) == {counts.max() if how == "up" else counts.min()}
    assert set(out.rows) <= set(train) and len(out.held_out) == 15
    assert not set(out.rows) & set(out.held_out)
    np.testing.assert_array_equal(out.X, X[out.rows])
    if how == "up":
        assert set(train) <= set(out.rows)
        np.testing.assert_array_equal(out.rows[:45], train)
    else:
        assert len(set(out.rows)) == len(out.rows)


def test_jitter_moves_repeated_rows_alone(rng):
    X = rng.normal(size=(100, 3))
    before = X.copy()
    out = balance_classes(X, Y, jitter=0.1)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(out.X[:100], X)
    moved = out.X[100:] - X[out.rows[100:]]
    assert len(moved) == 80 and 0.05 < moved.std() / X[:10].std() < 0.2
    assert len(out.y) <= 2 * 100  # at most doubles two classes
    with pytest.raises(ValueError, match="jitter"):
        balance_classes(X, Y, "down", jitter=0.1)
    with pytest.raises(ValueError, match="method must be"):
        balance_classes(X, Y, "sideways")


def test_balanced_descent_draws_the_minority_as_often():
    drawn = []

    def f(x, rows):
        drawn.extend(rows)
        return float((x - Y[rows].mean()) ** 2), 2 * (x - Y[rows].mean())

    how = {"max_iter": 60, "tol": 0.0, "random_state": 0, "batch_size": 10}
    optim.sgd(f, np.zeros(()), 100, optim.scale_by_schedule(0.05), **how,
              sample_weight="balanced", y=Y)  # fmt: skip
    assert np.mean(Y[drawn]) == pytest.approx(0.5, abs=0.03)
    drawn.clear()
    rates = balanced_rates(Y, {0: 0.8, 1: 0.2})
    optim.sgd(
        f, np.zeros(()), 100, optim.scale_by_schedule(0.05), **how, sample_weight=rates
    )
    assert np.mean(Y[drawn]) == pytest.approx(0.2, abs=0.03)
    drawn.clear()
    optim.sgd(f, np.zeros(()), 100, optim.scale_by_schedule(0.05), **how)
    assert np.mean(Y[drawn]) == pytest.approx(0.1, abs=1e-12)
    with pytest.raises(ValueError, match="'balanced' together with y"):
        optim.sgd(f, np.zeros(()), 100, sample_weight="balanced")
