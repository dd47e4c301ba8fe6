"""Line search for the strong Wolfe conditions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import rosen, rosen_der

from pansophy import optim
from pansophy.optim.smooth.gradient import GradientState

valley = lambda x: (float(rosen(x)), rosen_der(x))


START = np.array([7.0, -3.0])


@given(st.integers(0, 10**6), st.floats(1e-4, 1e4))
def test_strong_wolfe_conditions_hold(seed, eta):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=4)
    value, g = valley(x)
    direction = -g + 0.3 * np.linalg.norm(g) * rng.normal(size=4) / 4
    fall = float(g @ direction)
    for c in (0.1, 0.9):
        start = GradientState(x, value, g, 1.0)
        if fall >= 0:
            return
        new = optim.strong_wolfe(valley, start, direction, eta, curvature=c)
        assert new.objective <= value + 1e-4 * new.eta * fall
        assert abs(new.gradient @ direction) <= c * abs(fall) + 1e-12
        np.testing.assert_allclose(new.position, x + new.eta * direction)


def test_strong_wolfe_at_the_edge():
    up = optim.strong_wolfe(
        valley, GradientState(np.ones(2), *valley(np.ones(2)), 1.0), -START
    )
    assert up.eta == 0  # at the minimum there is no way down
    wall = lambda x: (
        (float(-np.log(1 - x[0]) - 5 * x[0]), np.array([1 / (1 - x[0]) - 5]))
        if x[0] < 1
        else (np.inf, np.array([np.nan]))
    )
    s = GradientState(np.zeros(1), *wall(np.zeros(1)), 1.0)
    new = optim.strong_wolfe(wall, s, np.ones(1), 100.0, curvature=0.1)
    assert new.position[0] == pytest.approx(0.8, abs=0.05)


def test_the_first_step_that_is_good_enough_ends_the_search():
    """p(t) = (3 - t)^2 has slopes -6 at 0, -4 at 1 and 0 at 3."""
    positions = []

    def square(x):
        positions.append(float(x[0]))
        return float(x @ x), 2 * x

    start = GradientState(np.array([3.0]), *square(np.array([3.0])), 1.0)
    for words, tries in (({}, 1), ({"curvature": 0.7}, 1), ({"curvature": 0.6}, 2)):
        positions.clear()
        new = optim.strong_wolfe(square, start, np.array([-1.0]), 1.0, **words)
        assert len(positions) == tries, words
        # the second try is the zero of the slopes' secant, which is the minimum
        assert new.position[0] == pytest.approx(2.0 if tries == 1 else 0.0)
