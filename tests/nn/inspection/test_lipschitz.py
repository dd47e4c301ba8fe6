"""Lipschitz bounds from both sides, and spectral normalisation."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy.nn import (  # noqa: E402
    MLPField,
    ResidualNet,
    SpectralNorm,
    lipschitz_bound,
    lipschitz_estimate,
)


class Abs(torch.nn.Module):
    def forward(self, x):
        return x.abs()


def test_absolute_value_has_constant_one():
    x = torch.linspace(-2, 2, 41)[:, None]
    assert lipschitz_estimate(torch.abs, x) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="two different rows"):
        lipschitz_estimate(torch.abs, torch.ones(3, 1))


def test_bound_is_the_product_and_holds():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(5, 8),
        torch.nn.Tanh(),
        torch.nn.Linear(8, 3),
        torch.nn.Sigmoid(),
    )
    norms = [float(np.linalg.norm(net[i].weight.detach().numpy(), 2)) for i in (0, 2)]
    bound = lipschitz_bound(net)
    assert bound == pytest.approx(norms[0] * norms[1] * 0.25, rel=1e-5)
    assert lipschitz_estimate(net, torch.randn(60, 5)) <= bound


def test_residual_nets_and_fields():
    torch.manual_seed(0)
    layer = torch.nn.Linear(4, 4)
    s = float(torch.linalg.matrix_norm(layer.weight.detach(), 2))
    net = ResidualNet(layer, 3, scale=0.5)
    assert lipschitz_bound(net) == pytest.approx((1 + 0.5 * s) ** 3, rel=1e-5)
    assert lipschitz_estimate(net, torch.randn(40, 4)) <= lipschitz_bound(net)
    field = MLPField(4, (6,), rng=0)
    f = lambda y: field(0.0, y)
    assert lipschitz_estimate(f, torch.randn(40, 4)) <= lipschitz_bound(field)


@pytest.mark.parametrize(("stride", "padding"), [(1, 1), (2, 0)])
def test_convolution_is_the_linear_map_that_it_is(stride, padding):
    torch.manual_seed(0)
    conv = torch.nn.Conv2d(2, 3, 3, stride=stride, padding=padding).double()
    eye = torch.eye(2 * 6 * 6, dtype=torch.float64).view(-1, 2, 6, 6)
    with torch.no_grad():
        matrix = (conv(eye) - conv(torch.zeros_like(eye))).flatten(1)
    wanted = float(torch.linalg.matrix_norm(matrix, 2))
    assert lipschitz_bound(conv, (2, 6, 6)) == pytest.approx(wanted, rel=1e-6)
    normal = SpectralNorm(conv, input_shape=(2, 6, 6))
    for _ in range(100):
        normal(eye[:2])
    assert lipschitz_bound(normal, (2, 6, 6)) == pytest.approx(1, rel=1e-3)
    with pytest.raises(ValueError, match="input_shape"):
        lipschitz_bound(conv)


def test_normalised_layer_has_norm_one_whatever_its_scale():
    torch.manual_seed(0)
    x = torch.randn(7, 5)
    outputs = []
    for scale in (1.0, 100.0):
        layer = torch.nn.Linear(5, 4, bias=False)
        torch.manual_seed(3)
        layer.weight.data = scale * torch.randn(4, 5)
        wrapped = SpectralNorm(layer)
        for _ in range(100):
            outputs.append(wrapped(x))
        assert lipschitz_bound(wrapped) == pytest.approx(1, abs=1e-4)
    torch.testing.assert_close(outputs[99], outputs[-1], rtol=1e-4, atol=1e-5)
    net = torch.nn.Sequential(
        wrapped, torch.nn.ReLU(), SpectralNorm(torch.nn.Linear(4, 2))
    )
    for _ in range(100):
        net(x)
    assert lipschitz_bound(net) <= 1 + 1e-3
    assert lipschitz_estimate(net.eval(), torch.randn(50, 5)) <= 1 + 1e-3


def test_gradient_goes_through_the_norm():
    torch.manual_seed(0)
    wrapped = SpectralNorm(torch.nn.Linear(3, 3, bias=False).double())
    for _ in range(200):
        wrapped._iterate()
    wrapped.eval()
    x = torch.randn(4, 3, dtype=torch.float64)
    value = lambda: wrapped(x).square().sum()
    (g,) = torch.autograd.grad(value(), wrapped.layer.weight)
    # homogeneous of degree 0: the derivative along the weight itself is 0
    assert float((g * wrapped.layer.weight).sum().detach()) == pytest.approx(
        0, abs=1e-9
    )
    assert float(g.abs().max()) > 1e-3


def test_unknown_module_is_named():
    with pytest.raises(TypeError, match="Abs"):
        lipschitz_bound(torch.nn.Sequential(Abs()))
    with pytest.raises(TypeError, match="SpectralNorm takes"):
        SpectralNorm(torch.nn.ReLU())
