"""Poles: crosses at the poles, the half plane or the disc of stable ones."""

import numpy as np
from matplotlib.patches import Circle, Rectangle

from pansophy import plot
from pansophy.state_space import mass_spring_damper


def test_poles_of_a_damped_spring():
    """m = 1, c = 3, k = 2: s^2 + 3 s + 2 has the roots -1 and -2."""
    system = mass_spring_damper(c=3, k=2)
    ax = plot.poles(system)
    x, y = ax.lines[-1].get_data()
    np.testing.assert_allclose(np.sort(x), [-2, -1], atol=1e-9)
    np.testing.assert_allclose(y, 0, atol=1e-9)
    assert isinstance(ax.patches[0], Rectangle)
    steps = plot.poles(system.discretized(0.1))
    assert isinstance(steps.patches[0], Circle)
    np.testing.assert_allclose(
        np.sort(steps.lines[-1].get_xdata()), np.exp([-0.2, -0.1]), rtol=1e-6
    )
