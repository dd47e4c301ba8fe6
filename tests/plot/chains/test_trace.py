"""Trace plots of Markov chains."""

import numpy as np
import pytest

from pansophy import plot
from pansophy.sampling import Metropolis, sample


@pytest.fixture
def x(rng):
    return rng.normal(size=(4, 300, 2))


def test_trace(x):
    axes = plot.trace(x, ["a", "b"])
    assert axes.shape == (2, 2) and axes[1, 0].get_ylabel() == "b"
    np.testing.assert_array_equal(axes[0, 0].lines[2].get_ydata(), x[2, :, 0])
    assert len(axes[0, 1].patches) == 4 and "R-hat 1.0" in axes[0, 0].get_title("right")
    draws = sample(Metropolis(lambda x: -abs(x[0])), 50, init=[0.0], random_state=0)
    assert plot.trace(draws)[0, 0].get_ylabel() == draws.names[0]
    with pytest.raises(ValueError, match="names were given"):
        plot.trace(x, ["a"])
