"""Residual plots."""

import numpy as np
import pytest

from pansophy import plot


def labels(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


def test_residuals(rng):
    p = rng.uniform(0, 5, 3000)
    y = p + rng.normal(size=3000) + 0.5
    ax = plot.residuals(y, p)
    assert len(ax.lines[0].get_xdata()) == 2000  # of 3000
    means = ax.lines[2].get_ydata()
    np.testing.assert_allclose(means, 0.5, atol=0.25)
    bars = plot.residuals(y, p, kind="histogram")
    assert sum(b.get_height() for b in bars.patches) == 3000
    assert f"mean {np.mean(y - p):.3g}" in labels(bars)
    assert plot.residuals(y[:9], p[:9], kind="time").get_xlabel() == "time"
    assert plot.residuals([1.0, 1], [1, 1], kind="histogram").get_ylabel() == "rows"
    with pytest.raises(ValueError, match="kind"):
        plot.residuals(y, p, kind="pie")
