"""Samples of generative models: images, points, histograms."""

import matplotlib.pyplot as plt
import numpy as np

from pansophy import plot
from pansophy.mixture import GaussianMixture


class ImageModel:
    image_shape_ = (4, 4)

    def sample(self, n, y=None, random_state=None):
        return np.full((n, 4, 4), 0.0 if y is None else float(np.mean(y)))


def test_images_of_a_model_and_of_rows():
    assert len(plot.samples(ImageModel())) == 32
    axes = plot.samples(ImageModel(), y=[1, 1, 1])
    assert len(axes) == 3 and axes[0].images[0].get_array().max() == 1
    assert len(plot.samples(np.zeros((5, 16)), image_shape=(4, 4))) == 5
    assert len(plot.samples(np.zeros((9, 4, 4, 1)), 2)) == 2
    colours = np.random.default_rng(0).integers(0, 256, (2, 4, 4, 3))
    shown = plot.samples(colours)[0].images[0].get_array()
    assert shown.max() <= 1
    plt.close("all")


def test_points_and_histograms(rng):
    X = rng.normal(size=(60, 2))
    model = GaussianMixture(2, random_state=0).fit(X)
    ax = plot.samples(model, 40, real=X)
    assert [len(c.get_offsets()) for c in ax.collections] == [60, 40]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["real", "samples"]
    one = plot.samples(X[:, 0], real=X[:, 1])
    assert one.get_ylabel() == "density"
    plt.close("all")
