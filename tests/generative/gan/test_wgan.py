"""Wasserstein GAN: bounds on the critic, and the distance it estimates."""

import numpy as np
import pytest
import torch

from pansophy import nn
from pansophy.distributions import wasserstein
from pansophy.generative import WGAN, clip_weights
from pansophy.generative.gan.adversarial_net import (
    AdversarialNet,
    AdversarialShape,
    build_halves,
)

QUICK = {"random_state": 0, "device": "cpu"}


def critic_estimate(theta, penalty):
    """What a trained critic says of two sets of points that lie theta apart."""
    rng = np.random.default_rng(0)
    real = rng.normal(0, 0.3, (512, 2)).astype(np.float32)
    fake = real + np.float32([theta, 0.0])
    torch.manual_seed(0)
    spectral = penalty == "spectral"
    halves = build_halves(AdversarialShape(2, 1, (32, 32)), spectral=spectral)
    game = AdversarialNet(
        *halves, n_components=1, objective="wasserstein",
        penalty={"gradient": "gradient_penalty", "one_sided": penalty}.get(penalty),
        penalty_weight=10.0,
    )  # fmt: skip

    class Critic(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.discriminator = game.discriminator

        def losses(self, batch):
            x, z = batch
            return {"discriminator": game.discriminator_loss({"X": x}, None, z)}

    after = None
    if penalty == "clip":
        after = lambda net: clip_weights(net.discriminator, 0.1)
    nn.train(
        Critic(), (real, fake), epochs=40, batch_size=128, seed=0, device="cpu",
        optimiser={"discriminator": nn.Adam(3e-3, 0.5, 0.9)}, after_step=after,
    )  # fmt: skip
    with torch.no_grad():
        a, b = (game.discriminator(torch.as_tensor(v)) for v in (real, fake))
    return float(a.mean() - b.mean())


@pytest.mark.parametrize("penalty", ["gradient", "one_sided"])
def test_critic_tracks_the_shift(penalty):
    """W(p, p + theta) = |theta|; a penalty of weight 10 lets the slope exceed 1.

    s |theta| - 10 (s - 1)^2 is largest for the slope s = 1 + |theta| / 20.
    """
    for theta in (-2.0, -0.5, 0.5, 1.0, 2.0):
        found = critic_estimate(theta, penalty)
        expected = abs(theta) * (1 + abs(theta) / 20)
        assert found == pytest.approx(expected, rel=0.05)
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    assert float(wasserstein(x, x + 1.3)) == pytest.approx(1.3)  # the same truth


@pytest.mark.parametrize("penalty", ["clip", "spectral"])
def test_other_bounds_grow_with_the_shift(penalty):
    found = [critic_estimate(theta, penalty) for theta in (0.5, 1.0, 2.0)]
    assert 0 < found[0] < found[1] < found[2]
    np.testing.assert_allclose(np.array(found) / found[2], [0.25, 0.5, 1.0], atol=0.12)
    if penalty == "spectral":
        assert found[2] <= 2.0 * 1.05  # never above the distance


def test_clipped_weights_stay_within_bounds():
    X = np.random.default_rng(0).normal(size=(64, 2))
    model = WGAN(2, penalty="clip", clip_value=0.03, n_epochs=3, **QUICK).fit(X)
    for p in model.net_.discriminator.parameters():
        assert float(p.detach().abs().max()) <= 0.03


def test_samples_match_and_the_estimate_falls():
    X = np.random.default_rng(0).normal(5, 2, (1000, 1))
    model = WGAN(4, hidden_layer_sizes=(32, 32), n_epochs=60, **QUICK).fit(X)
    made = model.sample(3000, random_state=0)
    assert abs(made.mean() - 5) < 0.4 and abs(made.std() - 2) < 0.4
    estimates = np.abs(model.history_["wasserstein"])
    assert estimates[-10:].mean() < 0.1 < estimates[:3].max()
    assert "real_accuracy" not in model.history_
