"""Bars of feature importances."""

import numpy as np
import pytest

from pansophy import plot


def words(axis_labels):
    return [t.get_text() for t in axis_labels]


def test_importance(rng):
    V = rng.random((30, 4)) * np.arange(30)[:, None]
    names = [f"c{j}" for j in range(30)]
    ax = plot.importance(names, V, limit=5)
    order = np.argsort(-V.mean(1))[:5]
    assert words(ax.get_yticklabels()) == [f"c{j}" for j in order]
    widths = [b.get_width() for b in ax.patches]
    np.testing.assert_allclose(widths, V.mean(1)[order])
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the largest on top
    assert "5 largest of 30" in ax.get_title(loc="right")
    with pytest.raises(ValueError, match="names"):
        plot.importance(["a"], [1, 2])
