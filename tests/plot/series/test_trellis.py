"""The trellis draws a line for each allowed move and a disc for each belief."""

import matplotlib as mpl
import numpy as np
import pytest

from pansophy import plot

mpl.use("Agg")


def test_lines_discs_and_path():
    P = np.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]])
    A = np.array([[0.5, 0.5], [0.0, 1.0]])
    ax = plot.trellis(P, [0, 1, 1], trans=A, observed="xyx", names=["rain", "sun"])
    assert len(ax.lines) == 3 * 2 + 1  # three moves over two gaps, and the path
    assert ax.lines[-1].get_ydata().tolist() == [0, 1, 1]
    sizes = ax.collections[1].get_sizes()
    assert np.allclose(sizes[:2], [340, 340 / 9])
    assert [t.get_text() for t in ax.get_xticklabels()] == ["x", "y", "x"]
    with pytest.raises(ValueError, match="3 states"):
        plot.trellis(P, [0, 1])
    with pytest.raises(ValueError, match="trans must have shape"):
        plot.trellis(P, trans=np.eye(3))
