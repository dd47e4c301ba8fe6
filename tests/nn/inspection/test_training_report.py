"""The doctor of training runs."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402

torch.set_num_threads(1)


class SigmoidOutput(torch.nn.Module):
    """One logistic unit with squares or with cross-entropy."""

    def __init__(self, loss):
        super().__init__()
        self.linear = torch.nn.Linear(1, 1).double()
        self.squash = torch.nn.Sigmoid() if loss == "squares" else torch.nn.Identity()
        self.loss = loss
        with torch.no_grad():
            self.linear.weight.fill_(20.0)
            self.linear.bias.fill_(0.0)

    def losses(self, batch):
        X, Y = batch
        out = self.squash(self.linear(X))
        if self.loss == "squares":
            return {"loss": (out - Y).square().mean() / 2}
        bce = torch.nn.functional.binary_cross_entropy_with_logits
        return {"loss": bce(out, Y)}


def test_squares_vanish_for_confident_wrong_answers_and_cross_entropy_does_not():
    batch = np.ones((4, 1)), np.zeros((4, 1))  # the unit says 1, surely
    squares = nn.saturation_report(SigmoidOutput("squares"), batch)
    entropy = nn.saturation_report(SigmoidOutput("entropy"), batch)
    assert squares.saturated_layers == ["squash"] and squares.gradient_norm < 1e-7
    assert squares.loss == pytest.approx(0.5)
    assert entropy.saturated_layers == [] and entropy.gradient_norm > 1
    assert "100% of the slopes flat" in str(squares)


def test_dead_and_saturated_units_are_counted(rng):
    X = rng.uniform(0, 1, (50, 2))
    coefs = [np.array([[1.0, -1.0, 1.0], [1.0, -1.0, 0.5]]), np.ones((3, 1))]
    net = nn.MLP(coefs, [np.zeros(3), np.zeros(1)], head="identity")
    report = nn.saturation_report(net, (X, X[:, :1]))
    assert report.layers[0].dead == 1 and report.layers[0].units == 3
    assert report.layers[0].saturated == pytest.approx(1 / 3)
    steep = nn.MLP([50 * coefs[0], coefs[1]], [np.zeros(3), np.zeros(1)],
                   head="identity", activation="tanh")  # fmt: skip
    assert nn.saturation_report(steep, (X + 0.1, X[:, :1])).saturated_layers
    assert net.training  # left as it was


def test_gradients_reported_are_those_of_autograd(rng):
    X = rng.normal(size=(20, 3))
    net = nn.MLP(*nn.glorot_uniform([3, 4, 1], rng), head="identity")
    report = nn.saturation_report(net, (X, X[:, :1]))
    net.losses((torch.as_tensor(X), torch.as_tensor(X[:, :1])))["loss"].backward()
    for name, p in net.named_parameters():
        assert report.gradient_norms[name] == pytest.approx(float(p.grad.norm()))


class Odd(torch.nn.Module):
    """A deep sigmoid net with a parameter nobody uses."""

    def __init__(self, depth=12):
        super().__init__()
        torch.manual_seed(0)
        self.unused = torch.nn.Linear(2, 2)
        layers = [torch.nn.Linear(2, 8)]
        for _ in range(depth):
            layers += [torch.nn.Sigmoid(), torch.nn.Linear(8, 8)]
        self.body = torch.nn.Sequential(*layers)

    def losses(self, batch):
        return {"loss": (self.body(batch[0]) - batch[1]).square().mean()}


def test_report_finds_what_is_wrong(rng):
    X = rng.normal(size=(60, 2)).astype(np.float32)
    data = (X, np.repeat(X[:, :1], 8, axis=1))
    net = Odd()
    before = {k: v.clone() for k, v in net.state_dict().items()}
    report = nn.training_report(net, data, steps=6, seed=0, device="cpu")
    assert report.found("untouched parameter") == ["unused.weight", "unused.bias"]
    assert "body.0.weight" in report.found("vanishing gradient")
    assert all(torch.equal(before[k], v) for k, v in net.state_dict().items())
    assert "is it used" in str(report) and len(report.loss) == 6
    large = nn.training_report(
        Odd(1), data, steps=4, optimiser=nn.Adam(3.0), seed=0, device="cpu"
    )
    assert large.found("steps too large")
    small = nn.training_report(
        Odd(1), data, steps=4, optimiser=nn.SGD(1e-12), seed=0, device="cpu"
    )
    assert small.found("steps too small")


def test_report_of_a_run_that_overflows(rng):
    X = rng.normal(size=(30, 2))
    net = nn.MLP(*nn.glorot_uniform([2, 4, 1], rng), head="identity")
    report = nn.training_report(
        net, (X, X[:, :1]), optimiser=nn.SGD(1e150), seed=0, device="cpu"
    )
    assert report.found("gradient or loss not finite")[0] == "loss"


def test_report_finds_dead_units(rng):
    X = rng.uniform(0, 1, (50, 2))
    coefs, intercepts = nn.glorot_uniform([2, 20, 1], rng)
    coefs[0][:, :5] = -1.0
    intercepts[0][:5] = -0.1
    net = nn.MLP(coefs, intercepts, head="identity")
    report = nn.training_report(net, (X, X[:, :1]), steps=3, seed=0, device="cpu")
    assert report.found("dead units") == ["hidden layer 1"]


def test_range_test_brackets_good_rates(rng):
    X = rng.normal(size=(200, 3))
    data = (X, X @ np.array([[1.0], [-2.0], [0.5]]))
    net = nn.MLP([np.zeros((3, 1))], [np.zeros(1)], head="identity")
    found = nn.learning_rate_range_test(
        net, data, optimiser=nn.SGD(), batch_size=200, seed=0, device="cpu", high=1e4
    )
    limit = 2 / np.linalg.eigvalsh(X.T @ X / 200).max()  # gradient descent diverges
    assert limit / 100 < found.suggestion < limit
    assert found.diverged or found.losses[-1] > found.losses[0]
    assert np.allclose(np.diff(np.log(found.rates)), np.log(found.rates[1] / 1e-7))
    assert not net.weights[0].any() and "try" in str(found)
    with pytest.raises(ValueError, match="one optimiser"):
        nn.learning_rate_range_test(net, data, optimiser={"loss": nn.SGD()})


def test_noise_of_the_first_batches_is_no_fall_of_the_loss():
    """Small rates do nothing, so whatever the seed the best rate is a large one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(256, 5))
    y = (X[:, 0] > 0).astype(np.int64)
    net = nn.MLP(*nn.glorot_uniform([5, 16, 2], rng), head="softmax")
    for seed in range(8):
        found = nn.learning_rate_range_test(
            net, (X, y), seed=seed, device="cpu", batch_size=16
        )
        assert 1e-3 < found.suggestion < 1
