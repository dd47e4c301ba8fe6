"""The scan equals the recurrence, in every method, precision and direction."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy.core.loops.triton_support import has_triton  # noqa: E402
from pansophy.nn import scan  # noqa: E402
from tests.nn.counted_elements import elements_written  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def arrays(shape, dtype=torch.float64, seed=0):
    generator = torch.manual_seed(seed)
    a = torch.randn(shape, generator=generator, dtype=torch.float64).clamp(-1.1, 1.1)
    b = torch.randn(shape, generator=generator, dtype=torch.float64)
    h0 = torch.randn(b[:, 0].shape, generator=generator, dtype=torch.float64)
    return [x.to(dtype).requires_grad_() for x in (a, b, h0)]


def numpy_scan(a, b, h0):
    h, out = h0, []
    for t in range(a.shape[1]):
        h = a[:, t] * h + b[:, t]
        out.append(h)
    return np.stack(out, 1)


@pytest.mark.parametrize(
    "shape", [(2, 1), (2, 2), (2, 7, 3), (1, 130, 5, 2), (3, 64, 4)]
)
def test_chunked_equals_the_recurrence_with_gradients(shape):
    results = []
    for method in ("loop", "chunked"):
        parts = arrays(shape)
        h = scan(*parts, method=method)
        weights = torch.linspace(-1, 1, h.numel(), dtype=h.dtype).view_as(h)
        results.append([h, *torch.autograd.grad((h * weights).sum(), parts)])
    plain = [x.detach().numpy() for x in arrays(shape)]
    assert np.allclose(results[0][0].detach(), numpy_scan(*plain), rtol=1e-13)
    for one, two in zip(*results):
        torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-12)


def test_gradcheck_twice():
    parts = arrays((2, 6, 2))
    run = lambda a, b, h0: scan(a, b, h0, method="chunked")
    assert torch.autograd.gradcheck(run, parts)
    assert torch.autograd.gradgradcheck(run, parts)


def test_reverse_is_the_scan_of_the_reversed_sequence():
    a, b, h0 = arrays((2, 9, 3))
    backwards = scan(a, b, h0, reverse=True)
    wanted = scan(a.flip(1), b.flip(1), h0).flip(1)
    torch.testing.assert_close(backwards, wanted)


def test_broadcast_factors_and_their_gradient():
    a = torch.rand(2, 20, 1, dtype=torch.float64, requires_grad=True)
    b = torch.randn(2, 20, 4, dtype=torch.float64)
    scan(a, b).sum().backward()
    one = a.grad.clone()
    a.grad = None
    scan(a, b, method="loop").sum().backward()
    torch.testing.assert_close(one, a.grad)


def test_products_that_underflow():
    """A product of 16,000 factors of 1/2 is 0: the state is that of the recurrence."""
    a = torch.full((1, 16_000), 0.5)
    b = torch.ones(1, 16_000)
    h = scan(a, b)
    assert torch.isfinite(h).all() and float(h[0, -1]) == 2.0
    zero = scan(torch.zeros(1, 50), torch.arange(50.0)[None])
    assert torch.equal(zero, torch.arange(50.0)[None])


def test_bfloat16_at_16k_steps_with_a_float32_state():
    """Decay 1 - 2^-12, which bfloat16 cannot hold; its logarithm it can."""
    n = 16_384
    log_a = torch.full((1, n), -(2.0**-12), dtype=torch.bfloat16)
    b = torch.ones(1, n, dtype=torch.bfloat16)
    h = scan(log_a, b, log_a=True)
    assert h.dtype == torch.bfloat16
    decay = np.exp(-(2.0**-12))
    exact = (1 - decay ** np.arange(1, n + 1)) / (1 - decay)
    assert np.abs(h[0].float().numpy() / exact - 1).max() < 2**-8  # one rounding
    # a state in bfloat16 would stop growing at 256
    assert float(h[0, -1]) > 4000
    assert float(scan(log_a.exp(), b)[0, -1]) == pytest.approx(n, rel=1e-2)  # a = 1


def test_cost_is_linear_in_length():
    work = [
        elements_written(scan, torch.rand(1, n, 16), torch.randn(1, n, 16))
        for n in (4_096, 65_536)
    ]
    assert work[1] < 16 * 1.1 * work[0]


def test_bad_input():
    with pytest.raises(ValueError, match="steps"):
        scan(torch.ones(1, 3), torch.ones(1, 4))
    with pytest.raises(ValueError, match="method must be"):
        scan(torch.ones(1, 3), torch.ones(1, 3), method="fast")
    assert scan(torch.ones(2, 0, 3), torch.ones(2, 0, 3)).shape == (2, 0, 3)


@pytest.mark.gpu
@pytest.mark.skipif(not has_triton(), reason="Triton is not here")
@pytest.mark.parametrize("shape", [(2, 1), (2, 7, 3), (1, 130, 5, 2), (3, 257, 40)])
def test_triton_equals_the_recurrence(shape):
    results = []
    for method in ("loop", "triton"):
        parts = [
            x.detach().to(DEVICE).requires_grad_() for x in arrays(shape, torch.float32)
        ]
        h = scan(*parts, method=method)
        weights = torch.linspace(-1, 1, h.numel(), device=DEVICE).view_as(h)
        results.append([h, *torch.autograd.grad((h * weights).sum(), parts)])
    for one, two in zip(*results):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-4)
