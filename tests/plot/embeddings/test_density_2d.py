"""Densities in the plane."""

import numpy as np
import pytest

from pansophy import plot
from pansophy.mixture import GaussianMixture


def test_colours_are_the_density():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = GaussianMixture(1).fit(X)
    ax = plot.density_2d(model, X, resolution=30, limit=50)
    values = np.asarray(ax.collections[0].get_array()).reshape(30, 30)
    assert values.max() == 1.0
    i, j = np.unravel_index(values.argmax(), values.shape)
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    peak = left + j / 29 * (right - left), low + i / 29 * (high - low)
    np.testing.assert_allclose(peak, model.means_[0], atol=0.3)
    assert len(ax.collections[1].get_offsets()) == 50
    assert plot.density_2d(model, X, resolution=10, log=True) is not None


def test_what_is_needed():
    with pytest.raises(ValueError, match="rows X or bounds"):
        plot.density_2d(lambda x: x[:, 0])
    with pytest.raises(ValueError, match="two columns"):
        plot.density_2d(lambda x: x[:, 0], np.zeros((3, 3)))
