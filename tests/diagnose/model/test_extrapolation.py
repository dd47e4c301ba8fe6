"""Rows outside the training data are flagged, training rows are not."""

import numpy as np

from pansophy.diagnose import (
    extrapolation,
)
from tests.diagnose.small_tables import people


def test_training_rows_are_inside_and_far_rows_are_not(rng):
    train = people(0)
    assert not extrapolation(train, train).flags.any()
    big = rng.normal(size=(7000, 3))
    assert not extrapolation(big, big).flags.any()
    far = {k: v[:4].copy() for k, v in people(3).items()}
    far["age"][0] = 140.0
    far["town"] = far["town"].astype("<U5")
    far["town"][1] = "Turin"
    found = extrapolation(train, far)
    assert found.flags.tolist() == [True, True, False, False]
    assert found.why(0).startswith("'age'") and found.why(1).startswith("'town'")
    assert "2 of 4 rows" in str(found)


def test_a_hole_within_the_range_is_outside(rng):
    angle = rng.uniform(0, 2 * np.pi, 500)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    found = extrapolation(ring, [[0.0, 0.0], [1.0, 0.0]])
    assert found.flags.tolist() == [True, False] and not found.outside
