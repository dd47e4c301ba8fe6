"""Score of a tree against its size."""

import numpy as np
import pytest

from pansophy import plot


def test_growth_curve(rng):
    from pansophy.teaching import growth_curve
    from pansophy.tree import DecisionTreeClassifier

    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    curve = growth_curve(DecisionTreeClassifier(), X[:40], y[:40], X[40:], y[40:])
    ax = plot.growth_curve(curve)
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), curve.validation)
    assert ax.lines[2].get_xdata()[0] == curve.best_leaves
    assert plot.growth_curve(curve, by="nodes").get_xlabel() == "nodes"
    with pytest.raises(ValueError, match="by must be"):
        plot.growth_curve(curve, by="depth")
