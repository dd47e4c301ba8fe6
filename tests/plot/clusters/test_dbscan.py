"""Pictures of DBSCAN: core, border and noise rows, circles around the core."""

import numpy as np

from pansophy import plot

X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [9.0, 9.0]])
LABELS = [0, 0, 0, -1]


def test_rows_of_each_kind_and_circles():
    ax = plot.dbscan(X, LABELS, [1], eps=1.5)
    circles, core, border, noise = ax.collections
    np.testing.assert_array_equal(circles.get_offsets(), X[[1]])
    np.testing.assert_array_equal(core.get_offsets(), X[[1]])
    np.testing.assert_array_equal(border.get_offsets(), X[[0, 2]])
    np.testing.assert_array_equal(noise.get_offsets(), X[[3]])
    assert ax.get_aspect() == 1


def test_flags_of_core_rows_and_one_column():
    ax = plot.dbscan(X[:, :1], LABELS, np.array([False, True, False, False]))
    core, border, _ = ax.collections
    np.testing.assert_array_equal(core.get_offsets(), [[1, 0]])
    assert len(border.get_offsets()) == 2 and list(ax.get_yticks()) == []
