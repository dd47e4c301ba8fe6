"""Filters and feature maps: one panel for each kernel, holding its numbers."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn, plot  # noqa: E402
from pansophy.neural_network import ConvClassifier  # noqa: E402


def shown(panel):
    return np.asarray(panel.images[0].get_array())


def test_one_panel_for_each_filter():
    net = nn.ConvNet((3, 8, 8), 2, n_filters=(5, 9))
    panels = plot.filters(net)
    assert len(panels) == 5
    kernels = net.blocks[0][0].conv.weight.detach().numpy()
    for panel, kernel in zip(panels, kernels, strict=True):
        np.testing.assert_allclose(shown(panel), kernel.mean(0), rtol=1e-6)
    second = plot.filters(net, "blocks.1.0.conv", channel=2)
    assert len(second) == 9
    np.testing.assert_array_equal(
        shown(second[4]), net.blocks[1][0].conv.weight.detach().numpy()[4, 2]
    )
    with pytest.raises(
        ValueError, match=r"no convolution 'body'; it has blocks.0.0.conv"
    ):
        plot.filters(net, "body")


def test_one_panel_for_each_depth_slice(rng):
    images = rng.random((12, 6, 6))
    model = ConvClassifier((4,), n_epochs=1, random_state=0, device="cpu")
    model.fit(images, np.arange(12) % 2)
    panels = plot.feature_maps(model, images[0])
    assert len(panels) == 4
    inputs = torch.from_numpy(images[:1, None].astype(np.float32))
    wanted = nn.layer_outputs(model.nets_[0], inputs, layer="blocks.0.0.conv")[0]
    for panel, map_ in zip(panels, wanted.numpy(), strict=True):
        np.testing.assert_allclose(shown(panel), map_, rtol=1e-5, atol=1e-6)
    axes = plt.subplots(2, 3)[1]
    assert len(plot.feature_maps(model, images[0], "pools.0", ax=axes)) == 4
    with pytest.raises(ValueError, match="no maps"):
        plot.feature_maps(model, images[0], "output")
    with pytest.raises(ValueError, match="4 panels are needed"):
        plot.feature_maps(model, images[0], ax=plt.subplots(1, 2)[1])
