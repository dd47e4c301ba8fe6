"""The picture of a matrix."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest

from pansophy import plot


def test_numbers_of_a_small_matrix_and_symmetric_colours():
    ax = plot.matrix(np.array([[-4.0, 1.0], [2.5, 0.0]]), labels=["a", "b"])
    assert [t.get_text() for t in ax.texts] == ["-4", "1", "2.5", "0"]
    assert ax.images[0].get_clim() == (-4.0, 4.0)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]


def test_large_matrix_is_a_picture_only():
    ax = plot.matrix(np.zeros((40, 30)))
    assert not ax.texts and ax.images[0].get_array().shape == (40, 30)
    with pytest.raises(ValueError, match="matrix"):
        plot.matrix([1.0, 2.0])
