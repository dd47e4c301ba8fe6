"""A loss as data: losses of one's own, weighted means, constants by bisection."""

import dataclasses

import numpy as np
import pytest

from pansophy import losses
from pansophy.losses.base import (
    NO_LOOP,
    Loss,
    constant_by_bisection,
    weighted_row_mean,
)


def test_other_functions_lose_the_compiled_twin():
    """Loops know losses by `kind`: one with other functions must not keep it."""
    assert losses.squared.has_loop and losses.squared.kind != NO_LOOP
    changed = dataclasses.replace(losses.squared, values=lambda y, f, a: (y - f) ** 4)
    assert changed.kind == NO_LOOP and not changed.has_loop
    renamed = dataclasses.replace(losses.squared, name="mine")
    assert renamed.kind == losses.squared.kind
    assert not losses.softmax.has_loop  # several columns


def test_a_loss_of_ones_own_gets_its_parameter():
    mine = Loss(
        "mine",
        losses.squared.kind,
        "real",
        values=lambda y, f, a: a * (y - f) ** 2,
        gradients=lambda y, f, a: 2 * a * (f - y),
        curvatures=lambda y, f, a: 2 * a + 0 * f,
        constants=lambda y, w, a: weighted_row_mean(y, w),
        parameter=3.0,
        lipschitz=6.0,
    )
    y, f = np.array([1.0, 2.0]), np.array([3.0, 2.0])
    np.testing.assert_array_equal(mine.value(y, f), [12, 0])
    np.testing.assert_array_equal(mine.gradient(y, f), [12, 0])
    np.testing.assert_array_equal(mine.curvature(y, f), [6, 6])
    assert mine.constant(y, np.array([3.0, 1.0])) == 1.25
    assert mine.smooth and not losses.hinge.smooth and repr(mine) == "<loss mine>"


def test_constant_by_bisection_finds_a_weighted_mean():
    y, w = np.array([0.0, 1.0, 5.0]), np.array([1.0, 2.0, 1.0])
    slope = lambda y, f, a: f - y
    assert constant_by_bisection(slope, y, w, 0.0) == pytest.approx(7 / 4, abs=1e-12)
    assert constant_by_bisection(slope, y, None, 0.0) == pytest.approx(2, abs=1e-12)


def test_weighted_means_of_columns():
    Y = np.array([[1.0, 2.0], [3.0, 6.0]])
    np.testing.assert_allclose(weighted_row_mean(Y), [2, 4])
    np.testing.assert_allclose(weighted_row_mean(Y, np.array([[3.0], [1.0]])), [1.5, 3])
