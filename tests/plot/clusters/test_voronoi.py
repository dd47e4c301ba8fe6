"""Voronoi cells: bisectors between centres, equal centres, rows by their cell."""

import numpy as np
import pytest

from pansophy import plot
from pansophy.plot.clusters.voronoi import voronoi_polygons


def test_the_border_is_the_bisector(rng):
    C = np.array([[0.0, 0.0], [2.0, 0.0]])
    left, right = voronoi_polygons(C, np.array([[-1.0, 3.0], [-1.0, 1.0]]))
    assert left[:, 0].max() == pytest.approx(1) == right[:, 0].min()
    twice = voronoi_polygons(
        np.vstack([C, C[:1]]), np.array([[-1.0, 3.0], [-1.0, 1.0]])
    )
    np.testing.assert_array_equal(twice[0], twice[2])


def test_rows_have_the_colour_of_their_cell():
    C, X = [[0.0, 0.0], [4.0, 0.0]], [[1.0, 0.0], [3.0, 0.0], [0.0, 1.0]]
    ax = plot.voronoi(C, X)
    colors = ax.collections[0].get_facecolors()
    assert (colors[0] == colors[2]).all() and (colors[0] != colors[1]).any()
    with pytest.raises(ValueError, match="two columns"):
        plot.voronoi([[1.0, 2.0, 3.0]])
