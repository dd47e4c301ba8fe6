"""Locally connected layers: a slow twin, and the convolution that tying makes of it."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn  # noqa: E402


def slow_local(x, layer):
    """The definition, place by place."""
    rows, channels = x.shape[:2]
    kh, kw = layer.kernel_size
    mh, mw = layer.size
    weight = layer.weight.numpy().reshape(mh, mw, layer.out_channels, channels, kh, kw)
    bias = layer.bias.numpy().reshape(mh, mw, layer.out_channels)
    out = np.zeros((rows, layer.out_channels, mh, mw))
    for i in range(mh):
        for j in range(mw):
            patch = x[:, :, 2 * i : 2 * i + kh, 2 * j : 2 * j + kw]
            for f in range(layer.out_channels):
                sums = (patch * weight[i, j, f]).sum((1, 2, 3))
                out[:, f, i, j] = sums + bias[i, j, f]
    return out


def test_against_the_definition():
    layer = nn.LocallyConnected((7, 6), 2, 3, (3, 2), stride=2).double()
    x = torch.randn(2, 2, 7, 6, dtype=torch.float64)
    with torch.no_grad():
        found = layer(x).numpy()
        wanted = slow_local(x.numpy(), layer.requires_grad_(False))
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("padding", [0, 1, "same"])
def test_tied_places_are_the_convolution_and_gradients_sum_over_them(padding):
    conv = nn.Conv(2, 3, 3, padding=padding).double()
    x = torch.randn(2, 2, 6, 5, dtype=torch.float64)
    local = nn.LocallyConnected.from_conv(conv, (6, 5))
    shared = nn.LocallyConnected.from_conv(conv, (6, 5), shared=True)
    out = conv(x)
    torch.testing.assert_close(local(x), out)
    torch.testing.assert_close(shared(x), out)
    weight = torch.randn_like(out)
    for layer in (conv, local, shared):
        (layer(x) * weight).sum().backward()
    summed = local.weight.grad.sum(0)
    torch.testing.assert_close(summed, conv.weight.grad.reshape(3, -1))
    torch.testing.assert_close(shared.weight.grad[0], summed)
    torch.testing.assert_close(local.bias.grad.sum(0), conv.bias.grad)
    assert nn.count_parameters(shared) == nn.count_parameters(conv)


def test_other_sizes_are_refused():
    with pytest.raises(ValueError, match="weights for every place"):
        nn.LocallyConnected((5, 5), 1, 1, 3)(torch.zeros(1, 1, 6, 6))
    with pytest.raises(ValueError, match="plain convolution"):
        nn.LocallyConnected.from_conv(nn.Conv(1, 1, 3, dilation=2), (6, 6))
