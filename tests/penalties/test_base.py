"""Parts that penalties are made of: thresholds, norms, the check of a parameter."""

import math

import numpy as np
import pytest

from pansophy import penalties
from pansophy.penalties.base import (
    Penalty,
    check_nonnegative,
    euclidean_norm,
    indicator_value,
    soft_threshold,
)


def test_soft_threshold_moves_towards_zero_and_stops_there():
    w = np.array([-3.0, -0.5, 0.0, 0.5, 3.0])
    np.testing.assert_array_equal(soft_threshold(w, 1.0), [-2, 0, 0, 0, 2])
    each = soft_threshold(w, np.array([1.0, 0.1, 1.0, 0.0, 4.0]))
    np.testing.assert_allclose(each, [-2, -0.4, 0, 0.5, 0])


def test_norms_of_rows_and_of_everything():
    x = np.array([[3.0, 4.0], [5.0, 12.0]])
    np.testing.assert_allclose(euclidean_norm(x, axis=1), [5, 13])
    assert euclidean_norm(x, axis=1, keepdims=True).shape == (2, 1)
    assert euclidean_norm(x) == pytest.approx(math.sqrt(194))


def test_a_parameter_is_named_when_it_is_refused():
    assert check_nonnegative("alpha of l1", 0) == 0.0
    for wrong in (-1e-9, math.nan):
        with pytest.raises(ValueError, match="alpha of l1 must be a number of at"):
            check_nonnegative("alpha of l1", wrong)


def test_a_penalty_of_functions():
    """|w| by its three functions: the methods call them with a step of 1."""
    mine = Penalty(
        "mine",
        -1,
        lambda w: np.abs(w).sum(),
        soft_threshold,
        lambda w, g: np.where(w == 0, np.abs(g) - 1, np.abs(g + np.sign(w))),
    )
    w, g = np.array([2.0, 0.0]), np.array([-1.0, 3.0])
    twin = penalties.l1(1.0)
    assert mine.value(w) == twin.value(w)
    np.testing.assert_array_equal(mine.prox(w), twin.prox(w))
    np.testing.assert_array_equal(mine.distance(w, g), twin.distance(w, g))
    assert repr(mine) == "<penalty mine>" and indicator_value(False) == math.inf
