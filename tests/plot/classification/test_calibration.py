"""Reliability curve."""

from collections import namedtuple

import numpy as np
import pytest

from pansophy import plot


def labels(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


def test_finished_curves():
    Curve = namedtuple("Curve", "predicted observed low high count")
    u = np.array([0.1, 0.5, 0.9])
    curve = Curve(u, u, u - 0.1, u + 0.1, np.array([5, 10, 5]))
    ax = plot.calibration(curve)
    np.testing.assert_allclose(ax.lines[1].get_xydata(), np.column_stack([u, u]))
    sizes = ax.collections[0].get_sizes()
    assert sizes[1] > sizes[0] == sizes[2] and len(ax.collections) == 2
    several = plot.calibration({"a": curve, "_b": curve})
    assert labels(several) == ["perfect", "a", "\u2009_b"]
    bare = curve._replace(low=None, high=None)
    assert len(plot.calibration(bare).collections) == 1  # no band


def test_rows_come_as_classes_then_probabilities(rng):
    p = rng.random(4000)
    y = (rng.random(4000) < p).astype(int)
    ax = plot.calibration(y, p)
    given, share = ax.lines[1].get_data()
    assert len(given) == 10 and np.abs(given - share).max() < 0.06
    named = plot.calibration(np.array(["no", "yes"])[y], p).lines[1].get_ydata()
    np.testing.assert_array_equal(named, share)
    two = plot.calibration(y, np.column_stack([1 - p, p])).lines[1].get_ydata()
    np.testing.assert_array_equal(two, share)
    other = plot.calibration(y, 1 - p, positive=0)
    np.testing.assert_allclose(other.lines[1].get_ydata(), 1 - share[::-1], atol=1e-12)
    w = rng.integers(0, 3, 4000)
    for bins in (1, 4):
        a = plot.calibration(y, p, weights=w, bins=bins)
        assert len(a.lines[1].get_xdata()) == bins
    x = a.lines[1].get_xdata()
    assert w @ p / w.sum() == pytest.approx(np.mean(x), abs=0.05)
    several = plot.calibration(y, {"a": p, "b": p**2})
    assert labels(several) == ["perfect", "a", "b"]
    three = rng.dirichlet([1, 1, 1], 300)
    assert len(plot.calibration(three.argmax(axis=1), three).lines) == 4


def test_swapped_or_missing_arguments_are_refused(rng):
    p = rng.random(50)
    y = (p > 0.5).astype(int)
    for draw in (plot.calibration, plot.roc, plot.precision_recall, plot.gain):
        with pytest.raises(ValueError, match="y come first"):
            draw(p, y)
    with pytest.raises(ValueError, match="in this order"):
        plot.calibration(y)
    with pytest.raises(ValueError, match="between 0 and 1"):
        plot.calibration(y, 3 * p)
    with pytest.raises(ValueError, match="50 rows of y but 49"):
        plot.calibration(y, p[1:])
