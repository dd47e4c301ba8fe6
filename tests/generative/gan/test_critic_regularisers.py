"""Penalties of a critic: closed forms, gradients in its weights, refusals."""

import pytest
import torch

from pansophy import nn
from pansophy.generative import clip_weights, gradient_penalty, r1_penalty
from pansophy.generative.gan.adversarial_net import (
    AdversarialNet,
    AdversarialShape,
    build_halves,
)


def test_penalty_of_linear_critics():
    """0 for unit slope, (s - 1)^2 for slope s, over all axes of a row."""
    x, z = torch.zeros(5, 2, 3, dtype=torch.float64), torch.ones(5, 2, 3).double()
    unit = torch.full((6,), 6**-0.5, dtype=torch.float64)
    for slope in (1.0, 3.0, 0.0):
        found = gradient_penalty(lambda u, s=slope: s * (u.flatten(1) @ unit), x, z)
        torch.testing.assert_close(
            found, torch.full((5,), (slope - 1) ** 2).double(), atol=3e-6, rtol=0
        )
    assert found.isfinite().all()  # the root at 0
    torch.testing.assert_close(
        r1_penalty(lambda u: 2 * (u.flatten(1) @ unit), x),
        torch.full((5,), 2.0).double(),
    )


def test_penalty_of_a_flat_critic_has_finite_gradients():
    """Trap 12: the norm of a slope of 0 has a derivative, by the eps in its root."""
    critic = torch.nn.Linear(3, 1).double()
    torch.nn.init.zeros_(critic.weight)
    x = torch.randn(4, 3).double()
    gradient_penalty(lambda u: critic(u)[:, 0], x, x + 1).mean().backward()
    assert critic.weight.grad.isfinite().all()


def test_one_place_between_for_each_row():
    """The critic sees t x + (1 - t) z with one t for all values of a row."""
    seen = []

    def critic(u):
        seen.append(u.detach())
        return u.flatten(1).sum(1)

    x, z = torch.ones(64, 4, 3), torch.zeros(64, 4, 3)
    gradient_penalty(critic, x, z)
    (u,) = seen
    first = u[:, :1, :1]
    torch.testing.assert_close(u, first.expand_as(u))
    assert first.flatten().unique().numel() > 60
    assert float(u.min()) >= 0 and float(u.max()) <= 1


@pytest.mark.parametrize("penalty", ["gradient_penalty", "r1"])
def test_penalty_gradient_reaches_the_weights(penalty):
    """Trap 12: finite differences of the penalty in single weights of the critic."""
    torch.manual_seed(0)
    critic = torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
    ).double()
    x, z = torch.randn(6, 3).double(), torch.randn(6, 3).double()
    t = torch.rand(6).double()

    def value():
        score = lambda u: critic(u)[:, 0]
        if penalty == "r1":
            return r1_penalty(score, x).mean()
        return gradient_penalty(score, x, z, t).mean()

    value().backward()
    h = 1e-6
    for p in critic.parameters():
        if p.ndim < 2:
            continue  # the last bias does not enter
        for i in (0, p.numel() - 1):
            flat = p.data.view(-1)
            before = float(flat[i])
            ends = []
            for step in (h, -h):
                flat[i] = before + step
                ends.append(float(value().detach()))
            flat[i] = before
            slope = (ends[0] - ends[1]) / (2 * h)
            assert float(p.grad.view(-1)[i]) == pytest.approx(slope, rel=1e-5, abs=1e-9)
            assert abs(slope) > 1e-6


def test_penalty_works_where_gradients_are_off():
    with torch.no_grad():
        found = gradient_penalty(lambda u: u[:, 0], torch.zeros(2, 1), torch.ones(2, 1))
    assert float(found.abs().max()) < 1e-10


def test_clipping_and_batch_norm():
    layer = torch.nn.Linear(5, 5)
    clip_weights(layer, 0.01)
    assert all(float(p.detach().abs().max()) <= 0.01 for p in layer.parameters())
    generator, discriminator = build_halves(AdversarialShape(2, 2, (8,)))
    for norm in (nn.BatchNorm(8), torch.nn.BatchNorm1d(8)):
        discriminator.trunk = torch.nn.Sequential(torch.nn.Linear(2, 8), norm)
        with pytest.raises(ValueError, match="batch normalisation"):
            AdversarialNet(generator, discriminator, n_components=2, penalty="r1")
