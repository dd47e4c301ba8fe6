"""Paths of optimisers on contours."""

import numpy as np
import pytest

from pansophy import optim, plot

bowl = lambda x: (float(x[0] ** 2 + 4 * x[1] ** 2), np.array([2 * x[0], 8 * x[1]]))


def test_descent_path():
    run = optim.minimize(bowl, [2.0, 1.0], "gradient", trajectory=True)
    path = optim.Trajectory(np.array([2.0, 1.0]))
    optim.bfgs(bowl, np.array([2.0, 1.0]), task=path)
    ax = plot.descent_path(bowl, {"gradient": run, "bfgs": path}, resolution=30)
    way = np.column_stack(ax.lines[0].get_data())
    np.testing.assert_array_equal(way, run.history["position"])
    assert len(ax.lines[2].get_xdata()) == len(path)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["gradient", "bfgs"]
    assert len(ax.collections) >= 1  # contours
    same = plot.descent_path(lambda x: x @ x, np.ones((3, 2)), bounds=(-2, 2), ax=ax)
    assert same is ax and ax.get_xlim() == (-2, 2)


def test_descent_path_refuses():
    run = optim.minimize(bowl, [2.0, 1.0])
    with pytest.raises(ValueError, match="trajectory=True"):
        plot.descent_path(bowl, run)
    with pytest.raises(ValueError, match="two coordinates"):
        plot.descent_path(bowl, np.ones((3, 4)))
