"""Decay curves: their ends, their middle and arrays."""

import numpy as np
import pytest

from pansophy.core.drivers.schedules import cosine_curve, geometric_curve, linear_curve


@pytest.mark.parametrize("decay", [linear_curve, geometric_curve, cosine_curve])
def test_ends_and_arrays(decay):
    f = np.array([0.0, 0.3, 1.0])
    values = decay(2.0, 0.5, f)
    np.testing.assert_allclose(values[[0, 2]], [2.0, 0.5])
    np.testing.assert_allclose(values, [decay(2.0, 0.5, v) for v in f.tolist()])


def test_middles():
    assert linear_curve(2.0, 0.5, 0.5) == 1.25
    assert geometric_curve(2.0, 0.5, 0.5) == 1.0
    assert cosine_curve(2.0, 0.5, 0.5) == pytest.approx(1.25)
