"""Walks and grids of codes as pictures."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_digits

pytest.importorskip("torch")

from pansophy import plot
from pansophy.generative import VAE, ConditionalVAE
from pansophy.plot.images.latent_walk import panel_images

IMAGES, LABELS = load_digits().images[:60], load_digits().target[:60]
OPTIONS = {"n_epochs": 1, "random_state": 0, "device": "cpu"}


@pytest.fixture(scope="module")
def model():
    return VAE(2, **OPTIONS).fit(IMAGES)


def test_walk_begins_and_ends_at_the_reconstructions(model):
    axes = plot.latent_walk(model, IMAGES[0], IMAGES[1], 6)
    assert len(axes) == 6 and axes[0].get_title() == "0%"
    drawn = [np.asarray(axes[i].images[0].get_array()) for i in (0, -1)]
    np.testing.assert_allclose(drawn, model.reconstruct(IMAGES[:2]))
    by_codes = plot.latent_walk(model, *model.encode(IMAGES[:2]), 6, kind="spherical")
    np.testing.assert_allclose(by_codes[0].images[0].get_array(), drawn[0])
    plt.close("all")


def test_grid_of_codes(model):
    ax = plot.latent_grid(model, 3)
    assert ax.images[0].get_array().shape == (24, 24)
    corner = model.decode([[-2.0, 2.0]])[0]
    np.testing.assert_allclose(ax.images[0].get_array()[:8, :8], corner)
    with pytest.raises(ValueError, match="codes of two numbers; the model has 1"):
        plot.latent_grid(VAE(1))
    plt.close("all")


def test_conditional_models_and_shapes_of_images():
    model = ConditionalVAE(2, **OPTIONS).fit(IMAGES, LABELS)
    assert len(plot.latent_walk(model, IMAGES[0], IMAGES[1], 3, y=7)) == 3
    plt.close("all")
    assert panel_images(np.zeros((2, 9))).shape == (2, 3, 3)
    assert panel_images(np.zeros((2, 4, 5, 1))).shape == (2, 4, 5)
    assert panel_images(np.random.rand(2, 4, 5, 3) * 9).max() <= 1
    with pytest.raises(ValueError, match="rows of 8 numbers are no square images"):
        panel_images(np.zeros((2, 8)))
