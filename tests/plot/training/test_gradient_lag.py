"""Gradients by lag."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from pansophy import plot


def test_curves_by_lag():
    fall = 0.5 ** np.arange(6)
    ax = plot.gradient_lag(fall)
    assert np.array_equal(ax.lines[-1].get_ydata(), fall)
    assert ax.get_legend() is None and ax.get_yscale() == "log"
    ax = plot.gradient_lag({"a": [1.0, 0.0, 2.0], "b": fall})
    assert np.isnan(ax.lines[1].get_ydata()[1])  # zero has no logarithm
    assert len(ax.get_legend().get_texts()) == 2
    with pytest.raises(ValueError, match="must be vectors"):
        plot.gradient_lag(np.ones((2, 2)))
    plt.close("all")
