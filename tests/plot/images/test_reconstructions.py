"""Images above their reconstructions."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_digits

pytest.importorskip("torch")

from pansophy import plot
from pansophy.generative import Autoencoder

IMAGES = load_digits().images[:40]


def test_rows_and_reconstructions():
    model = Autoencoder(3, n_epochs=1, random_state=0, device="cpu").fit(IMAGES)
    axes = plot.reconstructions(model, IMAGES, n_shown=4)
    assert axes.shape == (2, 4)
    np.testing.assert_array_equal(axes[0, 2].images[0].get_array(), IMAGES[2])
    np.testing.assert_allclose(
        axes[1, 2].images[0].get_array(), model.reconstruct(IMAGES[:4])[2]
    )
    assert axes[1, 0].get_title() == "reconstructed"
    plt.close("all")
