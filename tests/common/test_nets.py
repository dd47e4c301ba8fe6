"""Every net keeps the contract of `nn.train`: one list, one battery."""

from typing import NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # nets this small lose time to a second thread

from pansophy import nn  # noqa: E402
from pansophy.nn.nets.sequence_net import LayerSize  # noqa: E402
from pansophy.nn.training.optimisers import flatten_parameters  # noqa: E402


def random_mlp(head="softmax", activation="relu", **options):
    coefs, intercepts = nn.glorot_uniform(
        [5, 16, 9, 3], np.random.default_rng(1), activation
    )
    return nn.MLP(coefs, intercepts, head=head, activation=activation, **options)


class AutoEncoder(torch.nn.Module):
    """A net with noise of its own and a running statistic, without `gradients`."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.code = torch.nn.Linear(5, 8, dtype=torch.float64)
        self.norm = torch.nn.BatchNorm1d(8, dtype=torch.float64)
        self.back = torch.nn.Linear(8, 5, dtype=torch.float64)

    def losses(self, batch):
        noisy = batch[0] + 0.01 * torch.randn_like(batch[0])
        decoded = self.back(torch.relu(self.norm(self.code(noisy))))
        return {"error": (decoded - batch[0]).square().mean()}


class Rivals(torch.nn.Module):
    """Two names, two optimisers: one follows the data, the other follows the first."""

    def __init__(self):
        super().__init__()
        self.leader = torch.nn.ParameterList([torch.zeros(5, dtype=torch.float64)])
        self.chaser = torch.nn.ParameterList([torch.ones(5, dtype=torch.float64)])

    def losses(self, batch):
        a, b = self.leader[0], self.chaser[0]
        centre = batch[0].mean(0).round()
        return {
            "leader": (a - centre).square().sum(),
            "chaser": lambda: (b - a.detach()).square().sum(),
        }


class GradientPenalty(torch.nn.Module):
    """A critic whose loss takes a gradient inside, as in a Wasserstein GAN."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.critic = torch.nn.Sequential(
            torch.nn.Linear(5, 8, dtype=torch.float64),
            torch.nn.Tanh(),
            torch.nn.Linear(8, 1, bias=False, dtype=torch.float64),
        )

    def losses(self, batch):
        with torch.enable_grad():  # validation runs without gradients
            X = batch[0].detach().requires_grad_()
            (slope,) = torch.autograd.grad(
                self.critic(X).sum(), X, create_graph=self.training
            )
            penalty = (slope.norm(dim=1) - 1).square().mean()
        return {"penalty": penalty}


class LazyRegulariser(AutoEncoder):
    """A name that occurs in every other step only."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def losses(self, batch):
        losses = super().losses(batch)
        self.calls += self.training
        if self.calls % 2 == 0:
            losses["size"] = 1e-4 * self.code.weight.square().sum()
        return losses


class Case(NamedTuple):
    make: object
    data: object  # rng -> tuple of arrays
    optimiser: object = nn.Adam(1e-2)
    smooth: bool = True  # the loss has no kinks and no noise: differences apply


def rows(rng):
    return rng.normal(size=(12, 5))


def padded_sequences(rng):
    """Twelve sequences of one to four steps, and their lengths."""
    lengths = rng.integers(1, 5, 12)
    lengths[0] = 4
    X = rng.normal(size=(12, 4, 5))
    X[np.arange(4) >= lengths[:, None]] = 0.0
    return X, lengths


def seeded_sequence_net(architecture, pool, head="softmax"):
    torch.manual_seed(2)
    layer = nn.ARCHITECTURES[architecture](LayerSize(5, 16))
    return nn.SequenceNet(layer, 3, pool=pool, head=head).double()


def seeded(make):
    torch.manual_seed(0)
    return make().double()


def mixed_rows(r):
    """Numbers, one of them missing, a category and classes."""
    numbers = r.normal(size=(12, 3))
    numbers[0, 0] = np.nan
    return numbers, r.integers(0, 3, (12, 1)), r.integers(0, 3, 12)


def packed_tokens(r):
    """Rows that begin with a token of their own, some with a second document."""
    tokens = r.integers(0, 12, (12, 6))
    tokens[:, 0] = np.arange(12)
    tokens[::3, 3:] = [15, 3, 7]  # a separator, and what follows it
    return (tokens,)


def seeded_token_model(architecture):
    layer = lambda: nn.ARCHITECTURES[architecture](LayerSize(16, 16, heads=2))
    if architecture == "transformer":
        options = nn.BlockOptions(positions="rotary", backend="fused")
        layer = lambda: nn.TransformerEncoder(16, 2, 1, options=options, causal=True)
    return seeded(lambda: nn.TokenModel(16, layer(), 16, separator=15))


NETS = {
    "transformer over packed tokens": Case(
        lambda: seeded_token_model("transformer"), packed_tokens
    ),
    "gru over packed tokens": Case(lambda: seeded_token_model("gru"), packed_tokens),
    "mlp softmax": Case(
        lambda: random_mlp(), lambda r: (rows(r), r.integers(0, 3, 12)), smooth=False
    ),
    "mlp soft labels": Case(
        lambda: random_mlp(activation="tanh"),
        lambda r: (rows(r), np.eye(3)[r.integers(0, 3, 12)]),
    ),
    "mlp labels, weighted": Case(
        lambda: random_mlp("logistic", "logistic", alpha=1e-4),
        lambda r: (
            rows(r),
            r.integers(0, 2, (12, 3)).astype(float),
            r.uniform(0, 2, 12),
        ),
        nn.Adam(1e-1),
    ),
    "mlp numbers": Case(
        lambda: random_mlp("identity", "tanh"),
        lambda r: (rows(r), r.normal(size=(12, 3))),
    ),
    "mlp counts": Case(
        lambda: random_mlp("exp", "elu"),
        lambda r: (rows(r), np.array([0.5, 1.0, 4.0])[r.integers(0, 3, (12, 3))]),
        smooth=False,
    ),
    "mlp with dropout": Case(
        lambda: random_mlp(dropout=0.05),
        lambda r: (rows(r), r.integers(0, 3, 12)),
        smooth=False,
    ),
    "lstm over padded sequences": Case(
        lambda: seeded_sequence_net("lstm", "last"),
        lambda r: (*padded_sequences(r), r.integers(0, 3, 12), r.uniform(0.5, 2, 12)),
        nn.Adam(3e-2),
    ),
    "transformer with labels of steps": Case(
        lambda: seeded_sequence_net("transformer", None),
        lambda r: (*padded_sequences(r), r.integers(0, 3, (12, 4))),
    ),
    "gru with a chain of labels": Case(
        lambda: seeded_sequence_net("gru", None, "crf"),
        lambda r: (*padded_sequences(r), r.integers(0, 3, (12, 4))),
        nn.Adam(3e-2),
    ),
    "convolution": Case(
        lambda: seeded(lambda: nn.ConvNet((1, 4, 4), 3, n_filters=(4,))),
        lambda r: (r.normal(size=(12, 1, 4, 4)), r.integers(0, 3, 12)),
        smooth=False,
    ),
    "convolution, smooth": Case(
        lambda: seeded(
            lambda: nn.ConvNet(
                (1, 4, 4),
                2,
                n_filters=(4,),
                activation="tanh",
                head="gaussian",
                normalisation="group",
                pooling="average",
            )
        ),
        lambda r: (r.normal(size=(12, 1, 4, 4)), np.ones((12, 1)), r.uniform(1, 2, 12)),
    ),
    "residual net for tables": Case(
        lambda: seeded(
            lambda: nn.TabularResNet(
                [[-1.0, 0.0, 1.0]] * 3,
                [3],
                3,
                hidden_size=16,
                dropout=0.0,
                activation="tanh",
            )
        ),
        mixed_rows,
        smooth=False,
    ),
    "residual net with members": Case(
        lambda: seeded(
            lambda: nn.TabularResNet(
                [[-1.0, 0.0, 1.0]] * 3,
                [3],
                3,
                hidden_size=16,
                dropout=0.0,
                activation="tanh",
                n_members=3,
            )
        ),
        mixed_rows,
        smooth=False,
    ),
    "FT-transformer": Case(
        lambda: seeded(
            lambda: nn.FTTransformer(
                [[-1.0, 0.0, 1.0]] * 3, [3], 3, hidden_size=8, n_heads=2, dropout=0.0
            )
        ),
        mixed_rows,
        smooth=False,
    ),
    "autoencoder": Case(AutoEncoder, lambda r: (rows(r),), smooth=False),
    "gradient penalty": Case(GradientPenalty, lambda r: (rows(r),)),
    "lazy regulariser": Case(LazyRegulariser, lambda r: (rows(r),), smooth=False),
    "rivals": Case(
        Rivals,
        lambda r: (rows(r),),
        {"leader": nn.SGD(0.3), "chaser": nn.Adam(0.1)},
        smooth=False,
    ),
}


@pytest.fixture(params=NETS, ids=lambda name: name.replace(" ", "-"))
def case(request):
    return NETS[request.param]


def run(case, data, **options):
    net = case.make()
    settings = {"optimiser": case.optimiser, "device": "cpu", "seed": 3}
    return nn.train(net, data, **{**settings, **options})


def same(a, b):
    one, two = a.state_dict(), b.state_dict()
    assert one.keys() == two.keys()
    return all(torch.equal(one[k], two[k]) for k in one)


def test_overfits_one_batch(case, rng):
    data = case.data(rng)
    start = run(case, data, epochs=1, batch_size=12).history["loss"][0]
    result = run(case, data, epochs=3, batch_size=12, steps_per_epoch=200)
    assert result.reason == "finished" and result.state.step == 600
    assert result.history["loss"][-1] < 0.02 + 0.05 * start


def test_same_seed_same_run(case, rng):
    data = case.data(rng)
    first = run(case, data, epochs=3, batch_size=5)
    torch.manual_seed(99)  # what surrounds a run does not matter
    again = run(case, data, epochs=3, batch_size=5)
    other = run(case, data, epochs=3, batch_size=5, seed=4)
    assert same(first.state.net, again.state.net)
    assert np.array_equal(first.history["loss"], again.history["loss"])
    if not isinstance(first.state.net, Rivals):  # whose batches all look the same
        assert not same(first.state.net, other.state.net)


@pytest.mark.parametrize(
    "more", [{}, {"accumulate": 2, "average": nn.WeightAverage()}], ids=["", "averaged"]
)
def test_resumed_run_is_the_same_run(case, more, rng, tmp_path):
    data = case.data(rng)
    options = {
        "batch_size": 5,
        "schedule": nn.schedules.warmup_cosine(3),
        "valid": data,
    }
    options |= more
    whole = run(case, data, epochs=6, **options, checkpoint=tmp_path / "whole")
    file = tmp_path / "part"
    # a schedule is a function of the planned length, so the plan is the same: the
    # first part is cut short by a callback-like error, as a kill would
    with pytest.raises(StopError):
        run(case, data, epochs=6, **options, checkpoint=file, evaluate=stop_at(3))
    rest = run(case, data, epochs=6, **options, checkpoint=file, resume=True)
    assert rest.n_iter == 6
    assert same(whole.state.net, rest.state.net)
    for name in ("loss", "valid_loss"):
        assert np.array_equal(whole.history[name], rest.history[name])


class StopError(Exception):
    pass


def stop_at(epoch):
    calls = []

    def evaluate(net):
        calls.append(1)
        if len(calls) > epoch:
            raise StopError
        return {}

    return evaluate


def autograd(net, batch):
    for p in net.parameters():
        p.grad = None
    losses = net.losses(batch)
    sum(losses.values()).backward()
    return losses, [p.grad.clone() for p in net.parameters()]


BY_HAND = [n for n, c in NETS.items() if getattr(c.make(), "has_manual_gradients", 0)]
SMOOTH = [n for n, case in NETS.items() if case.smooth]


@pytest.mark.parametrize("name", BY_HAND)
def test_gradients_by_hand_are_those_of_autograd(name, rng):
    case = NETS[name]
    net = case.make()
    batch = tuple(torch.as_tensor(a) for a in case.data(rng))
    losses, wanted = autograd(net, batch)
    flatten_parameters(net.parameters())
    with torch.no_grad():
        found = net.gradients(batch)
    assert found.keys() == losses.keys()
    for name, value in losses.items():
        torch.testing.assert_close(found[name], value.detach())
    for p, grad in zip(net.parameters(), wanted, strict=True):
        torch.testing.assert_close(p.grad, grad, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", SMOOTH)
def test_gradient_against_differences(name, rng):
    case = NETS[name]
    net = case.make()
    batch = tuple(torch.as_tensor(a) for a in case.data(rng))
    _, grads = autograd(net, batch)
    value = lambda: float(sum(net.losses(batch).values()).detach())
    step = 1e-6
    for p, grad in zip(net.parameters(), grads, strict=True):
        flat = p.data.view(-1)
        for i in rng.integers(len(flat), size=3):
            kept = float(flat[i])
            flat[i] = kept + step
            up = value()
            flat[i] = kept - step
            down = value()
            flat[i] = kept
            assert (up - down) / (2 * step) == pytest.approx(
                float(grad.reshape(-1)[i]), rel=1e-5, abs=1e-8
            )


OWN_NETS = [n for n, c in NETS.items() if type(c.make()).__module__ != __name__]


@pytest.mark.parametrize("name", OWN_NETS)
def test_losses_under_autocast_are_float32(name, rng):
    """Scores may have two digits, but softmax, sums and means have seven."""
    case = NETS[name]
    net = case.make().float().eval()
    batch = tuple(torch.as_tensor(a) for a in case.data(rng))
    batch = tuple(a.float() if a.is_floating_point() else a for a in batch)
    exact = net.losses(batch)
    with torch.autocast("cpu", torch.bfloat16):
        rough = net.losses(batch)
    for key, loss in rough.items():
        assert loss.dtype == torch.float32
        assert loss.item() == pytest.approx(exact[key].item(), rel=0.02, abs=0.02)


@pytest.mark.gpu
def test_cuda_agrees_with_cpu(case, rng):
    data = case.data(rng)
    options = {"epochs": 3, "batch_size": 12, "shuffle": False}
    here = run(case, data, **options)
    there = run(case, data, **options, device="cuda")
    if isinstance(here.state.net, AutoEncoder) or getattr(here.state.net, "dropout", 0):
        # noise and dropout are drawn by the device, other numbers on each
        assert there.history["loss"] == pytest.approx(here.history["loss"], rel=0.3)
    else:
        assert there.history["loss"] == pytest.approx(here.history["loss"], rel=1e-8)
    assert next(there.state.net.parameters()).device.type == "cuda"
