"""Latent diffusion: samples lie where the autoencoder can put them."""

import numpy as np
import pytest

from pansophy import load, save
from pansophy.base import InterruptedFitWarning
from pansophy.generative import (
    Autoencoder,
    ConditionalVAE,
    DiffusionModel,
    LatentDiffusion,
)
from pansophy.generative.autoencoders.autoencoder_net import AutoencoderNet
from pansophy.generative.diffusion.denoiser import Denoiser


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


def interrupt_after(monkeypatch, net, calls_left):
    """Ctrl-C in the training step after so many; returns the steps that were taken."""
    losses, taken = net.losses, []

    def interrupted(self, batch):
        if len(taken) == calls_left:
            raise KeyboardInterrupt
        taken.append(1)
        return losses(self, batch)

    monkeypatch.setattr(net, "losses", interrupted)
    return taken


def small_model():
    return LatentDiffusion(
        Autoencoder(1, hidden_layer_sizes=(8,), n_epochs=3, device="cpu"),
        DiffusionModel(hidden_layer_sizes=(8,), n_epochs=3, device="cpu"),
        random_state=0,
    )


@pytest.mark.parametrize("steps", [0, 25])
def test_an_interrupted_autoencoder_ends_the_fit(steps, monkeypatch, recwarn):
    """The diffusion is not begun, and a former fit stays whole."""
    X, _ = curve()
    model = small_model().fit(X)
    before = model.sample(5, random_state=0)
    parts = model.autoencoder_, model.diffusion_
    interrupt_after(monkeypatch, AutoencoderNet, steps)
    diffused = interrupt_after(monkeypatch, Denoiser, 0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(2 * X)
    assert not diffused and not recwarn.list
    assert parts == (model.autoencoder_, model.diffusion_)
    np.testing.assert_array_equal(before, model.sample(5, random_state=0))


def test_an_interrupted_diffusion_leaves_a_model(monkeypatch):
    X, _ = curve()
    interrupt_after(monkeypatch, Denoiser, 25)
    with pytest.warns(InterruptedFitWarning, match="usable as it stands"):
        model = small_model().fit(X)
    assert model.interrupted_ and model.diffusion_.n_iter_ == 1
    assert np.isfinite(model.sample(20, random_state=0)).all()
    assert np.isfinite(model.score_samples(X)).all()
