"""Mamba: selection, both modes, the S4 recurrence as a special case."""

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy.nn import Mamba, ssm_scan  # noqa: E402
from pansophy.nn.ssd import loop_ssd  # noqa: E402
from pansophy.state_space import discretize  # noqa: E402


def test_methods_agree():
    torch.manual_seed(0)
    x = torch.randn(2, 150, 8, dtype=torch.float64)
    layer = Mamba(8, n_states=4, head_size=4, method="loop").double()
    wanted = layer(x)
    layer.method = "chunked"
    torch.testing.assert_close(layer(x), wanted, rtol=1e-6, atol=1e-8)


def test_constant_parameters_are_the_s4_recurrence():
    """Delta, B, C that do not look at the input: zero-order hold of x' = A x + B u."""
    torch.manual_seed(0)
    layer = Mamba(2, n_states=3, expand=1, head_size=2).double()
    with torch.no_grad():
        layer.in_projection.weight[2:4] = torch.eye(2)  # u = x
        layer.in_projection.weight[4:] = 0.0  # B, C and Delta are their biases
        layer.kernel.zero_()
        layer.kernel[:2, 0, -1] = 1.0
        layer.kernel_bias[2:] = torch.tensor([0.5, -1.0, 2.0, 1.0, 0.7, -0.3])
    x = torch.randn(1, 30, 2, dtype=torch.float64)
    z, channels, dt = layer._projected(x)
    channels = torch.nn.functional.conv1d(
        torch.nn.functional.pad(channels.transpose(1, 2), (3, 0)),
        layer.kernel, layer.kernel_bias, groups=layer.channels,
    ).transpose(1, 2)  # fmt: skip
    made = layer._selective(z, channels, dt)
    y, _ = loop_ssd(*made[:5], layer.init_state(1).h.double())
    A = -float(layer.log_A.detach().exp())
    delta = float(torch.nn.functional.softplus(layer.dt_bias.detach()))
    B, C = made.B[0, 0].detach(), made.C[0, 0].detach()
    Abar, Bbar = discretize(A * torch.eye(3).numpy(), B.numpy(), delta, "zoh")
    for p in range(2):
        wanted, _ = ssm_scan(Abar, Bbar, C, made.u[0, :, 0, p].detach())
        torch.testing.assert_close(y[0, :, 0, p].detach(), wanted, rtol=1e-6, atol=1e-8)


def test_selection_depends_on_the_input():
    torch.manual_seed(0)
    layer = Mamba(4, n_states=4, head_size=4)
    x = torch.randn(1, 20, 4)
    twice = layer(2 * x)
    assert not torch.allclose(twice, 2 * layer(x), atol=1e-3)


def test_long_bfloat16_sequence_is_finite():
    torch.manual_seed(0)
    layer = Mamba(4, n_states=4, head_size=4)
    x = torch.randn(1, 16_384, 4)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        y = layer(x)
    exact = layer(x).detach()
    assert torch.isfinite(y).all()
    error = (y.float() - exact).abs().max() / exact.abs().max()
    assert float(error) < 0.1


def test_head_size_must_divide():
    with pytest.raises(ValueError, match="head_size"):
        Mamba(3, head_size=4, expand=1)
