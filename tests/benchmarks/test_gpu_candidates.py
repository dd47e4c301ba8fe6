"""Candidate kernels equal the recurrence and the convolution that they stand for."""

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy.nn import ssd  # noqa: E402
from pansophy.nn.triton_support import has_triton  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not has_triton(), reason="no Triton"),
]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def parts(n, length, heads, P, N, dtype=torch.float64):
    """x, log_a, B, C, gain, h0, skip."""
    generator = torch.manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)
    log_a = -0.5 * torch.rand(n, length, heads, generator=generator).double()
    log_a[:, length // 2] = -1e4  # a reset: it must not cost the others their digits
    gain = draw(n, length, heads).abs()
    gain[:, ::3] = 0.0  # has a gradient nevertheless
    found = [
        draw(n, length, heads, P), log_a, draw(n, length, N), draw(n, length, N), gain,
        draw(n, heads, P, N), draw(heads),
    ]  # fmt: skip
    return [x.to(DEVICE, dtype).requires_grad_() for x in found]


def results(run, inputs):
    y, h = run(*inputs)
    weights = torch.linspace(-1, 1, y.numel(), dtype=torch.float64).to(y).view_as(y)
    value = (y * weights).sum() + h.square().sum() / 2
    return [y.detach(), h.detach(), *torch.autograd.grad(value, inputs)]


def recurrence(*inputs):
    *first, skip = inputs
    return ssd(*first, skip=skip, method="loop")


def candidate(x, log_a, B, C, gain, h0, skip):
    from benchmarks.gpu_ssd_candidates import CandidateSSD

    exact = (p.float() for p in (gain, h0, skip))
    return CandidateSSD.apply(x, log_a.float(), B, C, *exact)


def worst_difference(found, wanted):
    return max(
        float((a.double() - b).abs().max() / b.abs().max())
        for a, b in zip(found, wanted)
    )


@pytest.mark.parametrize(
    "sizes", [(1, 5, 2, 16, 16), (2, 70, 3, 32, 16), (1, 64, 1, 16, 64)]
)
def test_ssd_in_float32(sizes):
    wanted = results(recurrence, parts(*sizes))
    found = results(candidate, parts(*sizes, torch.float32))
    assert worst_difference(found, wanted) < 2e-6


def test_ssd_in_half_precision():
    """Several chunks, the last of them not whole."""
    half = torch.bfloat16 if DEVICE == "cuda" else torch.float16
    wanted = results(recurrence, parts(1, 140, 2, 32, 16))
    found = results(candidate, parts(1, 140, 2, 32, 16, half))
    assert worst_difference(found, wanted) < 8 * torch.finfo(half).eps


def test_ssd_without_a_skip_reads_columns_in_place():
    """x, B and C as columns of one tensor, and an infinite log_a."""
    from benchmarks.gpu_ssd_candidates import CandidateSSD

    torch.manual_seed(0)
    wide = torch.randn(1, 40, 2 * 16 + 2 * 16, device=DEVICE)
    x, B, C = wide.split((32, 16, 16), dim=-1)
    x = x.unflatten(-1, (2, 16))
    log_a = -torch.rand(1, 40, 2, device=DEVICE)
    gain = torch.rand(1, 40, 2, device=DEVICE)
    h0 = torch.randn(1, 2, 16, 16, device=DEVICE)
    log_a[:, 7] = -1e4
    wanted, last = ssd(x, log_a, B, C, gain, h0, method="loop")
    log_a[:, 7] = -torch.inf
    y, h = CandidateSSD.apply(x, log_a, B, C, gain, h0, None)
    torch.testing.assert_close(y, wanted, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(h, last, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("width, length", [(4, 150), (1, 9), (6, 3)])
def test_convolution(width, length):
    """Columns of a wider tensor are read and written in place; eqs. (1) and (3)."""
    from benchmarks.gpu_conv_candidates import silu_conv, silu_conv_gradient

    torch.manual_seed(0)
    wide = torch.randn(2, length, 12, device=DEVICE)
    w = torch.randn(width, 5, device=DEVICE)
    b = torch.randn(5, device=DEVICE)
    out = torch.full((2, length, 7), torch.nan, device=DEVICE)
    silu_conv(wide[..., 3:8], w, b, out[..., 1:6])
    assert out[..., 0].isnan().all() and out[..., 6].isnan().all()
    leaves = [p.double().requires_grad_() for p in (wide[..., 3:8].clone(), w, b)]
    padded = torch.nn.functional.pad(leaves[0].transpose(1, 2), (width - 1, 0))
    p = torch.nn.functional.conv1d(padded, leaves[1].t()[:, None], leaves[2], groups=5)
    wanted = torch.nn.functional.silu(p).transpose(1, 2)
    torch.testing.assert_close(out[..., 1:6].double(), wanted, rtol=1e-5, atol=1e-5)
    dy = torch.randn(2, length, 5, device=DEVICE)
    dx = torch.zeros_like(wide)
    dw, db = silu_conv_gradient(wide[..., 3:8], w, b, dy, dx[..., 3:8])
    exact = torch.autograd.grad(wanted, leaves, dy.double())
    for found, grad in zip((dx[..., 3:8], dw, db), exact):
        torch.testing.assert_close(found.double(), grad, rtol=1e-4, atol=1e-4)
    assert not dx[..., :3].any() and not dx[..., 8:].any()
