"""The training loop: what is special beyond the battery in tests/common/test_nets."""

import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402
from pansophy.core.progress import FitTask  # noqa: E402

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


def test_full_batch_small_steps_lower_the_loss(data):
    result = train(
        Linear(), data, epochs=50, batch_size=40, optimiser=nn.SGD(0.01), shuffle=False
    )
    assert (np.diff(result.history["loss"]) < 0).all()


def test_an_epoch_may_end_inside_a_pass(data, tmp_path):
    options = {"batch_size": 7, "steps_per_epoch": 4}  # a pass is 6 batches
    whole = train(Linear(), data, epochs=5, **options)
    train(Linear(), data, epochs=2, checkpoint=tmp_path / "c", **options)
    rest = train(
        Linear(), data, epochs=5, checkpoint=tmp_path / "c", resume=True, **options
    )
    assert whole.state.step == rest.state.step == 20
    assert torch.equal(whole.state.net.w, rest.state.net.w)


def scripted(values):
    """`evaluate` that reports these values, one per epoch."""
    stream = iter(values)
    return lambda net: {"score": next(stream)}


def test_early_stopping_on_own_data_by_loss(rng):
    X, V = rng.normal(size=(2, 30, 20))
    w = rng.normal(size=(20, 1))
    noisy = lambda Z: (Z, Z @ w + 3 * rng.normal(size=(30, 1)))
    result = train(
        Linear(20),
        noisy(X),
        epochs=500,
        batch_size=30,
        valid=noisy(V),
        stop=nn.EarlyStopping(patience=5),
        optimiser=nn.Adam(0.05),
    )
    curve = result.history["valid_loss"]
    assert result.reason == "tolerance" and len(curve) == result.n_iter < 500
    assert curve.argmin() == len(curve) - 7  # six epochs in a row were no better


def test_interrupted_run_is_usable(data):
    calls = []

    def pull(net):
        calls.append(1)
        if len(calls) == 7:
            raise KeyboardInterrupt

    result = train(Linear(), data, epochs=9, batch_size=10, after_step=pull)
    assert result.interrupted and result.n_iter == 1
    assert torch.isfinite(result.state.net.w).all()


def test_divergence_keeps_the_last_finite_weights(data):
    rule = nn.SGD(1e80)
    result = train(Linear(), data, epochs=9, batch_size=40, optimiser=rule)
    assert result.reason == "diverged"
    assert torch.isfinite(result.state.net.w).all()
    assert np.isfinite(result.history["loss"]).all()


def test_callback_may_stop(data):
    class Root:
        def subcontext(self, **_):
            return self

        def call_on_fit_task_begin(self, **_):
            pass

        def call_on_fit_task_end(self, **_):
            return True

    result = train(Linear(), data, epochs=9, task=FitTask(Root()))
    assert result.reason == "callback" and result.n_iter == 1


def test_clipped_gradient_has_the_given_norm(data):
    rule = nn.SGD(1.0)
    net = Linear()
    train(net, data, epochs=1, batch_size=40, optimiser=rule, clip=1e-3)
    moved = torch.cat([net.w.detach().view(-1), net.b.detach()])
    assert float(moved.norm()) == pytest.approx(1e-3, rel=1e-6)


def test_bfloat16_trains(data):
    wide = tuple(a.astype(np.float32) for a in data)
    net = Linear().float()
    result = train(net, wide, epochs=200, amp=True, optimiser=nn.Adam(0.05))
    assert net.w.dtype == torch.float32
    assert result.history["loss"][-1] < 0.01


def test_two_optimisers_move_only_their_own(data):
    class Pair(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(3, 1).double()
            self.b = torch.nn.Linear(3, 1).double()

        def losses(self, batch):
            one, two = self.a(batch[0]), self.b(batch[0])
            return {
                "a": (one - two).square().mean(),
                "b": (two - batch[1]).square().mean(),
            }

    rules = {"a": nn.SGD(0.0), "b": nn.SGD(0.1)}
    net = Pair()
    before = net.a.weight.detach().clone(), net.b.weight.detach().clone()
    result = train(net, data, epochs=2, optimiser=rules)
    assert torch.equal(net.a.weight, before[0])
    assert not torch.equal(net.b.weight, before[1])
    assert set(result.history) == {"loss", "a", "b", "rows_per_second"}
    with pytest.raises(ValueError, match=r"losses without an optimiser: \['b'\]"):
        train(Pair(), data, optimiser={"a": nn.SGD(0.1)})


class Critic(torch.nn.Module):
    """Two names: the critic steps always, the actor at every third call."""

    def __init__(self):
        super().__init__()
        self.critic = torch.nn.Linear(3, 1).double()
        self.actor = torch.nn.Linear(3, 1).double()
        self.calls = 0

    def losses(self, batch):
        self.calls += self.training
        losses = {"critic": (self.critic(batch[0]) - batch[1]).square().mean()}
        if self.calls % 3 == 0:
            losses["actor"] = lambda: self.actor(batch[0]).square().mean()
        return losses


def test_a_name_that_is_absent_does_not_step(data):
    net = Critic()
    moves = []
    weight = net.actor.weight.detach().clone()

    def watch(net):
        moves.append(not torch.equal(net.actor.weight, weight))
        weight.copy_(net.actor.weight.detach())

    rules = {"critic": nn.SGD(0.1), "actor": nn.Adam(0.1)}
    result = train(
        net, data, epochs=4, batch_size=20, optimiser=rules, after_step=watch
    )
    assert moves == [False, False, True, False, False, True, False, False]
    assert np.isnan(result.history["actor"]).tolist() == [True, False, False, True]
    assert np.isfinite(result.history["loss"]).all()
    assert result.reason == "finished"


def test_a_parameter_of_two_losses_is_refused_by_name(data):
    class Shared(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.trunk = torch.nn.Linear(3, 2).double()
            self.a = torch.nn.Linear(2, 1).double()
            self.b = torch.nn.Linear(2, 1).double()

        def groups(self):
            body = list(self.trunk.parameters())
            return {n: [*body, *getattr(self, n).parameters()] for n in "ab"}

        def losses(self, batch):
            h = self.trunk(batch[0])
            return {n: getattr(self, n)(h).square().mean() for n in "ab"}

    rules = {"a": nn.SGD(0.1), "b": nn.SGD(0.1)}
    with pytest.raises(ValueError, match=r"'trunk.weight' belongs to two losses"):
        train(Shared(), data, optimiser=rules)
    assert train(Shared(), data, optimiser=nn.SGD(0.1), epochs=1).reason == "finished"


def test_graph_is_kept_only_while_a_tensor_needs_it(data):
    kept = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            kept.append(torch._C._current_graph_task_id() >= 0 and keeps_graph())
            return g

    def keeps_graph():
        import inspect

        frame = inspect.currentframe()
        while frame is not None:
            if frame.f_code.co_name == "_backward_of":
                return frame.f_locals["retain_graph"]
            frame = frame.f_back
        return None

    class Three(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name in "abc":
                setattr(self, name, torch.nn.Linear(3, 1).double())

        def losses(self, batch):
            value = lambda n: Watched.apply(getattr(self, n)(batch[0])).square().mean()
            return {"a": value("a"), "b": value("b"), "c": lambda: value("c")}

    rules = {name: nn.SGD(0.1) for name in "abc"}
    train(Three(), data, optimiser=rules, epochs=1, batch_size=40)
    assert kept == [True, False, False]


@pytest.mark.parametrize("make", ["mlp", "linear"])
def test_accumulated_batches_are_one_batch(make, data):
    def net():
        if make == "linear":
            return Linear()
        coefs, intercepts = nn.glorot_uniform([3, 5, 1], np.random.default_rng(0))
        return nn.MLP(coefs, intercepts, head="identity", activation="tanh")

    options = {"epochs": 3, "optimiser": nn.Adam(0.1), "clip": 0.5}
    large = train(net(), data, batch_size=16, **options)
    small = train(net(), data, batch_size=4, accumulate=4, **options)
    assert small.state.step == large.state.step == 9  # the last of each pass is half
    for a, b in zip(large.state.net.parameters(), small.state.net.parameters()):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)
    assert small.history["loss"] == pytest.approx(large.history["loss"], rel=1e-12)


def test_accumulation_by_name_steps_once_a_window(data):
    rules = {"critic": nn.SGD(0.1), "actor": nn.SGD(0.1)}
    torch.manual_seed(0)
    large, small = Critic(), Critic()
    small.load_state_dict(large.state_dict())
    for net in (large, small):
        net.calls = -(10**9)  # a multiple of three is far: only the critic steps
    train(large, data, epochs=2, batch_size=20, optimiser=rules)
    train(small, data, epochs=2, batch_size=5, accumulate=4, optimiser=rules)
    torch.testing.assert_close(large.critic.weight, small.critic.weight)


def test_batches_count_by_the_weight_the_net_gives(rng):
    """A net that averages over marked rows counts batches by their marks."""

    class Marked(Linear):
        def losses(self, batch):
            X, Y, mark = batch
            error = (X @ self.w + self.b - Y).square()[:, 0]
            return {"loss": (error * mark).sum() / mark.sum()}

        def batch_weight(self, batch):
            return float(batch[2].sum())

    X = rng.normal(size=(24, 3))
    mark = (np.arange(24) % 5 != 0).astype(float)
    rows = (X, X[:, :1] + 0.1, mark)
    options = {"epochs": 2, "shuffle": False, "optimiser": nn.SGD(0.1), "valid": rows}
    large = train(Marked(), rows, batch_size=24, **options)
    small = train(Marked(), rows, batch_size=7, accumulate=4, **options)
    torch.testing.assert_close(large.state.net.w, small.state.net.w)
    for name in ("loss", "valid_loss"):
        assert small.history[name] == pytest.approx(large.history[name], rel=1e-12)


def test_clipping_by_value_bounds_every_entry(data):
    net = Linear()
    train(net, data, epochs=1, batch_size=40, optimiser=nn.SGD(1.0), clip_value=1e-3)
    moved = torch.cat([net.w.detach().view(-1), net.b.detach()]).abs()
    assert float(moved.max()) == pytest.approx(1e-3, rel=1e-6)


def test_a_loss_of_two_digits_is_refused(data):
    class Rough(Linear):
        def losses(self, batch):
            return {"error": (batch[0] @ self.w).square().mean().bfloat16()}

    with pytest.raises(ValueError, match=r"'error' is of type torch\.bfloat16"):
        train(Rough(), data)


def test_speed_is_in_the_history(data):
    coefs, intercepts = nn.glorot_uniform([3, 5, 1], np.random.default_rng(0))
    net = nn.MLP(coefs, intercepts, head="identity")
    history = train(net, data, epochs=2).history
    flops = net.flops(1) * history["rows_per_second"]
    assert history["flops_per_second"] == pytest.approx(flops)


def test_a_large_net_is_not_copied_after_short_epochs(data, monkeypatch):
    module = sys.modules["pansophy.nn.train"]
    monkeypatch.setattr(module, "SMALL_NET", 0)
    copies = []
    original = module.copy_weights

    def counting(net):
        copies.append(1)
        return original(net)

    monkeypatch.setattr(module, "copy_weights", counting)
    train(Linear(), data, epochs=40, batch_size=40)
    assert len(copies) == 3  # at the start and after each 20 steps


def test_the_program_s_random_numbers_are_kept(data):
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    train(Linear(), data, epochs=1)
    assert torch.equal(torch.rand(3), wanted)


def test_checkpoint_of_another_run_is_refused(data, tmp_path):
    file = tmp_path / "run"
    train(Linear(), data, epochs=1, checkpoint=file, tag="one")
    with pytest.raises(ValueError, match="belongs to another run"):
        train(Linear(), data, epochs=2, checkpoint=file, resume=True, tag="two")


def test_resuming_a_stopped_run_changes_nothing(data, tmp_path):
    stop = nn.EarlyStopping("score", patience=1)
    options = {"stop": stop, "checkpoint": tmp_path / "run", "epochs": 50}
    values = [3.0, 1.0, 2.0, 2.0, 0.5]
    first = train(Linear(), data, **options, evaluate=scripted(values))
    again = train(Linear(), data, **options, evaluate=scripted(values), resume=True)
    assert first.reason == again.reason == "tolerance" and again.n_iter == 4
    assert torch.equal(first.state.net.w, again.state.net.w)
