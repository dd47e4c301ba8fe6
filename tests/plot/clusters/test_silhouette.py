"""Silhouettes: the mean by hand, and noise that is left out."""

import pytest

from pansophy import plot


def test_mean_by_hand_without_noise():
    """Rows 0, 1 against 10: 1 - 1/10, 1 - 1/9, and 0 for a cluster of one."""
    ax = plot.silhouette([[0.0], [1.0], [10.0], [99.0]], [0, 0, 1, -1])
    mean = (0.9 + 8 / 9 + 0) / 3
    assert ax.lines[0].get_xdata()[0] == pytest.approx(mean)
    assert ax.get_legend().get_texts()[0].get_text() == "mean 0.60"
    assert [t.get_text() for t in ax.get_yticklabels()] == ["0", "1"]
