"""Adversarial nets: a step of one half, critics of bounded slope."""

import pytest
import torch

from pansophy import nn
from pansophy.generative.gan.adversarial_net import (
    AdversarialShape,
    NoiseCodes,
    build_halves,
)
from pansophy.nn.training.gradient_step import GradientStep, LossTotals
from tests.generative.small_gans import small_gan


def state_of(module):
    return {k: v.clone() for k, v in module.state_dict().items()}


def is_unchanged(module, before):
    return all(torch.equal(v, before[k]) for k, v in module.state_dict().items())


def half_step(net, name, batch):
    """One step of one name only, by the step of `nn.train`."""
    losses = net.losses

    def only(batch):
        if name == "discriminator":
            return {name: losses(batch)[name]}
        z = net.noise(len(batch["X"]))
        return {name: net.generator_loss(batch, z, net.generate(z, batch.get("y")))}

    rules = {"discriminator": nn.Adam(0.01), "generator": nn.Adam(0.01)}
    step = GradientStep(net, rules, LossTotals(), losses=only)
    step([(batch, len(batch["X"]))], 1.0)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"objective": "hinge", "spectral": True},
        {"objective": "wasserstein", "penalty": "one_sided", "penalty_weight": 1},
        {"objective": "minimax", "penalty": "r1", "penalty_weight": 1},
        {"n_classes": 3},
        {"codes": NoiseCodes(2, 1), "information_weight": 1.0},
    ],
)
def test_a_step_of_one_half_leaves_the_other_bitwise_unchanged(options):
    """Trap: generated rows detached for D, D not moved by G's loss."""
    net = small_gan(**options).train()
    batch = {"X": torch.randn(16, 2)}
    if net.n_classes:
        batch["y"] = torch.arange(16) % 3
    generator, discriminator = state_of(net.generator), state_of(net.discriminator)
    half_step(net, "discriminator", batch)
    assert is_unchanged(net.generator, generator)
    assert not is_unchanged(net.discriminator, discriminator)
    discriminator = state_of(net.discriminator)
    half_step(net, "generator", batch)
    assert is_unchanged(net.discriminator, discriminator)
    assert not is_unchanged(net.generator, generator)


@pytest.mark.parametrize("image_shape", [None, (8, 8, 1)])
def test_spectral_critics_have_slope_at_most_one(image_shape):
    torch.manual_seed(0)
    d = 2 if image_shape is None else 64
    shape = AdversarialShape(d, 3, (16, 16), (4, 8), image_shape)
    _, critic = build_halves(shape, spectral=True)
    x = torch.randn(60, d)
    for _ in range(30):
        critic(x)  # power iterations
    critic.eval()
    assert nn.lipschitz_estimate(critic, x) <= 1 + 1e-3
    kinds = [m for m in critic.modules() if isinstance(m, nn.SpectralNorm)]
    assert len(kinds) == (3 if image_shape is None else 4)
