"""Value of the adversarial game, the optimal discriminator, and the objectives."""

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
import torch

from pansophy import nn
from pansophy.distributions import Normal, js, optimal_discriminator
from pansophy.generative import GAN_OBJECTIVES, gan_value, virtual_criterion
from pansophy.generative.gan.adversarial_net import (
    AdversarialNet,
    AdversarialShape,
    build_halves,
)


def test_value_at_balance_is_minus_log_4():
    assert gan_value(0.5, 0.5) == pytest.approx(-1.3862944, abs=5e-8)
    assert gan_value(np.full(7, 0.5), np.full(3, 0.5)) == pytest.approx(-math.log(4))
    assert gan_value(np.zeros(4), np.zeros(2), logits=True) == pytest.approx(
        -math.log(4)
    )
    D = np.array([0.2, 0.9])
    by_hand = np.log(D).mean() + np.log(1 - 0.3)
    assert gan_value(D, [0.3]) == pytest.approx(by_hand)
    logits = np.log(D / (1 - D))
    assert gan_value(logits, [math.log(0.3 / 0.7)], logits=True) == pytest.approx(
        by_hand
    )
    assert gan_value([0.2, 0.9], 0.3, real_weight=[2, 1]) == pytest.approx(
        gan_value([0.2, 0.2, 0.9], 0.3)
    )
    assert gan_value(0.0, 0.5) == -math.inf
    with pytest.raises(ValueError, match="probabilities from 0 to 1"):
        gan_value(1.5, 0.5)


@pytest.mark.parametrize("q", [(0.0, 1.0), (1.0, 1.0), (0.5, 3.0)])
def test_virtual_criterion_of_known_densities(q):
    """C(G) = -log 4 + 2 JS, by scipy's quadrature, a grid and samples."""
    a, b = scipy.stats.norm(0, 1), scipy.stats.norm(*q)

    def js_terms(x):
        m = (a.pdf(x) + b.pdf(x)) / 2
        return (a.pdf(x) * np.log(a.pdf(x) / m) + b.pdf(x) * np.log(b.pdf(x) / m)) / 2

    divergence = scipy.integrate.quad(js_terms, -30, 30, limit=400)[0]
    expected = -math.log(4) + 2 * divergence
    p, other = Normal(0.0, 1.0), Normal(q[0], q[1] ** 2)
    found = virtual_criterion(p, other, limits=(-30, 30))
    assert found == pytest.approx(expected, abs=1e-8)
    grid = np.linspace(-30, 30, 8001)
    masses = [d.pdf(grid) / d.pdf(grid).sum() for d in (a, b)]
    assert virtual_criterion(*masses) == pytest.approx(expected, abs=1e-5)
    assert virtual_criterion(*masses) == pytest.approx(
        -math.log(4) + 2 * float(js(*masses)), abs=1e-12
    )
    rng = np.random.default_rng(0)
    rows = [rng.normal(0, 1, (20000, 1)), rng.normal(*q, (20000, 1))]
    assert virtual_criterion(p, other, samples=rows) == pytest.approx(
        expected, abs=0.02
    )
    # no discriminator does better than the best
    D = optimal_discriminator(*masses)
    worse = np.clip(D + 0.1 * np.sin(grid), 1e-9, 1 - 1e-9)
    values = [
        gan_value(d, d, real_weight=masses[0], fake_weight=masses[1])
        for d in (np.clip(D, 1e-300, 1 - 1e-16), worse)
    ]
    assert values[0] == pytest.approx(virtual_criterion(*masses), abs=1e-9)
    assert values[1] < values[0]


def test_criterion_refuses_what_it_cannot_integrate():
    p = Normal(0.0, 1.0)
    with pytest.raises(ValueError, match="need limits"):
        virtual_criterion(p, p)
    with pytest.raises(ValueError, match="has the mass"):
        virtual_criterion(p, p, limits=(0, 20))
    with pytest.raises(ValueError, match="must ascend"):
        virtual_criterion(p, p, limits=(1, 0))
    with pytest.raises(TypeError, match="log_prob"):
        virtual_criterion(p, [0.5, 0.5])


def test_discriminator_losses_are_least_at_balance_for_equal_sets():
    """For real and generated rows alike, no score beats that of the balance."""
    scores = torch.linspace(-2, 2, 81, dtype=torch.float64)
    for name, rule in GAN_OBJECTIVES.items():
        loss = rule.real(scores) + rule.fake(scores)
        assert float(loss.min()) == pytest.approx(rule.balance, abs=1e-12), name


def test_non_saturating_gradient_is_larger_where_the_discriminator_rejects():
    b = torch.tensor([-6.0, -3.0], dtype=torch.float64, requires_grad=True)
    slopes = {}
    for name in ("minimax", "non_saturating"):
        (slopes[name],) = torch.autograd.grad(
            GAN_OBJECTIVES[name].generator(b).sum(), b
        )
    D = torch.sigmoid(b.detach())
    torch.testing.assert_close(slopes["minimax"], -D)
    torch.testing.assert_close(slopes["non_saturating"], D - 1)
    assert (slopes["non_saturating"].abs() > 10 * slopes["minimax"].abs()).all()


def test_trained_discriminator_of_two_known_normals_is_the_optimal_one():
    """Trap: D on N(0, 1) against N(1.5, 1) equals p / (p + q)."""
    rng = np.random.default_rng(0)
    real, fake = rng.normal(0, 1, (6000, 1)), rng.normal(1.5, 1, (6000, 1))
    torch.manual_seed(0)
    generator, discriminator = build_halves(AdversarialShape(1, 1, (32, 32)))
    net = AdversarialNet(generator, discriminator, n_components=1)

    class OnlyDiscriminator(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.discriminator = net.discriminator

        def losses(self, batch):
            x, z = batch
            return {"discriminator": net.discriminator_loss({"X": x}, None, z)}

    rows = tuple(a.astype(np.float32) for a in (real, fake))
    nn.train(
        OnlyDiscriminator(), rows, epochs=12, batch_size=256, seed=0, device="cpu",
        optimiser={"discriminator": nn.Adam(3e-3)},
    )  # fmt: skip
    x = np.linspace(-1.5, 3, 40)[:, None]
    with torch.no_grad():
        D = torch.sigmoid(discriminator(torch.as_tensor(x, dtype=torch.float32)))
    p, q = (np.asarray(Normal(m, 1.0).log_prob(x)) for m in (0.0, 1.5))
    best = optimal_discriminator(np.exp(p).ravel(), np.exp(q).ravel())
    assert np.abs(D.numpy() - best).max() < 0.05
