"""Saliency maps beside their images."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn, plot  # noqa: E402
from pansophy.neural_network import ConvClassifier  # noqa: E402


def test_images_and_their_saliency(rng):
    images = rng.random((12, 5, 5))
    y = np.array(["cat", "dog"])[np.arange(12) % 2]
    model = ConvClassifier((3,), n_epochs=1, random_state=0, device="cpu").fit(
        images, y
    )
    axes = plot.saliency(model, images[:3], 1, steps=4)
    assert axes.shape == (2, 3)
    wanted = nn.saliency(model, images[:3], 1, method="integrated", steps=4)
    np.testing.assert_allclose(axes[1, 2].images[0].get_array(), wanted[2])
    assert [a.get_title() for a in axes[0]] == model.predict(images[:3]).tolist()
    with pytest.raises(ValueError, match="images must have the shape"):
        plot.saliency(model, images[0])
    plt.close("all")
