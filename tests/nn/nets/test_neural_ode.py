"""Residual nets and neural ODEs: one is Euler's method on the other."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import load, nn, save  # noqa: E402


def rows(n=6, d=3):
    return torch.randn(n, d, generator=torch.manual_seed(0), dtype=torch.float64)


def test_euler_with_n_steps_is_the_residual_net():
    x = rows()
    field = nn.MLPField(3, (8,), rng=0, dtype=torch.float64)
    for n in (1, 4, 10):
        net = nn.ResidualNet(Autonomous(field), n, scale=1 / n)
        flow = nn.NeuralODE(field, method="euler", step=1 / n)
        torch.testing.assert_close(net(x), flow(x), rtol=1e-12, atol=1e-13)
        g = torch.autograd.grad(net(x).square().sum(), list(field.parameters()))
        h = torch.autograd.grad(flow(x).square().sum(), list(field.parameters()))
        for a, b in zip(g, h):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


class Autonomous(torch.nn.Module):
    """A field as a function of its state."""

    def __init__(self, field):
        super().__init__()
        self.field = field

    def forward(self, h):
        return self.field(0.0, h)


def test_tied_weights_add_up():
    x = rows()
    shift = torch.nn.Linear(3, 3, dtype=torch.float64)
    net = nn.ResidualNet(shift, 3)
    h = x
    total = torch.zeros_like(x)
    for _ in range(3):
        total = total + shift(h)
        h = h + shift(h)
    torch.testing.assert_close(net(x), x + total)
    parts = [torch.nn.Linear(3, 3, dtype=torch.float64) for _ in range(2)]
    untied = nn.ResidualNet(parts)
    one = x + parts[0](x)
    torch.testing.assert_close(untied(x), one + parts[1](one))
    with pytest.raises(ValueError, match="shared module"):
        nn.ResidualNet(parts, 3)


def test_integrating_backwards_recovers_the_input():
    field = nn.MLPField(3, (16,), time=True, rng=0, dtype=torch.float64)
    for p in field.parameters():
        p.data *= 3
    flow = nn.NeuralODE(field, rtol=1e-9, atol=1e-9)
    x = rows(50)
    torch.testing.assert_close(flow.inverse(flow(x)), x, rtol=1e-6, atol=1e-6)


def test_trajectories_are_given_at_every_time():
    flow = nn.NeuralODE(nn.MLPField(3, (8,), rng=0, dtype=torch.float64))
    x = rows()
    found = flow.solve(x, np.linspace(0, 1, 5))
    assert found.y.shape == (5, 6, 3) and torch.equal(found.y[0], x)
    torch.testing.assert_close(found.y[-1], flow(x), rtol=1e-5, atol=1e-6)


def test_flow_of_a_rotation_is_learnt():
    """Field of a rotation by a right angle, from pairs of points."""
    generator = torch.manual_seed(0)
    x = torch.randn(64, 2, generator=generator)
    y = torch.stack([-x[:, 1], x[:, 0]], 1)

    class Turn(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.flow = nn.NeuralODE(
                nn.MLPField(2, (32,), rng=0), method="rk4", step=0.25
            )

        def losses(self, batch):
            return {"loss": (self.flow(batch[0]) - batch[1]).square().mean()}

    result = nn.train(
        Turn(), (x, y), epochs=150, batch_size=64, optimiser=nn.Adam(0.02), seed=0,
        device="cpu",
    )  # fmt: skip
    assert result.history["loss"][-1] < 0.02


def test_saves_and_loads_without_pickle(tmp_path):
    flow = nn.NeuralODE(nn.MLPField(3, (8,), time=True, rng=0), method="rk4", step=0.5)
    save(flow, tmp_path / "flow.safetensors")
    again = load(tmp_path / "flow.safetensors")
    x = rows().float()
    assert torch.equal(again(x), flow(x))
