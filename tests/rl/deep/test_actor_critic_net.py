"""Gradients by hand equal autograd's; ratio 1 at the start; clipping; memory."""

import numpy as np
import pytest
import torch

from pansophy.nn.layers.recurrent import GRU
from pansophy.nn.training.gradient_step import GradientStep, LossTotals
from pansophy.nn.training.optimisers import Adam
from pansophy.rl.deep.a2c import PolicyGradientObjective
from pansophy.rl.deep.action_heads import CategoricalHead, NormalHead
from pansophy.rl.deep.actor_critic import standardised
from pansophy.rl.deep.actor_critic_net import (
    ActorBatch,
    ActorCriticNet,
    CompiledEpochs,
)
from pansophy.rl.deep.ppo import ClippedObjective
from pansophy.rl.deep.small_nets import numpy_forward, numpy_layers, orthogonal_mlp


def make_net(head, rng, memory=None, **options):
    make = lambda m, gain: orthogonal_mlp(
        (5, 8, m), rng, activation="tanh", last_gain=gain
    )
    net = ActorCriticNet(
        make(head.n_outputs, 1.0), make(1, 1.0), head, memory, **options
    )
    for p in net.parameters():
        p.grad = torch.zeros_like(p)
    return net


def make_batch(head, rng, n=12):
    tensor = lambda a: torch.tensor(a, dtype=torch.float32)
    if isinstance(head, CategoricalHead):
        action = torch.tensor(
            np.stack([rng.integers(k, size=n) for k in head.sizes], 1)
        )
    else:
        action = tensor(rng.normal(size=(n, head.width)))
    X = tensor(rng.normal(size=(n, 5)))
    A, G = tensor(rng.normal(size=(2, n)))
    return ActorBatch(X, action, None, tensor(rng.normal(-1.5, 0.3, n)), A, G)


@pytest.mark.parametrize(
    "head", [CategoricalHead((3,)), CategoricalHead((2, 3)), NormalHead(2)]
)
@pytest.mark.parametrize("objective", [ClippedObjective, PolicyGradientObjective])
def test_gradients_by_hand(head, objective, rng):
    net = make_net(head, rng, clip_range=0.2, entropy_weight=0.1)
    objective = objective(net)
    batch = make_batch(head, rng)
    losses = objective.losses(batch)
    for p in net.parameters():
        p.grad = None
    sum(losses.values()).backward()
    expected = [p.grad.clone() for p in net.parameters()]
    with torch.no_grad():
        found = objective.gradients(batch)
    for name, value in losses.items():
        torch.testing.assert_close(found[name], value.detach())
    for p, g in zip(net.parameters(), expected, strict=True):
        torch.testing.assert_close(p.grad, g, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(
    ("head", "masked"),
    [
        (CategoricalHead((3,)), False),
        (CategoricalHead((3,)), True),
        (CategoricalHead((2, 3)), False),
        (CategoricalHead((2, 3)), True),
        (NormalHead(2), False),
    ],
)
@pytest.mark.parametrize("clip", [0.2, float("inf")])
def test_compiled_passes_are_torchs(head, masked, clip, rng):
    seed = int(rng.integers(1000))
    options = {"clip_range": clip, "entropy_weight": 0.1}
    nets = [make_net(head, np.random.default_rng(seed), **options) for _ in range(2)]
    objective = ClippedObjective if clip < float("inf") else PolicyGradientObjective
    steps = [
        GradientStep(objective(net), Adam(0.01), LossTotals(), clip=0.5) for net in nets
    ]
    batch = make_batch(head, rng)
    if masked:
        mask = torch.tensor(rng.random((12, head.n_outputs)) < 0.5)
        taken = head.columns(batch.action)
        batch = batch._replace(mask=mask.scatter(1, taken, True))
    (pack,) = steps[0].packs[""]
    compiled = CompiledEpochs(nets[0], pack, clip=0.5, standardise=True)
    order, cuts = rng.permutation(12), np.array([0, 5, 12])
    for _ in range(2):
        found = compiled.run(compiled.rows_of(batch), order, cuts, 0.5)
        for lo, hi in ((0, 5), (5, 12)):
            part = batch.rows(torch.tensor(order[lo:hi]))
            part = part._replace(advantage=standardised(part.advantage))
            with steps[1].grad_mode():
                steps[1]([(part, hi - lo)], 0.5)
        expected = steps[1].totals.means(steps[1].processes)
        for name, value in expected.items():
            assert found[name] == pytest.approx(value, rel=1e-3, abs=1e-5)
        for p, q in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
            torch.testing.assert_close(p, q, atol=1e-5, rtol=1e-4)


def test_constant_advantages_give_no_policy_gradient(rng):
    head = CategoricalHead((3,))
    net = make_net(head, rng, clip_range=0.2)
    step = GradientStep(ClippedObjective(net), Adam(0.01), LossTotals())
    batch = make_batch(head, rng)._replace(advantage=torch.full((12,), 0.1))
    (pack,) = step.packs[""]
    before = [p.clone() for p in net.policy.parameters()]
    compiled = CompiledEpochs(net, pack, standardise=True)
    compiled.run(compiled.rows_of(batch), np.arange(12), np.array([0, 12]), 1.0)
    for p, q in zip(net.policy.parameters(), before, strict=True):
        assert (p == q).all()


def test_entropy_is_rewarded_and_advantages_keep_their_sign(rng):
    head = CategoricalHead((2,))
    net = make_net(head, rng, entropy_weight=1.0, value_weight=0.0)
    objective = PolicyGradientObjective(net)
    X = torch.ones(4, 5)
    found = head.evaluate(net.policy(X), torch.zeros(4, 1, dtype=torch.int64))
    batch = ActorBatch(
        X, torch.zeros(4, 1, dtype=torch.int64), None, found.log_prob.detach(),
        torch.zeros(4), torch.zeros(4),
    )  # fmt: skip
    with torch.no_grad():
        objective.gradients(batch)
        for p in net.policy.parameters():
            p -= 0.01 * p.grad
    after = head.evaluate(net.policy(X), batch.action)
    assert (after.entropy > found.entropy).all()
    better = batch._replace(advantage=torch.ones(4))
    net.entropy_weight = 0.0
    before = head.evaluate(net.policy(X), batch.action).log_prob
    with torch.no_grad():
        objective.gradients(better)
        for p in net.policy.parameters():
            p -= 0.01 * p.grad
    assert (head.evaluate(net.policy(X), batch.action).log_prob > before).all()


def test_standardised_advantages():
    A = torch.tensor([1.0, 2.0, 4.0])
    found = standardised(A)
    assert float(found.mean()) == pytest.approx(0.0, abs=1e-6)
    assert float(found.std()) == pytest.approx(1.0, abs=1e-6)
    assert (standardised(torch.full((5,), 3.0)) == 0).all()
    assert standardised(torch.tensor([3.0])) == 3.0


def test_memory_forgets_where_an_episode_begins(rng):
    torch.manual_seed(0)
    net = make_net(CategoricalHead((2,)), rng, GRU(5, 5))
    X = torch.tensor(rng.normal(size=(2, 6, 5)), dtype=torch.float32)
    first = torch.zeros(2, 6, dtype=torch.bool)
    first[:, 0] = True
    first[1, 3] = True
    state = net.memory.init_state(2)
    H, _ = net.read_sequences(X, first, state)
    plain, _ = net.memory(X[:1])
    torch.testing.assert_close(H[0], plain[0])
    fresh, _ = net.memory(X[1:, 3:])
    torch.testing.assert_close(H[1, 3:], fresh[0])
    assert not net.has_manual_gradients


def test_numpy_outputs_are_torchs(rng):
    mlp = orthogonal_mlp((5, 8, 3), rng, activation="relu", last_gain=0.5)
    X = rng.normal(size=(4, 5)).astype(np.float32)
    with torch.no_grad():
        expected = mlp(torch.as_tensor(X)).numpy()
    found = numpy_forward(numpy_layers(mlp), "relu", X)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_steps_that_only_reset_teach_nothing():
    """With memory too: their targets, actions and advantages do not count."""
    rng = np.random.default_rng(0)
    head = CategoricalHead((2,))
    make = lambda m: orthogonal_mlp((4, 8, m), rng, activation="tanh", last_gain=1.0)
    net = ActorCriticNet(make(2), make(1), head, GRU(3, 4), None, clip_range=0.2)
    N, T = 2, 5
    draw = lambda *shape: torch.as_tensor(rng.normal(size=shape), dtype=torch.float32)
    valid = torch.ones(N, T, dtype=torch.bool)
    valid[0, 2] = valid[1, 4] = False
    first = torch.zeros(N, T, dtype=torch.bool)
    action = torch.zeros(N, T, 1, dtype=torch.int64)
    batch = ActorBatch(
        draw(N, T, 3), action, None, draw(N, T), draw(N, T), draw(N, T),
        first, valid, net.memory.init_state(N),
    )  # fmt: skip
    objective = ClippedObjective(net)
    usual = objective.losses(batch)
    other = batch._replace(
        target=torch.where(valid, batch.target, 99.0),
        advantage=torch.where(valid, batch.advantage, -99.0),
        log_q=torch.where(valid, batch.log_q, -9.0),
        action=torch.where(valid[..., None], action, 1),
    )
    for name, loss in objective.losses(other).items():
        torch.testing.assert_close(loss, usual[name], rtol=0, atol=0)
    A = standardised(batch.advantage, valid)[valid]
    assert abs(float(A.mean())) < 1e-6 and float(A.std()) == pytest.approx(1, abs=1e-5)
