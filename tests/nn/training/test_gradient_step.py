"""One step of training: losses by name, clipping, and gradients over batches."""

from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402
from pansophy.nn.training.gradient_step import (  # noqa: E402
    GradientStep,
    LossTotals,
    parameters_of_loss,
    refuse_shared_parameters,
)
from pansophy.nn.training.parallel import SingleProcess  # noqa: E402
from tests.nn.linear_net import LinearNet, train  # noqa: E402

torch.set_num_threads(1)  # nets this small lose time to a second thread


def tensors(data, start=0, stop=None):
    return tuple(torch.as_tensor(a[start:stop]) for a in data)


def one_step(net, batches, rule, scale=1.0, **options):
    """The totals after one step."""
    totals = LossTotals()
    step = GradientStep(net, rule, totals, **options)
    with step.grad_mode():
        step(batches, scale)
    return totals


def test_totals_are_means_over_rows():
    totals = LossTotals()
    totals.add("a", torch.tensor(1.0), 3)
    totals.add("a", torch.tensor(5.0), 1)
    totals.add("b", torch.tensor(7.0), 2)
    assert totals.sums["a"].dtype == torch.float64
    assert totals.means(SingleProcess()) == {"a": 2.0, "b": 7.0}
    assert totals.means(SingleProcess()) == {}  # a fresh start
    totals.add("b", torch.tensor(3.0), 4)
    assert totals.means(SingleProcess()) == {"b": 3.0}


def gradient_by_hand(data):
    """Of the mean squared error at weights of 0."""
    X, Y = data
    return -2 * X.T @ Y / len(X), -2 * Y.mean()


def test_a_step_goes_down_the_gradient(data):
    net = LinearNet()
    totals = one_step(net, [(tensors(data), 40)], nn.SGD(0.1), scale=0.5)
    w, b = gradient_by_hand(data)
    np.testing.assert_allclose(net.w.detach().numpy(), -0.05 * w, rtol=1e-12)
    np.testing.assert_allclose(net.b.detach().numpy(), -0.05 * b, rtol=1e-12)
    means = totals.means(SingleProcess())
    assert means == {"loss": pytest.approx(np.mean(data[1] ** 2), rel=1e-12)}


def test_batches_count_by_their_rows(data):
    """Eq. (1): batches of 30 and 10 rows are one batch of 40."""
    batches = [(tensors(data, 0, 30), 30), (tensors(data, 30), 10)]
    net = LinearNet()
    totals = one_step(net, batches, nn.SGD(0.1))
    w, _ = gradient_by_hand(data)
    np.testing.assert_allclose(net.w.detach().numpy(), -0.1 * w, rtol=1e-12)
    want = pytest.approx(np.mean(data[1] ** 2), rel=1e-12)
    assert totals.means(SingleProcess()) == {"loss": want}


def test_all_losses_are_summed_for_one_optimiser(data):
    class Twice(LinearNet):
        def losses(self, batch):
            (loss,) = super().losses(batch).values()
            return {"plain": loss, "later": lambda: 2 * loss}

    net = Twice()
    totals = one_step(net, [(tensors(data), 40)], nn.SGD(0.1))
    w, _ = gradient_by_hand(data)
    np.testing.assert_allclose(net.w.detach().numpy(), -0.3 * w, rtol=1e-12)
    means = totals.means(SingleProcess())
    assert means["later"] == pytest.approx(2 * means["plain"], rel=1e-12)


def test_losses_may_be_given(data):
    net = LinearNet()
    given = lambda batch: {"other": 3 * net.losses(batch)["loss"]}
    totals = one_step(net, [(tensors(data), 40)], nn.SGD(0.1), losses=given)
    assert list(totals.sums) == ["other"]
    w, _ = gradient_by_hand(data)
    np.testing.assert_allclose(net.w.detach().numpy(), -0.3 * w, rtol=1e-12)


class OwnGradients(LinearNet):
    """The same net, which writes its gradients itself."""

    has_manual_gradients = True

    def gradients(self, batch):
        X, Y = batch
        error = X @ self.w + self.b - Y
        self.w.grad.copy_(2 * X.T @ error / len(X))
        self.b.grad.copy_(2 * error.mean(0))
        assert not torch.is_grad_enabled()
        return {"loss": error.square().mean()}


@pytest.mark.parametrize("cuts", [(0, 40), (0, 30, 40), (0, 5, 6, 40)])
def test_own_gradients_are_those_of_autograd(cuts, data):
    batches = [(tensors(data, a, b), b - a) for a, b in pairwise(cuts)]
    plain, own = LinearNet(), OwnGradients()
    for net in (plain, own):
        one_step(net, batches, nn.SGD(0.1))
    torch.testing.assert_close(plain.w, own.w, rtol=1e-12, atol=0)
    torch.testing.assert_close(plain.b, own.b, rtol=1e-12, atol=0)


def test_short_gradients_are_not_clipped(data):
    w, b = gradient_by_hand(data)
    norm = float(np.sqrt((w**2).sum() + b**2))
    free, clipped, loose = LinearNet(), LinearNet(), LinearNet()
    one_step(free, [(tensors(data), 40)], nn.SGD(0.1))
    one_step(loose, [(tensors(data), 40)], nn.SGD(0.1), clip=1.01 * norm)
    one_step(clipped, [(tensors(data), 40)], nn.SGD(0.1), clip=0.5 * norm)
    torch.testing.assert_close(free.w, loose.w, rtol=0, atol=0)
    torch.testing.assert_close(0.5 * free.w, clipped.w, rtol=1e-9, atol=0)


def test_functions_are_called_after_the_tensors_have_stepped(data):
    """The loss of b sees the weights of a after their step."""
    seen = []

    class Pair(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = LinearNet(), LinearNet()

        def losses(self, batch):
            def later():
                seen.append(self.a.w.detach().clone())
                return self.b.losses(batch)["loss"]

            return {"b": later, "a": self.a.losses(batch)["loss"]}

    net = Pair()
    rules = {"b": nn.SGD(0.1), "a": nn.SGD(0.1)}
    one_step(net, [(tensors(data), 40)], rules)
    w, _ = gradient_by_hand(data)
    np.testing.assert_allclose(seen[0].numpy(), -0.1 * w, rtol=1e-12)
    torch.testing.assert_close(net.a.w, net.b.w, rtol=0, atol=0)


def test_parameters_of_a_loss():
    class Pair(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = LinearNet(), LinearNet()

    net = Pair()
    assert list(parameters_of_loss(net, "")) == ["a.w", "a.b", "b.w", "b.b"]
    assert list(parameters_of_loss(net, "b")) == ["b.w", "b.b"]
    net.groups = lambda: {"b": [net.a.w], "other": [torch.nn.Parameter(torch.ones(1))]}
    assert parameters_of_loss(net, "b") == {"a.w": net.a.w}
    assert list(parameters_of_loss(net, "other")) == ["other.0"]  # outside of the net


def test_frozen_parameters_may_be_shared():
    p = torch.nn.Parameter(torch.ones(1))
    shared = {"a": {"p": p}, "b": {"p": p}}
    with pytest.raises(ValueError, match="'p' belongs to two losses, 'a' and 'b'"):
        refuse_shared_parameters(shared)
    p.requires_grad_(False)
    refuse_shared_parameters(shared)


def test_clipped_gradient_has_the_given_norm(data):
    rule = nn.SGD(1.0)
    net = LinearNet()
    train(net, data, epochs=1, batch_size=40, optimiser=rule, clip=1e-3)
    moved = torch.cat([net.w.detach().view(-1), net.b.detach()])
    assert float(moved.norm()) == pytest.approx(1e-3, rel=1e-6)


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
            return LinearNet()
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


def test_clipping_by_value_bounds_every_entry(data):
    net = LinearNet()
    train(net, data, epochs=1, batch_size=40, optimiser=nn.SGD(1.0), clip_value=1e-3)
    moved = torch.cat([net.w.detach().view(-1), net.b.detach()]).abs()
    assert float(moved.max()) == pytest.approx(1e-3, rel=1e-6)


def test_a_loss_of_two_digits_is_refused(data):
    class Rough(LinearNet):
        def losses(self, batch):
            return {"error": (batch[0] @ self.w).square().mean().bfloat16()}

    with pytest.raises(ValueError, match=r"'error' is of type torch\.bfloat16"):
        train(Rough(), data)
