"""Transforms: inverse, log determinants against autograd, composition, masks."""

import pytest
import torch

from pansophy.generative.flows.flow_transforms import (
    AutoregressiveTransform,
    Composition,
    ContinuousTransform,
    CouplingTransform,
    LinearTransform,
    MaskedLayers,
    Permutation,
)

MAKERS = {
    "linear": lambda d, c: LinearTransform(d),
    "permutation": lambda d, c: Permutation(list(range(d))[::-1]),
    "affine coupling": lambda d, c: CouplingTransform(d, "affine", (8,), n_context=c),
    "spline coupling": lambda d, c: CouplingTransform(d, "spline", (8,), n_context=c),
    "affine autoregressive": lambda d, c: AutoregressiveTransform(
        d, "affine", (8,), n_context=c
    ),
    "spline autoregressive": lambda d, c: AutoregressiveTransform(
        d, "spline", (8, 8), n_context=c
    ),
    "continuous": lambda d, c: ContinuousTransform(d, (8,), n_steps=30, n_context=c),
    "composition": lambda d, c: Composition(
        [
            AutoregressiveTransform(d, "spline", (8,), n_context=c),
            Permutation(list(range(d))[::-1]),
            CouplingTransform(d, "affine", (8,), n_context=c),
            LinearTransform(d),
        ]
    ),
}
every_transform = pytest.mark.parametrize("name", list(MAKERS))


def stirred(name, d, n_context=0, dtype=torch.float64, size=0.3):
    torch.manual_seed(3)
    transform = MAKERS[name](d, n_context).to(dtype)
    for p in transform.parameters():
        p.data.add_(size * torch.randn_like(p))
    return transform


@every_transform
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("n_context", [0, 2])
def test_inverse_and_log_determinants(name, d, n_context):
    """Trap 13: both directions, against autograd, rows in the tails included."""
    f = stirred(name, d, n_context)
    x = 2 * torch.randn(6, d, dtype=torch.float64)
    x[0] = 7.0  # outside the box of splines
    y = torch.randn(6, n_context, dtype=torch.float64) if n_context else None
    with torch.no_grad():
        z, there = f.forward_and_logdet(x, y)
        back, home = f.inverse_and_logdet(z, y)
    near = 1e-5 if name == "continuous" else 1e-7
    torch.testing.assert_close(back, x, rtol=0, atol=near)
    torch.testing.assert_close(there, -home, rtol=0, atol=near)
    J = torch.autograd.functional.jacobian(
        lambda x: f.forward_and_logdet(x, y)[0].sum(0), x
    )
    truth = torch.linalg.slogdet(J.permute(1, 0, 2))[1]
    torch.testing.assert_close(there, truth, rtol=0, atol=1e-4 if near > 1e-6 else 1e-9)


@every_transform
def test_single_precision(name):
    # with 0.3 slopes go down to 1e-6, which single precision cannot invert
    f = stirred(name, 3, dtype=torch.float32, size=0.15)
    x = torch.randn(50, 3)
    with torch.no_grad():
        z, there = f.forward_and_logdet(x)
        back, home = f.inverse_and_logdet(z)
    torch.testing.assert_close(back, x, rtol=0, atol=1e-2)
    torch.testing.assert_close(there, -home, rtol=0, atol=0.1)


def test_log_determinants_add():
    parts = [stirred(n, 3) for n in ("linear", "spline coupling", "affine coupling")]
    x = torch.randn(4, 3, dtype=torch.float64)
    total, z = torch.zeros(4, dtype=torch.float64), x
    for part in parts:
        z, logdet = part.forward_and_logdet(z)
        total = total + logdet
    end, whole = Composition(parts).forward_and_logdet(x)
    torch.testing.assert_close(end, z)
    torch.testing.assert_close(whole, total)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_masked_outputs_see_earlier_columns_only(d):
    torch.manual_seed(0)
    net = MaskedLayers(d, 2, (16, 16), n_context=1)
    for p in net.parameters():
        p.data.add_(torch.randn_like(p))
    x = torch.randn(1, d + 1)
    J = torch.autograd.functional.jacobian(lambda x: net(x)[0], x)[:, 0]  # (2 d, d + 1)
    J = J.reshape(d, 2, d + 1).abs().amax(1)
    for j in range(d):
        assert (J[j, j:d] == 0).all()
        assert (J[j, :j] > 0).all()
        assert d == 1 or J[j, d] > 0 or j == 0  # the context reaches all but perhaps 0


def test_transforms_begin_near_the_identity():
    torch.manual_seed(0)
    x = torch.randn(50, 3)
    for name in ("affine coupling", "spline coupling", "spline autoregressive"):
        with torch.no_grad():
            z, logdet = MAKERS[name](3, 0).forward_and_logdet(x)
        assert (z - x).abs().mean() < 0.1 and logdet.abs().mean() < 0.2


def test_continuous_flow_keeps_its_probe_during_a_solution(monkeypatch):
    """Trap 14."""
    transform = ContinuousTransform(3, (8,), trace="hutchinson", n_steps=4)
    calls = []
    original = torch.rand
    monkeypatch.setattr(
        torch, "rand", lambda *a, **k: calls.append(1) or original(*a, **k)
    )
    transform.forward_and_logdet(torch.randn(5, 3))
    assert len(calls) == 1


def test_masked_layers_start_at_one_scale_for_all_columns():
    """The first outputs of a column do not grow with the units that it may see."""
    torch.manual_seed(0)
    net = MaskedLayers(6, 50, (60, 60))
    mask = getattr(net, net.names[-1])
    sizes = (net.layers[-1].weight * mask).square().sum(1).sqrt().reshape(6, 50).mean(1)
    assert sizes[0] == 0  # column 0 sees nothing
    torch.testing.assert_close(sizes[1:], torch.full((5,), 0.5), rtol=0.1, atol=0)
