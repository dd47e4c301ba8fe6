"""Transfer matrices of grids."""

import pytest

from pansophy.graphical.fields.transfer_matrix import neighbor_pairs, pixel_colors


@pytest.mark.parametrize(("height", "width"), [(2, 2), (3, 4), (5, 5), (6, 3), (7, 2)])
def test_no_neighbours_have_the_same_color(height, width):
    for periodic in (False, True):
        color = pixel_colors((height, width), periodic).ravel()
        i, j = neighbor_pairs(height, width, periodic).T
        assert (color[i] != color[j]).all() and color.max() <= 2
