"""Curves of impurities."""

import numpy as np
import pytest

from pansophy import plot


def test_impurity():
    ax = plot.impurity()
    g, h, e = (line.get_ydata() for line in ax.lines)
    p = ax.lines[0].get_xdata()
    np.testing.assert_allclose(g, 2 * p * (1 - p), atol=1e-12)
    assert h[100] == pytest.approx(1.0) and h[0] == 0.0
    np.testing.assert_allclose(e, np.minimum(p, 1 - p), atol=1e-12)
    assert np.all(h >= g - 1e-12) and np.all(g >= e - 1e-12)
    assert all(max(x.get_ydata()) == 1.0 for x in plot.impurity(scaled=True).lines)
