"""Triton kernels of the network: residual norm and short attention, and gradients."""

import pytest

torch = pytest.importorskip("torch")

from pansophy.core.loops.triton_support import has_triton  # noqa: E402

TRITON = [pytest.mark.gpu, pytest.mark.skipif(not has_triton(), reason="no Triton")]
pytestmark = TRITON
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def numbers(*shape):
    return torch.randn(shape, device=DEVICE, requires_grad=True)


def assert_same(ours, theirs, inputs):
    weights = [torch.randn_like(y) for y in ours]
    gradients = []
    for outputs in (ours, theirs):
        total = sum((y * w).sum() for y, w in zip(outputs, weights, strict=True))
        gradients.append(torch.autograd.grad(total, inputs))
    for a, b in zip((*ours, *gradients[0]), (*theirs, *gradients[1]), strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("width", [24, 96, 384])
def test_residual_norm(width):
    from pansophy.prior_fitted._network_triton import AddNorm

    x, change = numbers(7, 5, width), numbers(7, 5, width)
    ours = AddNorm.apply(x, change, 1e-6)
    total = x + change
    norm = torch.nn.functional.rms_norm(total, (width,), eps=1e-6)
    assert_same(ours, (total, norm), (x, change))


@pytest.mark.parametrize(("n_queries", "n_keys"), [(5, 19), (33, 4), (64, 64)])
def test_short_attention(n_queries, n_keys):
    from pansophy.prior_fitted._network_triton import ShortAttention

    q, k, v = numbers(3, n_queries, 64), numbers(3, n_keys, 64), numbers(3, n_keys, 64)
    cut = lambda x: x.unflatten(-1, (2, -1)).transpose(-3, -2)
    mixed = torch.nn.functional.scaled_dot_product_attention(cut(q), cut(k), cut(v))
    theirs = mixed.transpose(-3, -2).flatten(-2)
    assert_same([ShortAttention.apply(q, k, v, 2)], [theirs], (q, k, v))
