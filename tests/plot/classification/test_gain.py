"""Cumulative gain and lift."""

import numpy as np
import pytest

from pansophy import plot
from pansophy.plot.classification.gain import cumulative_gains


def labels(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


def test_gain_and_lift():
    y, s = np.array([1, 0, 1, 0, 0]), np.array([5, 4, 3, 3, 1.0])
    u, v = cumulative_gains(y.astype(bool), s)
    np.testing.assert_allclose(u, [0, 0.2, 0.4, 0.8, 1])  # equal scores together
    np.testing.assert_allclose(v, [0, 0.5, 0.5, 1, 1])
    ax = plot.gain(y, s, kind="lift")
    np.testing.assert_allclose(ax.lines[0].get_ydata()[[0, -1]], [2.5, 1])
    assert "best possible" in labels(plot.gain(y, s))
    with pytest.raises(ValueError, match="kind"):
        plot.gain(y, s, kind="loss")
