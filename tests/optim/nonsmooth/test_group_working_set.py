"""Group penalties: labels, dual scaling, the value and prox by hand."""

import numpy as np
import pytest

from pansophy.optim.nonsmooth import group_working_set as sets


def test_the_gap_of_a_sparse_group_penalty_bounds_the_distance():
    rng = np.random.default_rng(0)
    C = rng.normal(size=(2, 12))
    penalty = sets.GroupPenalty(sets.from_labels(np.arange(12) // 3), 0.4, 0.3)
    s = penalty.scale(C)
    soft = np.maximum(np.abs(s * C) - 0.3, 0).reshape(2, 4, 3)
    size = np.sqrt((soft**2).sum(axis=(0, 2)))
    assert size.max() == pytest.approx(0.4 * 3**0.5)


def test_groups_from_labels():
    groups = sets.from_labels(["b", "a", "b", "b"])
    assert groups.members.tolist() == [1, 0, 2, 3]
    assert groups.sizes.tolist() == [1, 3]
    np.testing.assert_allclose(groups.weights, [1, 3**0.5])
    assert groups.of_columns().tolist() == [1, 0, 1, 1]
    assert sets.single_column_groups(3).of_columns().tolist() == [0, 1, 2]


def test_value_of_the_penalty_by_hand():
    W = np.array([[3.0, 4.0, -2.0]])
    penalty = sets.GroupPenalty(sets.from_labels([0, 0, 1]), 1.0, 0.5, 0.1)
    right = 2**0.5 * 5 + 2 + 0.5 * 9 + 0.05 * 29
    assert penalty.value(W) == pytest.approx(right)
    plain = sets.GroupPenalty(sets.from_labels([0, 0, 1]), 1.0)
    assert plain.scale(W) == pytest.approx(min(2**0.5 / 5, 1 / 2))
    assert plain.scale(W / 10) == 1.0
