"""Mamba: selection, both modes, the S4 recurrence as a special case."""

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy.core.loops.triton_support import has_triton  # noqa: E402
from pansophy.nn import Mamba, ssm_scan  # noqa: E402
from pansophy.nn.layers.ssd import loop_ssd  # noqa: E402
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
    _, channels, dt = layer._projected(x)
    padded = torch.nn.functional.pad(channels.transpose(1, 2), (3, 0))
    made = layer._selective(layer._convolved(padded), dt)
    y, _ = loop_ssd(*made, layer.init_state(1).h.double())
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


TRITON = [pytest.mark.gpu, pytest.mark.skipif(not has_triton(), reason="no Triton")]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def layer_outcome(method, x, mask=None):
    """Output, gradient of the input and of every parameter."""
    generator = torch.Generator().manual_seed(0)
    layer = Mamba(
        x.shape[-1], n_states=16, head_size=16, method=method, generator=generator
    )
    with torch.no_grad():
        layer.kernel_bias.uniform_(-1, 1, generator=generator)
        layer.gain.uniform_(0.5, 1.5, generator=generator)
        layer.D.uniform_(-1, 1, generator=generator)
    layer = layer.to(x)
    x = x.clone().requires_grad_()
    y = layer(x, mask)
    weights = torch.linspace(-1, 1, y.numel()).to(y).view_as(y)
    names, own = zip(*layer.named_parameters())
    grads = torch.autograd.grad((y * weights).sum(), [x, *own])
    return dict(zip(("y", "x", *names), (y.detach(), *grads)))


@pytest.mark.parametrize("sizes", [(1, 3, 8), (2, 70, 24)])
@pytest.mark.parametrize("masked", [False, True])
def test_kernels_equal_the_torch_path(sizes, masked):
    torch.manual_seed(0)
    x = torch.randn(*sizes).to(DEVICE)
    mask = None
    if masked:
        mask = torch.rand(*sizes[:2], device=DEVICE) < 0.8
    wanted = layer_outcome("chunked", x.double(), mask)
    found = layer_outcome("triton", x, mask)
    for name, exact in wanted.items():
        error = float((found[name] - exact).abs().max())
        assert error < 2e-5 * float(exact.abs().max()) + 1e-6, name


@pytest.mark.parametrize(("width", "length"), [(4, 300), (1, 9), (6, 3)])
def test_convolution_kernel_by_hand(width, length):
    """Columns of a wider tensor are read and written in place; eqs. (1) and (3)."""
    from pansophy.nn.layers._causal_conv_triton import silu_conv, silu_conv_gradient

    torch.manual_seed(0)
    wide = torch.randn(2, length, 12, device=DEVICE)
    w = torch.randn(width, 5, device=DEVICE)
    b = torch.randn(5, device=DEVICE)
    out = torch.full((2, length, 7), torch.nan, device=DEVICE)
    silu_conv(wide[..., 3:8], w, b, out[..., 1:6])
    assert out[..., 0].isnan().all() and out[..., 6].isnan().all()
    parts = [p.double().requires_grad_() for p in (wide[..., 3:8].clone(), w, b)]
    padded = torch.nn.functional.pad(parts[0].transpose(1, 2), (width - 1, 0))
    p = torch.nn.functional.conv1d(padded, parts[1].t()[:, None], parts[2], groups=5)
    wanted = torch.nn.functional.silu(p).transpose(1, 2)
    torch.testing.assert_close(out[..., 1:6].double(), wanted, rtol=1e-5, atol=1e-5)
    dy = torch.randn(2, length, 5, device=DEVICE)
    dx = torch.zeros_like(wide)
    dw, db = silu_conv_gradient(wide[..., 3:8], w, b, dy, dx[..., 3:8])
    exact = torch.autograd.grad(wanted, parts, dy.double())
    for found, grad in zip((dx[..., 3:8], dw, db), exact):
        torch.testing.assert_close(found.double(), grad, rtol=1e-4, atol=1e-4)
    assert not dx[..., :3].any() and not dx[..., 8:].any()


def test_norm_kernel_by_hand():
    from pansophy.nn.layers._gated_norm_triton import gated_norm, gated_norm_gradient

    torch.manual_seed(0)
    y, z, dout = torch.randn(3, 11, 6, device=DEVICE)
    gain = torch.rand(6, device=DEVICE)
    parts = [p.double().requires_grad_() for p in (y, z, gain)]
    v = parts[0] * torch.nn.functional.silu(parts[1])
    wanted = torch.nn.functional.rms_norm(v, (6,), parts[2], 1e-5)
    found = gated_norm(y, z, gain, 1e-5)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-5, atol=1e-5)
    dz = torch.empty_like(z)
    dy, dgain = gated_norm_gradient(y, z, gain, dout, dz, 1e-5)
    exact = torch.autograd.grad(wanted, parts, dout.double())
    for found, grad in zip((dy, dz, dgain), exact):
        torch.testing.assert_close(found.double(), grad, rtol=1e-4, atol=1e-5)


for test in (
    test_kernels_equal_the_torch_path,
    test_convolution_kernel_by_hand,
    test_norm_kernel_by_hand,
):
    test.pytestmark = [*getattr(test, "pytestmark", []), *TRITON]
