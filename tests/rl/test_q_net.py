"""Losses of deep Q-learning: gradients by hand, duelling, distributions."""

import numpy as np
import pytest
import torch

from pansophy.rl.q_net import QBatch, QNet, project_distribution
from pansophy.rl.small_nets import orthogonal_mlp


def make_net(kind, duelling, rng, K=5, A=3):
    atoms = np.linspace(-2, 2, K) if kind != "value" else np.zeros(1)
    outputs = (A + duelling) * len(atoms)
    mlp = orthogonal_mlp((4, 8, outputs), rng, activation="tanh", last_gain=1.0)
    net = QNet(mlp, A, kind, atoms, duelling)
    for p in net.parameters():
        p.grad = torch.zeros_like(p)
    return net


@pytest.mark.parametrize("kind", ["value", "categorical", "quantile"])
@pytest.mark.parametrize("duelling", [False, True])
def test_gradients_by_hand(kind, duelling, rng):
    net = make_net(kind, duelling, rng)
    tensor = lambda a: torch.tensor(a, dtype=torch.float32)
    target = tensor(rng.normal(size=(9, net.n_atoms)) * 2)
    target = target.softmax(1) if kind == "categorical" else target
    batch = QBatch(
        tensor(rng.normal(size=(9, 4))),
        torch.tensor(rng.integers(3, size=9)),
        target,
        tensor(rng.random(9)),
    )
    for p in net.parameters():
        p.grad = None
    loss = net.losses(batch)["q"]
    loss.backward()
    expected = [p.grad.clone() for p in net.parameters()]
    with torch.no_grad():
        found = net.gradients(batch)["q"]
    torch.testing.assert_close(found, loss.detach())
    for p, g in zip(net.parameters(), expected, strict=True):
        torch.testing.assert_close(p.grad, g, atol=1e-6, rtol=1e-5)
    assert net.errors.shape == (9,)


def test_duelling_scores(rng):
    net = make_net("value", True, rng)
    F = torch.tensor([[10.0, 1.0, 2.0, 6.0]])
    np.testing.assert_allclose(net.combine(F)[0, :, 0], [8.0, 9.0, 13.0])


def test_projection_keeps_mass_and_mean(rng):
    z = torch.linspace(-10, 10, 51)
    p = torch.tensor(rng.dirichlet(np.ones(51), 6), dtype=torch.float32)
    reward = torch.tensor(rng.normal(size=6), dtype=torch.float32)
    discount = torch.full((6,), 0.5)
    m = project_distribution(p, z, reward, discount)
    torch.testing.assert_close(m.sum(1), torch.ones(6))
    torch.testing.assert_close(m @ z, reward + 0.5 * (p @ z), atol=1e-4, rtol=1e-4)
    over = project_distribution(p, z, torch.full((6,), 3.2), torch.zeros(6))
    torch.testing.assert_close(over @ z, torch.full((6,), 3.2))
    beyond = project_distribution(p, z, torch.full((6,), 99.0), torch.zeros(6))
    torch.testing.assert_close(beyond[:, -1], torch.ones(6))


def test_quantiles_of_a_known_distribution():
    """Descent on eq. (4) finds the quantiles of its targets."""
    net = QNet(torch.nn.Identity(), 1, "quantile", np.zeros(5))
    f = torch.zeros(1, 5)
    y = torch.tensor(
        np.random.default_rng(0).normal(0, 5, (400, 500)).astype(np.float32)
    )
    for t in range(400):
        _, slope = net.row_losses(f.expand(1, 5), y[t : t + 1])
        f = f - 2.0 / (1 + t / 50) * slope
    levels = (np.arange(5) + 0.5) / 5
    np.testing.assert_allclose(f[0], np.quantile(y.numpy(), levels), atol=0.5)
