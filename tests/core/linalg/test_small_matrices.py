"""Products of small matrices against NumPy."""

import numpy as np
import pytest

from pansophy.core.linalg import _small_matrices as loops


@pytest.mark.parametrize("k", [4, 12])
def test_small_matrices(k):
    rng = np.random.default_rng(k)
    X, Y, C = rng.normal(size=(3, k, k))
    Y[1:-1] = 0.0  # rows that are skipped
    rows, out = np.empty(k, np.int64), np.empty((k, k))
    loops.skip_zero_matmul(X, Y, C, -1.0, False, rows, out)
    np.testing.assert_allclose(out, C - X.T @ Y, rtol=1e-12, atol=1e-12)
    S = X @ X.T
    loops.skip_zero_matmul(S, S, np.zeros((k, k)), 1.0, True, rows, out)
    loops.mirror_lower_half(out)
    np.testing.assert_allclose(out, S @ S, rtol=1e-12, atol=1e-12)
    a, b = X[0].copy(), np.empty(k)
    loops.transposed_matvec(Y, a, C[0].copy(), b)
    np.testing.assert_allclose(b, C[0] + Y.T @ a, rtol=1e-12, atol=1e-12)
