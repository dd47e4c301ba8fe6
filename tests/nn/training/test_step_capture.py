"""Steps as CUDA graphs: what can be shown without a GPU, and the rest with one."""

import sys
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402
from pansophy.nn.training.gradient_step import GradientStep  # noqa: E402

torch.set_num_threads(1)  # nets this small lose time to a second thread


class Dropped(torch.nn.Module):
    """A net with random numbers and a running mean."""

    capturable = True

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body = torch.nn.Sequential(
            torch.nn.Linear(3, 8, bias=False),  # which the norm would undo
            torch.nn.BatchNorm1d(8),
            torch.nn.Dropout(0.2),
            torch.nn.ReLU(),
            torch.nn.Linear(8, 1),
        )

    def losses(self, batch):
        X, Y = batch
        return {"loss": (self.body(X) - Y).square().mean()}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(42, 3)).astype(np.float32)
    return X, X[:, :1] * 2


def train(net, data, **options):
    usual = {"device": "cpu", "seed": 0, "batch_size": 8, "optimiser": nn.Adam(0.02)}
    return nn.train(net, data, **{**usual, **options})


@pytest.fixture
def pretended_cuda(monkeypatch):
    """CUDA graphs played by the CPU: a replay calls the recorded step again."""
    calls = []

    class Graph:
        def replay(self):
            step, batches, scale = self.call
            rows = dict(step.totals.rows)
            plain_step(step, batches, scale)
            step.totals.rows = rows  # a graph runs no Python
            replays.append(1)

    class Stream:
        def __init__(self, device=None):
            pass

        def wait_stream(self, other):
            pass

    @contextmanager
    def record(graph, stream, capture_error_mode):
        yield
        graph.call = calls[-1]

    plain_step = GradientStep.__call__
    replays = []

    def watched(step, batches, scale):
        calls.append((step, batches, scale))
        plain_step(step, batches, scale)

    monkeypatch.setattr(GradientStep, "__call__", watched)
    for name, part in {
        "CUDAGraph": Graph,
        "Stream": Stream,
        "graph": record,
        "stream": lambda s: nullcontext(),
        "current_stream": lambda d: Stream(),
        "synchronize": lambda d: None,
        "get_rng_state": lambda d: torch.get_rng_state(),
        "set_rng_state": lambda state, d: torch.set_rng_state(state),
    }.items():
        monkeypatch.setattr(torch.cuda, name, part)
    module = sys.modules["pansophy.nn.training.train"]
    monkeypatch.setattr(module, "why_not_captured", lambda *a, **k: None)
    return replays


OPTIMISERS = [
    nn.Adam(0.02, decay=0.1),
    nn.SGD(0.02, 0.9, True),
    nn.SGD(0.02, decay=0.1),
    nn.Lion(0.01),
    nn.ParameterGroups({"body.0.*": nn.Muon(0.02)}, nn.Adam(0.01)),
]


@pytest.mark.parametrize("rule", OPTIMISERS, ids=lambda r: type(r).__name__)
def test_replayed_steps_are_plain_steps(rule, data, pretended_cuda, monkeypatch):
    options = {
        "optimiser": rule,
        "epochs": 3,
        "schedule": nn.schedules.warmup_cosine(4),
    }
    replayed = train(Dropped(), data, **options)
    assert replayed.state.execution == "CUDA graph"
    assert len(pretended_cuda) == 3 * 6  # every step, the short ones too
    monkeypatch.undo()
    plain = train(Dropped(), data, **options)
    assert plain.state.execution == "kernel by kernel: a CUDA graph needs a CUDA device"
    for a, b in zip(replayed.state.net.parameters(), plain.state.net.parameters()):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    assert replayed.history["loss"] == pytest.approx(plain.history["loss"], rel=1e-5)
    one, two = (r.state.net.body[1] for r in (replayed, plain))
    assert one.num_batches_tracked == two.num_batches_tracked == 18


def test_replayed_run_resumes_exactly(data, pretended_cuda, tmp_path):
    options = {"checkpoint": tmp_path / "run", "average": nn.WeightAverage()}
    whole = train(Dropped(), data, epochs=4, average=options["average"])
    train(Dropped(), data, epochs=2, **options)
    rest = train(Dropped(), data, epochs=4, resume=True, **options)
    for a, b in zip(whole.state.net.parameters(), rest.state.net.parameters()):
        assert torch.equal(a, b)


def test_a_step_that_cannot_be_recorded_runs_plainly(data, pretended_cuda, monkeypatch):
    @contextmanager
    def refuse(graph, stream, capture_error_mode):
        yield
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    monkeypatch.setattr(torch.cuda, "graph", refuse)
    result = train(Dropped(), data, epochs=2)
    assert "operation not permitted" in result.state.execution
    monkeypatch.undo()
    plain = train(Dropped(), data, epochs=2)
    assert result.history["loss"] == pytest.approx(plain.history["loss"], rel=1e-5)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "needs a CUDA device"),
        ({"device": "pretend"}, "does not say that it is capturable"),
        ({"device": "pretend", "requested": True, "accumulate": 2}, "accumulated"),
        ({"device": "pretend", "requested": True}, "outside its tensors"),
    ],
)
def test_reasons_against_a_graph(options, reason):
    from types import SimpleNamespace

    from pansophy.nn.training.gradient_step import LossTotals
    from pansophy.nn.training.step_capture import why_not_captured

    net = torch.nn.Linear(2, 1)
    net.losses = None
    rule = nn.TorchOptimiser(torch.optim.SGD, {"lr": 0.1})
    step = GradientStep(net, rule, LossTotals(), losses=lambda batch: {})
    kind = "cuda" if options.pop("device", "") else "cpu"
    requested = {"requested": False, "accumulate": 1, **options}
    found = why_not_captured(net, step, SimpleNamespace(type=kind), **requested)
    assert reason in found


def test_compiled_losses_are_used(data, monkeypatch):
    compiled = []

    def compile_losses(function):
        compiled.append(function)
        return function

    monkeypatch.setattr(torch, "compile", compile_losses)
    result = train(Dropped(), data, epochs=2, compile="inductor")
    assert len(compiled) == 1 and result.state.execution.startswith("torch.compile")
    plain = train(Dropped(), data, epochs=2, compile="none")
    assert np.array_equal(plain.history["loss"], result.history["loss"])
    with pytest.raises(ValueError, match="compile must be"):
        train(Dropped(), data, compile="fast")


@pytest.mark.gpu
def test_graphs_on_a_gpu(data, tmp_path):
    graph = train(Dropped(), data, epochs=3, device="cuda")
    assert graph.state.execution == "CUDA graph"
    file = tmp_path / "run"
    train(Dropped(), data, epochs=2, device="cuda", checkpoint=file)
    rest = train(Dropped(), data, epochs=3, device="cuda", checkpoint=file, resume=True)
    for a, b in zip(graph.state.net.parameters(), rest.state.net.parameters()):
        assert torch.equal(a, b)
    coefs, intercepts = nn.glorot_uniform([3, 8, 1], np.random.default_rng(0))
    weights = np.linspace(0, 2, 42)
    rows = (*data, weights.astype(np.float32))
    coefs, intercepts = ([a.astype(np.float32) for a in p] for p in (coefs, intercepts))
    nets = [
        nn.MLP(coefs, intercepts, head="identity", activation="tanh", alpha=0.1)
        for _ in range(2)
    ]
    options = {"epochs": 3, "device": "cuda"}
    one = train(nets[0], rows, compile="graph", **options)
    two = train(nets[1], rows, compile="none", **options)
    assert one.state.execution == "CUDA graph"
    assert one.history["loss"] == pytest.approx(two.history["loss"], rel=1e-4)
