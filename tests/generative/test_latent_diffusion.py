"""Latent diffusion: samples lie where the autoencoder can put them."""

import numpy as np
import pytest

from pansophy import load, save
from pansophy.generative import (
    Autoencoder,
    ConditionalVAE,
    DiffusionModel,
    LatentDiffusion,
)


def curve(n=400, seed=0):
    t = np.random.default_rng(seed).uniform(0, 3, n)
    return np.c_[np.cos(t), np.sin(t), t], (t > 1.5).astype(int)


@pytest.fixture(scope="module")
def model():
    X, y = curve()
    return LatentDiffusion(
        Autoencoder(1, hidden_layer_sizes=(32,), n_epochs=60, device="cpu"),
        DiffusionModel(hidden_layer_sizes=(32,), n_epochs=40, device="cpu"),
        random_state=0,
    ).fit(X, y)


def test_samples_lie_on_the_curve(model):
    made = model.sample(200, random_state=0)
    assert np.abs(np.linalg.norm(made[:, :2], axis=1) - 1).mean() < 0.15
    late = model.sample(200, y=1, random_state=0)
    assert (late[:, 2] > 1.3).mean() > 0.9


def test_codes_and_scores(model):
    X, _ = curve(50, seed=1)
    np.testing.assert_allclose(
        model.reconstruct(X), model.decode(model.encode(X)), rtol=1e-6
    )
    assert model.score_samples(X).shape == (50,)
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())


def test_saved_and_seeded(model, tmp_path):
    assert (
        model.autoencoder.random_state is None
    )  # parts of the user's stay as they are
    assert model.autoencoder_.random_state is not None
    save(model, tmp_path / "model.pansophy")
    again = load(tmp_path / "model.pansophy")
    np.testing.assert_array_equal(
        model.sample(5, random_state=1), again.sample(5, random_state=1)
    )


def test_an_autoencoder_that_needs_labels_is_refused():
    model = LatentDiffusion(ConditionalVAE(1, n_epochs=1, device="cpu"))
    with pytest.raises(ValueError, match="ConditionalVAE needs labels to encode"):
        model.fit(np.zeros((10, 2)), np.arange(10) % 2)
