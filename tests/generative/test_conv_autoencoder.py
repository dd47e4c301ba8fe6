"""Convolutional autoencoder: shapes, and transposed convolution as the adjoint."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from pansophy.generative import ConvAutoencoder
from pansophy.generative.conv_autoencoder import ConvDecoder, ConvEncoder
from pansophy.nn import Conv, ConvTranspose

OPTIONS = {"n_epochs": 2, "random_state": 0, "device": "cpu"}


def test_transposed_convolution_worked_example():
    """[[1, 2], [3, 4]] with a kernel of ones: [[1, 3, 2], [4, 10, 6], [3, 7, 4]]."""
    layer = ConvTranspose(1, 1, 2, bias=False)
    torch.nn.init.ones_(layer.weight)
    x = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    assert layer(x)[0, 0].tolist() == [[1, 3, 2], [4, 10, 6], [3, 7, 4]]
    assert ConvTranspose(1, 1, 2, stride=2).output_size((14, 14)) == (28, 28)


@pytest.mark.parametrize("size", [7, 8])
def test_decoder_layer_is_the_adjoint_of_the_encoder_layer(size):
    """<conv(x), y> = <x, tconv(y)> with the cropping of the decoder."""
    torch.manual_seed(0)
    encoder = ConvEncoder((size, size, 2), [3], 3, "identity", 4)
    decoder = ConvDecoder(encoder, 4)
    conv, transposed = encoder.convs[0], decoder.convs[0]
    assert isinstance(conv, Conv)
    torch.nn.init.zeros_(conv.bias)
    torch.nn.init.zeros_(transposed.bias)
    transposed.weight = torch.nn.Parameter(conv.weight.detach().clone())
    x = torch.randn(2, 2, size, size)
    out = conv(x)
    y = torch.randn_like(out)
    # the decoder from its inner layer on: skip the dense part
    decoder.inner = torch.nn.Identity()
    back = decoder(y.flatten(1)).view(2, size, size, 2).permute(0, 3, 1, 2)
    torch.testing.assert_close((out * y).sum(), (x * back).sum())


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
