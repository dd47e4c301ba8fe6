"""Denoising strips: a panel for each moment, of points or of images."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

pytest.importorskip("torch")

from pansophy import plot
from pansophy.generative import DiffusionModel


def fitted(X):
    return DiffusionModel(
        hidden_layer_sizes=(8,), n_channels=(4,), n_epochs=1, n_sampling_steps=4,
        random_state=0, device="cpu",
    ).fit(X)  # fmt: skip


def test_points_from_noise_to_samples():
    model = fitted(np.random.default_rng(0).normal(size=(40, 2)))
    panels = plot.diffusion(model, 30, n_frames=3)
    assert [p.get_title() for p in panels] == ["sigma 80", "sigma 0.47", "sigma 0"]
    path = model.sample_path(30, random_state=0, n_frames=3)
    for panel, rows in zip(panels, path.rows, strict=True):
        np.testing.assert_allclose(panel.collections[0].get_offsets(), rows)
    assert len(plot.diffusion(fitted(np.random.rand(20, 1)), 5, n_frames=2)) == 2


def test_images_are_lines_of_panels():
    model = fitted(np.random.default_rng(0).random((20, 4, 5)))
    panels = plot.diffusion(model, 2, n_frames=3)
    assert len(panels) == 6
    last = model.sample_path(2, random_state=0, n_frames=3).rows[-1]
    shown = panels[2].images[0].get_array()
    np.testing.assert_allclose(
        shown, (last[0] - last.min()) / (last.max() - last.min()), atol=1e-6
    )
    with pytest.raises(ValueError, match="6 panels"):
        plot.diffusion(model, 2, n_frames=3, ax=plt.subplots(1, 2)[1])
