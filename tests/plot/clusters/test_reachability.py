"""Reachability: bars in the order of the walk, infinite ones up to the edge."""

from types import SimpleNamespace

import numpy as np

from pansophy import plot


def test_bars_in_the_order_of_the_walk():
    model = SimpleNamespace(
        reachability_=np.array([np.inf, 2.0, 1.0]), ordering_=np.array([0, 2, 1]),
        labels_=np.array([0, -1, 0]),
    )  # fmt: skip
    ax = plot.reachability(model, eps=1.5)
    noise, cluster = (c.get_segments() for c in ax.collections)
    np.testing.assert_allclose(noise[0], [[2, 0], [2, 2]])
    np.testing.assert_allclose(cluster[0], [[0, 0], [0, 1.08 * 2]])
    np.testing.assert_allclose(cluster[1], [[1, 0], [1, 1]])
    assert ax.lines[0].get_ydata()[0] == 1.5
