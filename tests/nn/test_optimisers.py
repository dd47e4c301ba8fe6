"""Optimisers against those of torch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402
from pansophy.nn.optimisers import FlatParameters  # noqa: E402

torch.set_num_threads(1)  # nets this small lose time to a second thread


class Linear(torch.nn.Module):
    """y = X w + b on squared error, by autograd."""

    def __init__(self, d=3, k=1):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(d, k, dtype=torch.float64))
        self.b = torch.nn.Parameter(torch.zeros(k, dtype=torch.float64))

    def losses(self, batch):
        X, Y = batch
        return {"loss": (X @ self.w + self.b - Y).square().mean()}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(40, 3))
    return X, X @ np.array([[1.0], [-2.0], [0.5]]) + 0.3


def train(net, data, **options):
    return nn.train(net, data, **{"device": "cpu", "seed": 0, **options})


@pytest.mark.parametrize(
    ("rule", "peer"),
    [
        (nn.Adam(0.05, 0.8, 0.9, 1e-6), {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-6}),
        (nn.SGD(0.05, 0.9), {"lr": 0.05, "momentum": 0.9}),
        (nn.SGD(0.05, 0.9, True), {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
        (nn.SGD(0.05), {"lr": 0.05}),
    ],
)
def test_optimisers_are_torch_s(rule, peer, data):
    options = {"epochs": 20, "batch_size": 40, "shuffle": False}
    ours = train(Linear(), data, optimiser=rule, **options)
    net = Linear()
    make = torch.optim.Adam if isinstance(rule, nn.Adam) else torch.optim.SGD
    optimiser = make(net.parameters(), **peer)
    batch = tuple(map(torch.as_tensor, data))
    for _ in range(20):
        optimiser.zero_grad()
        net.losses(batch)["loss"].backward()
        optimiser.step()
    torch.testing.assert_close(ours.state.net.w, net.w, rtol=1e-9, atol=1e-12)


def test_plain_adam_is_the_fused_one(rng):
    grads = [torch.as_tensor(rng.normal(size=7)) for _ in range(5)]
    packs = [
        FlatParameters([torch.nn.Parameter(torch.ones(7).double())]) for _ in range(2)
    ]
    rule = nn.Adam(0.1)
    fused, plain = (rule.init(p) for p in packs)
    for t, g in enumerate(grads, 1):
        for p in packs:
            p.g.copy_(g)
        rule.step(packs[0], fused, 1.0)
        rule.plain(packs[1], plain["m"], plain["v"], t, 0.1)
    torch.testing.assert_close(packs[0].w, packs[1].w)


def test_decay_pulls_matrices_and_spares_biases():
    net = Linear()
    with torch.no_grad():
        net.w.fill_(1.0)
        net.b.fill_(1.0)
    net.losses = lambda batch: {"loss": 0.0 * (net.w.sum() + net.b.sum())}
    rule = nn.SGD(0.1, decay=0.5)
    train(net, np.zeros((1, 3)), epochs=2, optimiser=rule)
    assert net.w.detach().numpy() == pytest.approx(0.95**2)
    assert net.b.detach().numpy() == pytest.approx(1.0)


def test_custom_optimiser_resumes_exactly(data, tmp_path):
    rule = nn.TorchOptimiser(torch.optim.Adagrad, {"lr": 0.1})
    options = {"optimiser": rule, "batch_size": 16}
    whole = train(Linear(), data, epochs=6, **options)
    train(Linear(), data, epochs=3, checkpoint=tmp_path / "c", **options)
    rest = train(
        Linear(), data, epochs=6, checkpoint=tmp_path / "c", resume=True, **options
    )
    assert torch.equal(whole.state.net.w, rest.state.net.w)
    assert not torch.equal(whole.state.net.w, torch.zeros_like(whole.state.net.w))
