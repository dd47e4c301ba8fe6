"""Convolutional autoencoder: shapes of images in and out."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from pansophy.generative import ConvAutoencoder

OPTIONS = {"n_epochs": 2, "random_state": 0, "device": "cpu"}


@pytest.mark.parametrize("shape", [(8, 8), (7, 5), (6, 9, 3), (1, 11)])
def test_output_has_the_shape_of_the_input(shape):
    images = np.random.default_rng(0).random((20, *shape))
    model = ConvAutoencoder(3, n_filters=(4, 6), **OPTIONS).fit(images)
    assert model.reconstruct(images).shape == images.shape
    assert model.encode(images).shape == (20, 3)


def test_flat_rows_are_images_too():
    images = np.random.default_rng(0).random((30, 6, 4))
    a = ConvAutoencoder(2, n_filters=(4,), **OPTIONS).fit(images)
    flat = ConvAutoencoder(2, n_filters=(4,), image_shape=(6, 4), **OPTIONS)
    flat.fit(images.reshape(30, -1))
    np.testing.assert_allclose(a.encode(images), flat.encode(images.reshape(30, -1)))
    with pytest.raises(ValueError, match=r"image_shape is \(5, 5\)"):
        flat.set_params(image_shape=(5, 5)).fit(images.reshape(30, -1))


def test_digits_are_reconstructed():
    images = load_digits().images[:400]
    model = ConvAutoencoder(
        8, n_filters=(8, 16), n_epochs=25, random_state=0, device="cpu"
    ).fit(images)
    assert model.reconstruction_error(images).mean() < 0.3  # of a variance of 1
