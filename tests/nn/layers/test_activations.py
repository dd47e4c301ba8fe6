"""Activations and their derivatives."""

import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402

torch.set_num_threads(1)  # nets this small lose time to a second thread


def test_activation_values():
    at = lambda name, z: float(nn.ACTIVATIONS[name].value(torch.tensor(z).double()))
    assert at("logistic", -2.0) == pytest.approx(0.119203, abs=1e-6)
    assert at("tanh", -2.0) == pytest.approx(-0.964028, abs=1e-6)
    assert at("relu", -2.0) == 0
    assert at("leaky", -2.0) == pytest.approx(-0.2, abs=1e-6)
    assert at("elu", -2.0) == pytest.approx(-0.864665, abs=1e-6)
    assert at("leaky", -0.5) == pytest.approx(-0.05, abs=1e-6)
    assert at("elu", -0.5) == pytest.approx(-0.393469, abs=1e-6)
    assert at("tanh", 0.7) == pytest.approx(2 * at("logistic", 1.4) - 1)


@pytest.mark.parametrize("name", nn.ACTIVATIONS)
def test_slopes_against_autograd(name):
    g = nn.ACTIVATIONS[name]
    Z = torch.linspace(-3, 3, 14, dtype=torch.float64, requires_grad=True)
    H = g.value(Z)
    G = torch.linspace(1, 2, 14, dtype=torch.float64)
    H.backward(G)
    torch.testing.assert_close(g.backward(G, H.detach()), Z.grad)
    torch.testing.assert_close(g.apply_(Z.detach().clone()), H.detach())


def test_steps_have_no_slope():
    Z = torch.tensor([-1.0, 0.0, 2.0])
    step, sign = nn.activations.THRESHOLDS["step"], nn.activations.THRESHOLDS["sign"]
    assert step.value(Z).tolist() == [0, 0, 1] and sign.value(Z).tolist() == [-1, 1, 1]
    assert not step.slope(Z).any() and not sign.differentiable


def test_modules_of_activations():
    at = lambda layer, z: float(layer(torch.tensor(z).double()))
    assert at(nn.LeakyReLU(), -2.0) == pytest.approx(-0.2)
    assert at(nn.LeakyReLU(), -0.5) == pytest.approx(-0.05)
    assert at(nn.LeakyReLU(0.0), -2.0) == 0 and at(nn.LeakyReLU(), 3.0) == 3
    assert at(nn.ELU(), -2.0) == pytest.approx(-0.864665, abs=1e-6)
    assert at(nn.ELU(), -0.5) == pytest.approx(-0.393469, abs=1e-6)
    assert at(nn.ELU(2.0), -2.0) == pytest.approx(2 * -0.864665, abs=1e-5)
    with pytest.raises(ValueError, match="slope of LeakyReLU"):
        nn.LeakyReLU(1.5)
    with pytest.raises(ValueError, match="a of ELU"):
        nn.ELU(-1.0)


def test_maxout_of_zero_and_identity_is_relu():
    layer = nn.Maxout(3, 3).double()
    with torch.no_grad():
        layer.weight.copy_(torch.stack([torch.zeros(3, 3), torch.eye(3)]))
        layer.bias.zero_()
    X = torch.randn(4, 5, 3, dtype=torch.float64)
    torch.testing.assert_close(layer(X), torch.relu(X))
    wide = nn.Maxout(3, 2, pieces=4).double()
    out = wide(X[0])
    by_hand = torch.stack([X[0] @ W + b for W, b in zip(wide.weight, wide.bias)])
    torch.testing.assert_close(out, by_hand.max(0).values)
    # convex: the value at a midpoint is at most the mean of the values
    a, b = X[0], X[1]
    assert (wide((a + b) / 2) <= (wide(a) + wide(b)) / 2 + 1e-12).all()
