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
