"""Losses of one prediction a row: worked numbers, bounds, what a gradient sums."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy import losses
from pansophy.core.arrays.weighted import weighted_quantile


def test_perceptron_gradient_sums_mistakes(rng):
    X, y = rng.normal(size=(40, 3)), rng.choice([-1.0, 1.0], size=40)
    f = X @ rng.normal(size=3)
    wrong = y * f <= 0
    g = X.T @ losses.perceptron.gradient(y, f)
    np.testing.assert_allclose(g, -(y[wrong, None] * X[wrong]).sum(axis=0))


def test_pinball_is_quantile():
    assert losses.pinball is losses.quantile
    assert losses.get_loss("pinball", 0.2).parameter == 0.2


def test_worked_numbers():
    z = np.array([-2.0, -1, 0, 0.5, 1, 2])
    one = np.ones(6)
    np.testing.assert_array_equal(losses.zero_one(one, z), [1, 1, 1, 0, 0, 0])
    np.testing.assert_allclose(losses.hinge.value(one, z), [3, 2, 1, 0.5, 0, 0])
    np.testing.assert_allclose(
        losses.logistic.value(np.ones(3), np.array([1.0, 0, -1])),
        [0.3132617, 0.6931472, 1.3132617],
        atol=1e-7,
    )
    X = np.array([[1.0, 1], [2, 1], [3, 1]])
    g = losses.squared.gradient(np.array([1.0, 2, 2]), np.zeros(3))
    np.testing.assert_array_equal(X.T @ g, [-22, -10])
    tube = losses.epsilon_insensitive(0.5)
    r = np.array([-1, -0.5, -0.2, 0, 0.5, 0.7, 2])
    np.testing.assert_allclose(
        tube.value(0 * r, r), [0.5, 0, 0, 0, 0, 0.2, 1.5], atol=1e-15
    )
    F = np.tile([1.0, 2.0, 3.0], (3, 1))
    for shift in (0.0, 1000.0):
        np.testing.assert_allclose(
            losses.softmax.value(np.arange(3), F + shift),
            [2.4076060, 1.4076060, 0.4076060],
            atol=1e-6,
        )


def test_finite_far_out():
    f = np.array([-1000.0, 1000.0])
    for name in ("value", "gradient", "curvature"):
        assert np.isfinite(getattr(losses.logistic, name)(np.array([1.0, 0]), f)).all()


def test_surrogates_bound_zero_one():
    z = np.linspace(-4, 4, 201)
    one = np.ones_like(z)
    base = losses.zero_one(one, z)
    assert np.all(losses.hinge.value(one, z) >= base)
    assert np.all(losses.exponential.value(one, z) >= base)
    assert np.all(losses.logistic.value(one, z) / math.log(2) >= base - 1e-15)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20), st.floats(0.05, 0.95))
def test_weighted_quantile_minimises_pinball(values, level):
    y = np.array(values)
    pinball = losses.quantile(level)
    cost = lambda c: pinball.value(y, np.full_like(y, c)).sum()
    c = float(weighted_quantile(y, None, level))
    assert cost(c) <= min(cost(v) for v in y) + 1e-9 * (1 + np.abs(y).sum())


def test_bad_parameters():
    for make in (
        lambda: losses.huber(0),
        lambda: losses.quantile(1.0),
        lambda: losses.epsilon_insensitive(-1),
        lambda: losses.get_loss("cubic"),
    ):
        with pytest.raises(ValueError, match=r"must be|no loss"):
            make()
