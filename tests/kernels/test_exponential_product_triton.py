"""The fused product exp(A B^T) V against one that stores the matrix."""

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy.core.loops.triton_support import has_triton  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not has_triton(), reason="no Triton"),
]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("n", "m", "d", "k"),
    [(1, 1, 1, 1), (300, 130, 3, 1), (70, 700, 22, 5), (5, 64, 40, 64)],
)
def test_equals_the_stored_matrix(n, m, d, k, dtype):
    """Sizes that fill no tile, several shares of B, one column and several."""
    from pansophy.kernels._exponential_product_triton import exponential_product

    generator = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=dtype)
    A, B, V = (t.to(DEVICE) for t in (draw(n, d) / d, draw(m, d), draw(m, k)))
    wanted = torch.exp(A.double() @ B.double().T) @ V.double()
    found = exponential_product(A, B, V)
    assert found.shape == (n, k) and found.dtype == dtype
    scale = float((torch.exp(A.double() @ B.double().T) @ V.double().abs()).max())
    error = float((found.double() - wanted).abs().max())
    assert error < 8 * torch.finfo(dtype).eps * scale


def test_leaves_gradients_wide_rows_and_many_columns_to_the_tiles():
    from pansophy.kernels._exponential_product_triton import takes

    A, V = torch.zeros(4, 3), torch.zeros(4, 2)
    assert takes(A, A, V)
    assert not takes(A.clone().requires_grad_(), A, V)
    assert not takes(torch.zeros(4, 65), torch.zeros(4, 65), V)
    assert not takes(A, A, torch.zeros(4, 65))
    assert not takes(A.half(), A.half(), V.half())
    with torch.no_grad():
        assert takes(A.clone().requires_grad_(), A, V)


@pytest.mark.skipif(DEVICE != "cuda", reason="matmul asks for it on CUDA only")
def test_matmul_of_a_gaussian_kernel_uses_it():
    from pansophy.kernels import RBF

    X = torch.randn(500, 4, device=DEVICE, dtype=torch.float64)
    v = torch.randn(500, device=DEVICE, dtype=torch.float64)
    kernel = 2.0 * RBF(gamma=0.3)
    torch.testing.assert_close(kernel.matmul(X, None, v), kernel(X) @ v)
