"""Convolutional encoders and decoders: adjoints, parts, other inputs, leading axes."""

import pytest
import torch

from pansophy.generative.autoencoders.conv_coders import ConvDecoder, ConvEncoder
from pansophy.nn import Conv, ConvTranspose


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


def test_numbers_after_the_pixels_reach_the_code():
    torch.manual_seed(0)
    encoder = ConvEncoder((6, 5, 1), [4], 3, "elu", 3, n_others=2)
    X = torch.randn(4, 32)
    changed = X.clone()
    changed[:, 30:] += 1
    gap = encoder(changed) - encoder(X)
    torch.testing.assert_close(gap, encoder.output.weight[:, -2:].sum(1).expand(4, 3))


@pytest.mark.parametrize("n_filters", [[], [4], [4, 6]])
def test_parts_come_out_side_by_side_and_leading_axes_stay(n_filters):
    """The second half of an answer is of the second part alone, for each row alone."""
    torch.manual_seed(0)
    encoder = ConvEncoder((5, 4, 2), n_filters, 3, "elu", 3)
    decoder = ConvDecoder(encoder, 3, 2, offset=True)
    codes = torch.randn(7, 2, 3)
    out = decoder(codes)
    assert out.shape == (7, 2, 80)
    torch.testing.assert_close(out[4], decoder(codes[4]))
    if n_filters:
        last = decoder.convs[-1]
        with torch.no_grad():
            last.bias[2:] += 1.0  # channels of the second part
        gap = decoder(codes) - out
        assert gap[..., :40].abs().max() == 0
        torch.testing.assert_close(gap[..., 40:], torch.ones(7, 2, 40))


def test_operations_count_convolutions_and_dense_layers():
    encoder = ConvEncoder((8, 8, 1), [4], 3, "elu", 2)
    assert encoder.flops(10) == 6 * 10 * (16 * 36 + 64 * 2)
    assert ConvDecoder(encoder, 2).flops(10) == 6 * 10 * (16 * 36 + 64 * 2)
