"""Optimisers against those of torch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402
from pansophy.nn.training.optimisers import FlatParameters, orthogonalised  # noqa: E402
from tests.nn.linear_net import LinearNet, train  # noqa: E402

torch.set_num_threads(1)  # nets this small lose time to a second thread


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
    ours = train(LinearNet(), data, optimiser=rule, **options)
    net = LinearNet()
    make = torch.optim.Adam if isinstance(rule, nn.Adam) else torch.optim.SGD
    optimiser = make(net.parameters(), **peer)
    batch = tuple(map(torch.as_tensor, data))
    for _ in range(20):
        optimiser.zero_grad()
        net.losses(batch)["loss"].backward()
        optimiser.step()
    torch.testing.assert_close(ours.state.net.w, net.w, rtol=1e-9, atol=1e-12)


class TwoLayers(torch.nn.Module):
    """An embedding, a hidden matrix of another shape, a norm and a head."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.embedding = torch.nn.Linear(3, 6).double()
        self.norm = torch.nn.LayerNorm(6).double()
        self.hidden = torch.nn.Linear(6, 4).double()
        self.head = torch.nn.Linear(4, 1).double()

    def losses(self, batch):
        h = torch.tanh(self.norm(self.embedding(batch[0])))
        out = self.head(torch.tanh(self.hidden(h)))
        return {"loss": (out - batch[1]).square().mean()}


def test_muon_is_torch_s_on_matrices_and_adam_on_the_rest(data):
    rule = nn.Muon(0.02, 0.9, decay=0.1, vectors=nn.Adam(0.01))
    options = {"epochs": 6, "batch_size": 40, "shuffle": False}
    ours = train(TwoLayers(), data, optimiser=rule, **options).state.net
    net = TwoLayers()
    matrices = [p for p in net.parameters() if p.ndim > 1]
    vectors = [p for p in net.parameters() if p.ndim < 2]
    peers = [
        torch.optim.Muon(
            matrices, 0.02, momentum=0.9, weight_decay=0.1,
            adjust_lr_fn="match_rms_adamw",
        ),
        torch.optim.Adam(vectors, 0.01),
    ]  # fmt: skip
    batch = tuple(map(torch.as_tensor, data))
    for _ in range(6):
        net.zero_grad()
        net.losses(batch)["loss"].backward()
        for peer in peers:
            peer.step()
    for a, b in zip(ours.parameters(), net.parameters()):
        # torch iterates in bfloat16, of which one digit in 200 is kept
        torch.testing.assert_close(a, b, rtol=0.03, atol=3e-3)


@pytest.mark.parametrize("shape", [(4, 9), (9, 4), (3, 5, 5)])
def test_orthogonalised_matrices_have_singular_values_near_one(shape, rng):
    M = torch.as_tensor(rng.normal(size=shape))
    U = orthogonalised(M)
    left, _, right = torch.linalg.svd(M, full_matrices=False)
    S = left.mT @ U @ right.mT  # the singular vectors stay as they are
    s = S.diagonal(dim1=-2, dim2=-1)
    assert U.shape == M.shape and s.min() > 0.6 and s.max() < 1.3
    torch.testing.assert_close(S, torch.diag_embed(s), rtol=0, atol=1e-9)


def test_lion_by_hand(data):
    X, Y = map(torch.as_tensor, data)
    rule = nn.Lion(0.01, 0.9, 0.99, decay=0.1)
    options = {"epochs": 5, "batch_size": 40, "shuffle": False}
    ours = train(LinearNet(), data, optimiser=rule, **options)
    net = LinearNet()
    m = [torch.zeros_like(p) for p in net.parameters()]
    for _ in range(5):
        net.zero_grad()
        net.losses((X, Y))["loss"].backward()
        for i, p in enumerate(net.parameters()):
            step = torch.sign(0.9 * m[i] + 0.1 * p.grad)
            pull = 0.1 * p.data if p.ndim > 1 else 0
            p.data -= 0.01 * (step + pull)
            m[i] = 0.99 * m[i] + 0.01 * p.grad
    torch.testing.assert_close(ours.state.net.w, net.w, rtol=1e-12, atol=1e-14)


def test_adamw_is_torch_s(data):
    ours = train(
        LinearNet(), data, optimiser=nn.AdamW(0.05, decay=0.1), epochs=9, batch_size=40,
        shuffle=False,
    )  # fmt: skip
    net = LinearNet()
    groups = [{"params": [net.w], "weight_decay": 0.1}, {"params": [net.b]}]
    peer = torch.optim.AdamW(groups, 0.05, weight_decay=0.0)
    batch = tuple(map(torch.as_tensor, data))
    for _ in range(9):
        peer.zero_grad()
        net.losses(batch)["loss"].backward()
        peer.step()
    torch.testing.assert_close(ours.state.net.w, net.w, rtol=1e-9, atol=1e-12)


def test_groups_have_rates_of_their_own(data, tmp_path):
    rules = nn.ParameterGroups(
        {
            "embedding.*": nn.Adam(0.0),
            "norm.*": nn.SGD(0.05),
            "head.*": nn.AdamW(0.02, decay=0.1),
        },
        nn.Muon(0.01),
    )
    options = {"optimiser": rules, "batch_size": 16}
    net = TwoLayers()
    whole = train(net, data, epochs=4, **options).state.net
    assert torch.equal(whole.embedding.weight, TwoLayers().embedding.weight)
    assert not torch.equal(whole.norm.weight, TwoLayers().norm.weight)
    train(TwoLayers(), data, epochs=2, checkpoint=tmp_path / "c", **options)
    rest = train(
        TwoLayers(), data, epochs=4, checkpoint=tmp_path / "c", resume=True, **options
    ).state.net
    for a, b in zip(whole.parameters(), rest.parameters()):
        assert torch.equal(a, b)
    with pytest.raises(ValueError, match=r"called 'haed.\*'"):
        train(
            TwoLayers(), data, optimiser=nn.ParameterGroups({"haed.*": nn.SGD()}, rules)
        )


def test_group_parity_with_torch(data):
    rules = nn.ParameterGroups({"b": nn.SGD(0.3)}, nn.SGD(0.1, 0.9))
    options = {"epochs": 7, "batch_size": 40, "shuffle": False}
    ours = train(LinearNet(), data, optimiser=rules, **options).state.net
    net = LinearNet()
    groups = [{"params": [net.w], "momentum": 0.9}, {"params": [net.b], "lr": 0.3}]
    peer = torch.optim.SGD(groups, 0.1)
    batch = tuple(map(torch.as_tensor, data))
    for _ in range(7):
        peer.zero_grad()
        net.losses(batch)["loss"].backward()
        peer.step()
    torch.testing.assert_close(ours.w, net.w, rtol=1e-10, atol=1e-13)
    torch.testing.assert_close(ours.b, net.b, rtol=1e-10, atol=1e-13)


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
    net = LinearNet()
    with torch.no_grad():
        net.w.fill_(1.0)
        net.b.fill_(1.0)
    net.losses = lambda batch: {"loss": 0.0 * (net.w.sum() + net.b.sum())}
    rule = nn.SGD(0.1, decay=0.5)
    train(net, np.zeros((1, 3)), epochs=2, optimiser=rule)
    assert net.w.detach().numpy() == pytest.approx(0.95**2)
    assert net.b.detach().numpy() == pytest.approx(1.0)


class SparedParts(torch.nn.Module):
    """A layer of every kind whose parameters of two axes are no matrices."""

    def __init__(self):
        super().__init__()
        self.matrix = torch.nn.Linear(3, 2)
        self.norm = nn.LayerNorm(3)
        self.table = torch.nn.Embedding(4, 3)
        self.maxout = nn.Maxout(3, 4)
        self.local = nn.LocallyConnected((4, 4), 1, 2, 3)
        self.positions = nn.LearnedPositions(3, 5)
        self.states = nn.S4D(2, 4)
        self.low_rank_states = nn.S4(2, 4)
        with torch.no_grad():
            for p in self.parameters():
                p.fill_(1.0)

    def losses(self, batch):
        return {"loss": 0.0 * sum(p.sum() for p in self.parameters())}


@pytest.mark.parametrize("rule", [nn.SGD, nn.AdamW, nn.Lion, nn.Muon])
def test_decay_spares_embeddings_positions_and_poles(rule):
    net = SparedParts()
    train(net, np.zeros((1, 3)), epochs=1, optimiser=rule(0.1, decay=0.5))
    decayed = {name for name, p in net.named_parameters() if (p != 1).any()}
    assert decayed == {
        "matrix.weight", "maxout.weight", "local.weight", "states.C",
        "low_rank_states.C",
    }  # fmt: skip


def test_custom_optimiser_resumes_exactly(data, tmp_path):
    rule = nn.TorchOptimiser(torch.optim.Adagrad, {"lr": 0.1})
    options = {"optimiser": rule, "batch_size": 16}
    whole = train(LinearNet(), data, epochs=6, **options)
    train(LinearNet(), data, epochs=3, checkpoint=tmp_path / "c", **options)
    rest = train(
        LinearNet(), data, epochs=6, checkpoint=tmp_path / "c", resume=True, **options
    )
    assert torch.equal(whole.state.net.w, rest.state.net.w)
    assert not torch.equal(whole.state.net.w, torch.zeros_like(whole.state.net.w))
