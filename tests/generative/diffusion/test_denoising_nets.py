"""Nets of rows or images, a noise level and a context."""

import pytest
import torch

from pansophy.generative.diffusion.denoising_nets import DenoisingMLP, FlatImages, UNet


def stirred(net):
    torch.manual_seed(0)
    for p in net.parameters():
        p.data.add_(0.1 * torch.randn_like(p))
    return net


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 7, 5), (1, 1, 1)])
def test_unet_keeps_any_size(shape):
    net = UNet(shape[0], (8, 16, 16), n_context=2)
    x = torch.randn(2, *shape)
    assert (net(x, torch.zeros(2)) == 0).all()  # begins at 0
    y = stirred(net)(x, torch.zeros(2), torch.eye(2))
    assert y.shape == x.shape and y.isfinite().all()


@pytest.mark.parametrize("kind", ["mlp", "unet"])
def test_level_and_context_matter(kind):
    if kind == "mlp":
        net, x = DenoisingMLP(4, (8, 8), n_context=2), torch.randn(3, 4)
    else:
        net, x = UNet(1, (8, 8), n_context=2), torch.randn(3, 1, 4, 4)
    stirred(net)
    c, y = torch.zeros(3), torch.eye(2)[[0, 0, 1]]
    base = net(x, c, y)
    assert not torch.allclose(base, net(x, c + 0.5, y))
    assert not torch.allclose(base, net(x, c, 1 - y))
    torch.testing.assert_close(base[1:], net(x[1:], c[1:], y[1:]))  # row by row


def test_flat_images_are_pixels_in_row_order():
    class Channels(torch.nn.Module):
        def forward(self, x, c, context=None):
            assert x.shape == (2, 3, 4, 5)
            return torch.cat([x, 2 * x], dim=1)

        def flops(self, n, places):
            return n * places

    net = FlatImages(Channels(), (4, 5, 3))
    x = torch.randn(2, 60)
    torch.testing.assert_close(net(x, torch.zeros(2)), torch.cat([x, 2 * x], 1))
    assert net.flops(2) == 40


def test_operations_are_counted():
    assert DenoisingMLP(2, (8,)).flops(10) > 0
    small, large = UNet(1, (8, 16)), UNet(1, (16, 32))
    assert 3 < large.flops(2, 64) / small.flops(2, 64) < 4.5
