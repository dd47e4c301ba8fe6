"""Points of a search."""

import numpy as np
import pytest

from pansophy import optim, plot


def test_search_points():
    f = lambda x: float(x @ x)
    run = optim.random_search(f, [(-1, 1)] * 2, 40, random_state=0)
    ax = plot.search_points(run, f)
    np.testing.assert_allclose(ax.collections[0].get_offsets(), run.state.points)
    np.testing.assert_allclose(ax.lines[0].get_xydata()[0], run.state.position)
    many = np.random.default_rng(0).random((9, 4))
    wide = plot.search_points(many, coordinates=(1, 3))
    assert wide.get_xlabel() == "x2" and wide.get_ylabel() == "x4"
    with pytest.raises(ValueError, match="keeps no points"):
        plot.search_points(optim.particle_swarm(f, [(-1, 1)] * 2, max_iter=2))
