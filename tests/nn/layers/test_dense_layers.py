"""Dense layers: the map by hand, the start by the rule of the activation."""

import pytest

torch = pytest.importorskip("torch")

from pansophy.nn import DenseLayers  # noqa: E402


def test_the_map_by_hand():
    net = DenseLayers([2, 3, 1], activation="tanh")
    x = torch.randn(4, 2)
    (W, V) = (layer.weight for layer in net.layers)
    torch.testing.assert_close(net(x), torch.tanh(x @ W.T) @ V.T)
    assert net(torch.zeros(5, 4, 2)).shape == (5, 4, 1)
    assert net.flops(10) == 6 * 10 * (2 * 3 + 3 * 1)
    assert all((layer.bias == 0).all() for layer in net.layers)


@pytest.mark.parametrize(
    ("activation", "variance"), [("relu", 2 / 400), ("tanh", 1 / 400)]
)
def test_weights_start_by_the_rule_of_the_activation(activation, variance):
    torch.manual_seed(0)
    net = DenseLayers([400, 400, 400], activation=activation)
    hidden, last = (float(layer.weight.detach().var()) for layer in net.layers)
    assert hidden == pytest.approx(variance, rel=0.03)
    assert last == pytest.approx(1 / 400, rel=0.03)  # no activation behind it
