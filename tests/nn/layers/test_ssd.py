"""State-space duality: chunks equal the recurrence, in every precision and length."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy.core.loops.triton_support import has_triton  # noqa: E402
from pansophy.nn import ssd, ssm_scan  # noqa: E402
from tests.nn.counted_elements import elements_written  # noqa: E402


def parts(n, length, heads, P, N, dtype=torch.float64, device="cpu"):
    generator = torch.manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)
    log_a = -0.5 * torch.rand(n, length, heads, generator=generator).double()
    log_a[:, length // 2] = -1e4  # a reset: it must not cost the others their digits
    found = [
        draw(n, length, heads, P),
        log_a,
        draw(n, length, N),
        draw(n, length, N),
        draw(n, length, heads).abs(),
        draw(n, heads, P, N),
        draw(heads),
    ]
    return [x.to(device, dtype).requires_grad_() for x in found]


def outcome(inputs, **options):
    *parts_of_ssd, skip = inputs
    y, h = ssd(*parts_of_ssd, skip=skip, **options)
    weights = torch.linspace(-1, 1, y.numel(), dtype=torch.float64).to(y).view_as(y)
    value = (y * weights).sum() + h.square().sum() / 2
    return [y, h, *torch.autograd.grad(value, inputs)]


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1, 1, 1), (1, 5, 2, 3, 4), (2, 130, 3, 4, 5), (1, 64, 1, 2, 2)]
)
@pytest.mark.parametrize("chunk", [1, 16, 64])
def test_chunks_equal_the_recurrence_with_gradients(sizes, chunk):
    wanted = outcome(parts(*sizes), method="loop")
    found = outcome(parts(*sizes), method="chunked", chunk=chunk)
    for a, b in zip(found, wanted):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def test_constant_parameters_are_a_diagonal_system():
    """Then eq. (1) is x_t = Abar x_t-1 + Bbar u_t, y = C x."""
    x, _, B, C, *_ = (p.detach() for p in parts(1, 40, 1, 1, 6))
    B = B[:, :1].expand(1, 40, 6)
    C = C[:, :1].expand(1, 40, 6)
    log_a = torch.full((1, 40, 1), -0.3, dtype=torch.float64)
    y, _ = ssd(x, log_a, B, C)
    A = np.exp(-0.3) * np.eye(6)
    wanted, _ = ssm_scan(A, B[0, 0], C[0, 0], x[0, :, 0, 0])
    torch.testing.assert_close(y[0, :, 0, 0], wanted)


def test_streaming_in_pieces():
    inputs = [p.detach() for p in parts(2, 50, 2, 3, 4)][:6]
    whole, last = ssd(*inputs)
    cut = lambda s: [p[:, s] for p in inputs[:5]]
    first, state = ssd(*cut(slice(0, 17)), inputs[5])
    second, end = ssd(*cut(slice(17, 50)), state)
    torch.testing.assert_close(torch.cat([first, second], 1), whole)
    torch.testing.assert_close(end, last)


def test_bfloat16_at_16k_steps():
    """Slow decays whose product over the sequence is e^-16: float32 state."""
    length = 16_384
    generator = torch.manual_seed(0)
    x = torch.randn(1, length, 1, 2, generator=generator).bfloat16()
    B = torch.ones(1, length, 2).bfloat16()
    C = torch.ones(1, length, 2).bfloat16()
    log_a = torch.full((1, length, 1), -(2.0**-10)).bfloat16()
    y, h = ssd(x, log_a, B, C)
    assert y.dtype == torch.bfloat16 and h.dtype == torch.float32
    wide = [p.double() for p in (x, log_a, B, C)]
    exact, last = ssd(*wide)
    scale = float(exact.abs().max())
    assert float((y.double() - exact).abs().max()) < 2**-8 * scale
    assert float((h.double() - last).abs().max()) < 1e-4 * scale


def test_cost_is_linear_in_length():
    work = []
    for length in (2048, 16_384):
        inputs = [p.detach() for p in parts(1, length, 2, 8, 8, torch.float32)][:6]
        work.append(elements_written(ssd, *inputs))
    assert work[1] < 8 * 1.1 * work[0]


def test_bad_input():
    x, log_a, B, C, *_ = parts(1, 5, 2, 3, 4)
    with pytest.raises(ValueError, match="log_a must have shape"):
        ssd(x, log_a[:, :3], B, C)
    with pytest.raises(ValueError, match="B and C"):
        ssd(x, log_a, B, C[:, :, :2])
    with pytest.raises(ValueError, match="method must be"):
        ssd(x, log_a, B, C, method="fast")


@pytest.mark.gpu
@pytest.mark.skipif(not has_triton(), reason="Triton is not here")
@pytest.mark.parametrize(
    "sizes", [(1, 5, 2, 16, 16), (2, 130, 3, 32, 16), (1, 64, 1, 16, 64)]
)
def test_triton_equals_the_recurrence(sizes):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    make = lambda: parts(*sizes, torch.float32, device)
    wanted = outcome(make(), method="loop")
    found = outcome(make(), method="triton")
    for a, b in zip(found, wanted):
        scale = float(b.detach().abs().max())
        assert float((a - b).detach().abs().max()) < 2e-5 * scale + 1e-6


@pytest.mark.gpu
@pytest.mark.skipif(not has_triton(), reason="Triton is not here")
def test_triton_gradient_of_gains_that_are_zero():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    inputs = [p.detach() for p in parts(1, 40, 2, 16, 16, torch.float32, device)]
    inputs[4][:, ::3] = 0.0
    make = lambda: [p.clone().requires_grad_() for p in inputs]
    wanted = outcome(make(), method="loop")
    found = outcome(make(), method="triton")
    assert float(wanted[6][:, ::3].abs().min()) > 0
    for a, b in zip(found, wanted):
        scale = float(b.detach().abs().max())
        assert float((a - b).detach().abs().max()) < 2e-5 * scale + 1e-6


@pytest.mark.gpu
@pytest.mark.skipif(not has_triton(), reason="Triton is not here")
def test_triton_in_half_precision():
    """Several chunks, the last of them not whole."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    half = torch.bfloat16 if device == "cuda" else torch.float16
    inputs = [p.detach() for p in parts(1, 140, 2, 32, 16, torch.float64, device)]
    halves = (0, 2, 3)  # x, B and C; decays, gains and states are float32
    narrow = [
        p.to(half if i in halves else torch.float32) for i, p in enumerate(inputs)
    ]
    make = lambda ps: [p.clone().requires_grad_() for p in ps]
    wanted = outcome(make([p.double() for p in narrow]), method="loop")
    found = outcome(make(narrow), method="triton")
    for a, b in zip(found, wanted):
        scale = float(b.detach().abs().max())
        assert float((a - b).detach().abs().max()) < 8 * torch.finfo(half).eps * scale


@pytest.mark.gpu
@pytest.mark.skipif(not has_triton(), reason="Triton is not here")
def test_triton_reads_columns_in_place():
    """x, B and C as columns of one tensor, no skip, and an infinite log_a."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    wide = torch.randn(1, 40, 2 * 16 + 2 * 16, device=device)
    x, B, C = wide.split((32, 16, 16), dim=-1)
    x = x.unflatten(-1, (2, 16))
    log_a = -torch.rand(1, 40, 2, device=device)
    gain = torch.rand(1, 40, 2, device=device)
    h0 = torch.randn(1, 2, 16, 16, device=device)
    log_a[:, 7] = -1e4
    wanted, last = ssd(x, log_a, B, C, gain, h0, method="loop")
    log_a[:, 7] = -torch.inf
    y, h = ssd(x, log_a, B, C, gain, h0, method="triton")
    torch.testing.assert_close(y, wanted, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(h, last, rtol=1e-5, atol=1e-5)
