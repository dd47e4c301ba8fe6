"""Averages of weights: the rules, and what training makes of them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402
from pansophy.nn.training.weight_average import AveragedWeights  # noqa: E402

torch.set_num_threads(1)  # nets this small lose time to a second thread


class Linear(torch.nn.Module):
    """y = X w + b on squared error, with a count and a running mean."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(3, 1, dtype=torch.float64))
        self.register_buffer("mean", torch.zeros((), dtype=torch.float64))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def losses(self, batch):
        X, Y = batch
        if self.training:
            self.calls += 1
            self.mean.lerp_(X.mean(), 0.1)
        return {"loss": (X @ self.w - Y).square().mean()}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(40, 3))
    return X, X @ np.array([[1.0], [-2.0], [0.5]])


def train(net, data, **options):
    return nn.train(
        net, data, **{"device": "cpu", "seed": 0, "batch_size": 8, **options}
    )


KINDS = [
    nn.WeightAverage("ema", 0.9),
    nn.WeightAverage("polyak", start=3, every=2),
    nn.WeightAverage("swa", start=1),
]


@pytest.mark.parametrize("rule", KINDS)
def test_constant_weights_are_unchanged(rule, data):
    net = Linear()
    with torch.no_grad():
        net.w.fill_(1 / 3)
    train(net, data, epochs=4, optimiser=nn.SGD(0.0), average=rule)
    assert torch.equal(net.w, torch.full_like(net.w, 1 / 3))


@pytest.mark.parametrize("rule", KINDS)
def test_the_average_is_that_of_the_visited_weights(rule, data):
    visited = []
    net = Linear()
    watch = lambda net: visited.append(net.w.detach().clone())
    train(net, data, epochs=4, average=rule, after_step=watch)  # 5 steps an epoch
    if rule.kind == "swa":
        wanted = torch.stack(visited[9::5]).mean(0)  # ends of epochs 2, 3 and 4
    elif rule.kind == "polyak":
        wanted = torch.stack(visited[3::2]).mean(0)
    else:
        wanted = visited[0]
        for n, w in enumerate(visited[1:], 1):
            d = min(0.9, (1 + n) / (10 + n))
            wanted = d * wanted + (1 - d) * w
    torch.testing.assert_close(net.w.detach(), wanted, rtol=1e-12, atol=1e-14)
    assert net.calls.item() == 20  # whole numbers are not averaged


@pytest.mark.parametrize("rule", KINDS)
def test_averages_survive_a_resumed_run(rule, data, tmp_path):
    options = {"average": rule, "valid": data, "optimiser": nn.Adam(0.05)}
    whole = train(Linear(), data, epochs=6, **options)
    file = tmp_path / "run"
    train(Linear(), data, epochs=3, checkpoint=file, **options)
    rest = train(Linear(), data, epochs=6, checkpoint=file, resume=True, **options)
    assert torch.equal(whole.state.net.w, rest.state.net.w)
    assert torch.equal(whole.state.net.mean, rest.state.net.mean)
    assert np.array_equal(whole.history["valid_loss"], rest.history["valid_loss"])


def test_validation_and_evaluation_see_the_average(data):
    seen = []

    def evaluate(net):
        seen.append(net.w.detach().clone())
        return {}

    net = Linear()
    rule = nn.WeightAverage("polyak")
    raw = []
    watch = lambda net: raw.append(net.w.detach().clone())
    options = {"evaluate": evaluate, "after_step": watch, "valid": data}
    result = train(net, data, epochs=2, average=rule, **options)
    torch.testing.assert_close(seen[0], torch.stack(raw[:5]).mean(0))
    assert torch.equal(seen[1], net.w)
    X, Y = map(torch.as_tensor, data)
    error = (X @ net.w - Y).square().mean().item()
    assert result.history["valid_loss"][-1] == pytest.approx(error, rel=1e-12)
    # the steps themselves went on from the weights, not from the average
    plain = train(Linear(), data, epochs=2)
    assert torch.equal(plain.state.net.w, raw[-1])


def test_the_best_epoch_is_restored_with_its_average(data):
    seen = []

    def evaluate(net):
        seen.append(net.w.detach().clone())
        return {"score": [3.0, 1.0, 2.0, 2.5][len(seen) - 1]}

    stop = nn.EarlyStopping("score", patience=1)
    net = Linear()
    options = {"evaluate": evaluate, "stop": stop, "average": nn.WeightAverage()}
    train(net, data, epochs=9, **options)
    assert len(seen) == 4 and torch.equal(net.w, seen[1])


def test_before_the_first_average_the_weights_stand(data):
    rule = nn.WeightAverage("swa", start=99)
    net = train(Linear(), data, epochs=2, average=rule).state.net
    assert torch.equal(net.w, train(Linear(), data, epochs=2).state.net.w)


def test_fields_are_checked():
    for rule, word in [
        (nn.WeightAverage("mean"), "kind"),
        (nn.WeightAverage(decay=1.0), "decay"),
        (nn.WeightAverage(every=0), "every"),
    ]:
        with pytest.raises(ValueError, match=word):
            AveragedWeights(rule, Linear())
