"""Products of tall matrices by parts of the rows."""

import numpy as np
import pytest

from pansophy.core.linalg.tall_products import column_sums, tall_product

torch = pytest.importorskip("torch")

from pansophy.testing.stand_in_device import StandInDevice  # noqa: E402


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (1023, 3, 2), (4099, 5, 1), (8192, 70, 3)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parts_add_up_to_the_product(shape, dtype):
    n, a, b = shape
    rng = np.random.default_rng(0)
    A = rng.normal(size=(n, a)).astype(dtype)
    B = rng.normal(size=(n, b)).astype(dtype)
    right = A.T.astype(float) @ B.astype(float)
    room = 1e-3 if dtype is np.float32 else 1e-11
    np.testing.assert_allclose(tall_product(A, B), right, atol=room)
    with StandInDevice():
        there = [torch.as_tensor(v).to("standin") for v in (A, B)]
        found = tall_product(*there)
        assert found.dtype == torch.float64 and found.device.type == "standin"
        np.testing.assert_allclose(found.cpu().numpy(), right, atol=room)
        strided = tall_product(there[0][::2], there[1][::2]).cpu().numpy()
        np.testing.assert_allclose(strided, A[::2].T @ B[::2], atol=room)
        sums = column_sums(there[0]).cpu().numpy()
    np.testing.assert_allclose(sums, A.sum(0, dtype=float), atol=room)
