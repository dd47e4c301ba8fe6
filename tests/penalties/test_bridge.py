"""The bridge penalty below q = 1, against a search over a grid."""

import numpy as np
import pytest

from pansophy.penalties import lq


@pytest.mark.parametrize("q", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("step", [0.05, 0.7, 4.0])
def test_prox_is_the_minimum(q, step):
    w = np.array([0.0, 0.1, 0.6, 1.5, 3.0, -8.0])
    u = lq(q).prox(w, step)
    grid = np.sign(w)[:, None] * np.linspace(0, 9, 90_001)
    cost = lambda v: step * np.abs(v) ** q + (v - w[:, None]) ** 2 / 2
    assert (cost(u[:, None])[:, 0] <= cost(grid).min(axis=1) + 1e-12).all()


def test_every_slope_is_one_at_zero():
    w = np.zeros(2)
    gradient = np.array([0.0, 5.0])
    np.testing.assert_array_equal(lq(0.5).distance(w, gradient), [0.0, 0.0])
    np.testing.assert_array_equal(lq(1.5).distance(w, gradient), [0.0, 5.0])
