"""Positional encodings as a picture."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from pansophy import plot


def test_rows_are_positions():
    P = np.sin(np.arange(12.0)).reshape(4, 3)
    ax = plot.positions(P)
    assert np.array_equal(ax.images[0].get_array(), P)
    low, high = ax.images[0].get_clim()
    assert low == -high == -np.abs(P).max()
    with pytest.raises(ValueError, match="positions, columns"):
        plot.positions(P[0])
    plt.close("all")
