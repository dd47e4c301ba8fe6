"""Losses of deep Q-learning: gradients by hand, duelling, distributions."""

import numpy as np
import pytest
import torch

from pansophy.nn.training.gradient_step import GradientStep, LossTotals
from pansophy.nn.training.optimisers import Adam
from pansophy.rl.deep import q_net
from pansophy.rl.deep.off_policy import TargetNet
from pansophy.rl.deep.q_net import (
    VALUED_AT_ONCE,
    CompiledQSteps,
    QBatch,
    QNet,
    QRows,
    project_distribution,
)
from pansophy.rl.deep.small_nets import orthogonal_mlp


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


@pytest.mark.parametrize("duelling", [False, True])
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_compiled_steps_are_torchs(duelling, double, masked, rng):
    seed = int(rng.integers(1000))
    nets = [make_net("value", duelling, np.random.default_rng(seed)) for _ in range(2)]
    steps = [GradientStep(net, Adam(0.01), LossTotals(), clip=0.5) for net in nets]
    older = TargetNet(make_net("value", duelling, rng))
    n = 9
    number = lambda *shape: rng.normal(size=shape).astype(np.float32)
    mask = rng.random((n, 3)) < 0.5
    mask[:, 1] = True
    rows = QRows(
        number(n, 4), rng.integers(3, size=n), rng.normal(size=n), number(n, 4),
        0.9 * (rng.random(n) < 0.8), mask if masked else np.zeros((n, 0), bool),
        rng.random(n), np.arange(n),
    )  # fmt: skip
    (pack,) = steps[0].packs[""]
    vector = older.flatten_like(nets[0], pack.flat.w)
    compiled = CompiledQSteps(
        nets[0], pack, vector, n, n_places=n, double=double, clip=0.5
    )
    tensor = lambda a: torch.tensor(a, dtype=torch.float32)
    for _ in range(3):
        with torch.no_grad():
            scores = older.module(tensor(rows.after))[..., 0]
            choosing = nets[1](tensor(rows.after))[..., 0] if double else scores
            if masked:
                choosing = choosing.masked_fill(~torch.tensor(mask), -1e9)
            best = choosing.argmax(1, keepdim=True)
            y = (
                tensor(rows.reward)
                + tensor(rows.discount) * scores.gather(1, best)[:, 0]
            )
            batch = QBatch(
                tensor(rows.X), torch.tensor(rows.action), y[:, None],
                tensor(rows.weight),
            )  # fmt: skip
            steps[1]([(batch, n)], 1.0)
        errors = compiled(rows)
        np.testing.assert_allclose(errors, nets[1].errors, rtol=1e-4, atol=1e-5)
        for p, q in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
            torch.testing.assert_close(p, q, atol=1e-5, rtol=1e-4)
    mean = steps[1].totals.means(steps[1].processes)["q"]
    assert compiled.mean_loss() == pytest.approx(mean, rel=1e-4)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("has_target", [False, True])
@pytest.mark.parametrize("n", [9, 100])
def test_many_batches_in_one_call_are_steps_one_by_one(double, has_target, n, rng):
    """Also where the targets of a group of batches are computed at once."""
    k = 2 + VALUED_AT_ONCE // n  # the target net is applied more than once
    seed = int(rng.integers(1000))
    older = TargetNet(make_net("value", False, rng))
    number = lambda *shape: rng.normal(size=shape).astype(np.float32)
    rows = QRows(
        number(k * n, 4), rng.integers(3, size=k * n), 5 * rng.normal(size=k * n),
        number(k * n, 4), 0.9 * (rng.random(k * n) < 0.8),
        np.zeros((k * n, 0), bool), rng.random(k * n), np.arange(k * n),
    )  # fmt: skip
    found = []
    for at_once in (k, 1):
        net = make_net("value", False, np.random.default_rng(seed))
        step = GradientStep(net, Adam(0.05), LossTotals())
        (pack,) = step.packs[""]
        vector = older.flatten_like(net, pack.flat.w) if has_target else None
        compiled = CompiledQSteps(net, pack, vector, n, n_places=k * n, double=double)
        size = at_once * n
        errors = [
            compiled(QRows(*(column[lo : lo + size] for column in rows)))
            for lo in range(0, k * n, size)
        ]
        found.append((np.concatenate(errors), pack.flat.w.clone(), compiled))
    (errors, w, many), (errors_alone, w_alone, alone) = found
    np.testing.assert_allclose(errors, errors_alone, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(w, w_alone, atol=1e-4, rtol=1e-4)
    assert many.n_steps == alone.n_steps == k
    assert many.mean_loss() == pytest.approx(alone.mean_loss(), rel=1e-4)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("kept", [True, False])
def test_values_of_the_target_net_are_kept_until_they_are_out_of_date(
    double, kept, rng, monkeypatch
):
    """Steps from a small buffer, drawn again and again, with and without keeping."""
    if not kept:
        monkeypatch.setattr(q_net, "MOST_KEPT", 0)
    n, size = 8, 30
    nets = [make_net("value", True, np.random.default_rng(5)) for _ in range(2)]
    steps = [GradientStep(net, Adam(0.01), LossTotals()) for net in nets]
    packs = [step.packs[""][0] for step in steps]
    targets = [TargetNet(net) for net in nets]
    compiled = [
        CompiledQSteps(
            net, pack, target.flatten_like(net, pack.flat.w), n, n_places=size,
            double=double,
        )
        for net, pack, target in zip(nets, packs, targets, strict=True)
    ]  # fmt: skip
    assert all(one.keeps_values == kept for one in compiled)
    after = rng.normal(size=(size, 4)).astype(np.float32)
    for round in range(12):
        if round % 4 == 1:  # new steps overwrite old ones
            after[3:9] = rng.normal(size=(6, 4))
            compiled[0].forget_values(slice(3, 9))
        if round % 4 == 3:
            for target in targets:
                target.copy_weights()
            compiled[0].forget_values()
        compiled[1].forget_values()  # keeps nothing
        place = rng.integers(size, size=4 * n)
        rows = QRows(
            rng.normal(size=(4 * n, 4)).astype(np.float32),
            rng.integers(3, size=4 * n), 9 * rng.normal(size=4 * n), after[place],
            np.full(4 * n, 0.9), np.zeros((4 * n, 0), bool), np.ones(4 * n), place,
        )  # fmt: skip
        one, two = (steps(rows) for steps in compiled)
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(packs[0].flat.w, packs[1].flat.w, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("duelling", [False, True])
def test_values_of_a_few_rows(duelling, rng):
    net = make_net("value", duelling, rng)
    (pack,) = GradientStep(net, Adam(0.01), LossTotals()).packs[""]
    compiled = CompiledQSteps(net, pack, None, 8, n_places=1, double=False)
    X = rng.normal(size=(3, 4))  # of any kind of number
    with torch.no_grad():
        expected = net.q_values(net(torch.as_tensor(X, dtype=torch.float32))).numpy()
    np.testing.assert_allclose(compiled.q_values(X), expected, rtol=1e-4, atol=1e-5)


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
