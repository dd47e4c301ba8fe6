"""Correlograms of Markov chains."""

import numpy as np
import pytest

from pansophy import plot


@pytest.fixture
def x(rng):
    return rng.normal(size=(4, 300, 2))


def test_autocorrelation(rng):
    """Of an AR(1) chain: phi^lag."""
    e, x = rng.normal(size=(4, 20_000)), np.zeros((4, 20_000))
    for t in range(1, x.shape[1]):
        x[:, t] = 0.8 * x[:, t - 1] + e[:, t]
    ax = plot.autocorrelation(x, lags=10)[0]
    mean = ax.lines[-1].get_ydata()
    np.testing.assert_allclose(mean, 0.8 ** np.arange(11), atol=0.05)
    assert len(ax.lines) == 6 and ax.get_xlabel() == "lag"
