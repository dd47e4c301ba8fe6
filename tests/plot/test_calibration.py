"""Reliability curve."""

from collections import namedtuple

import matplotlib.pyplot as plt
import numpy as np
import pytest

from pansophy import plot


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def labels(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


def test_calibration():
    Curve = namedtuple("Curve", "predicted observed low high count")
    u = np.array([0.1, 0.5, 0.9])
    curve = Curve(u, u, u - 0.1, u + 0.1, np.array([5, 10, 5]))
    ax = plot.calibration(*curve)
    np.testing.assert_allclose(ax.lines[1].get_xydata(), np.column_stack([u, u]))
    sizes = ax.collections[0].get_sizes()
    assert sizes[1] > sizes[0] == sizes[2] and len(ax.collections) == 2
    several = plot.calibration({"a": curve, "_b": curve})
    assert labels(several) == ["perfect", "a", "\u2009_b"]
    assert len(plot.calibration(u, u).collections) == 1  # no band
