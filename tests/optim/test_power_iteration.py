"""Power iteration against the SVD."""

import numpy as np
import pytest
from scipy import sparse

from pansophy.optim import power_iteration


def test_converges_to_the_largest_singular_value_from_below(rng):
    A = rng.normal(size=(12, 7))
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    found = power_iteration(A, random_state=0)
    assert found.converged
    assert found.sigma == pytest.approx(s[0], rel=1e-9)
    assert abs(found.u @ U[:, 0]) == pytest.approx(1, abs=1e-5)
    assert abs(found.v @ Vt[0]) == pytest.approx(1, abs=1e-5)
    assert (found.history <= s[0] * (1 + 1e-12)).all()
    assert (np.diff(found.history) >= -1e-12 * s[0]).all()


def test_error_falls_geometrically():
    A = np.diag([2.0, 1.0])
    found = power_iteration(A, v=[1.0, 1.0], max_iter=12, tol=0)
    error = 2 - found.history
    ratios = error[4:9] / error[3:8]
    assert ratios == pytest.approx(np.full(5, (1 / 2) ** 4), rel=0.05)


def test_warm_start_and_sparse(rng):
    A = sparse.random_array((40, 30), density=0.2, rng=rng).tocsr()
    found = power_iteration(A)
    assert found.sigma == pytest.approx(np.linalg.norm(A.toarray(), 2), rel=1e-6)
    again = power_iteration(A, v=found.v, tol=1e-8)
    assert again.n_iter <= 2


def test_zero_matrix_and_bad_input():
    found = power_iteration(np.zeros((3, 2)))
    assert found.sigma == 0 and found.converged
    with pytest.raises(ValueError, match="matrix"):
        power_iteration([1.0, 2.0])
    with pytest.raises(ValueError, match="finite"):
        power_iteration([[np.nan]])
    with pytest.raises(ValueError, match="not be 0"):
        power_iteration(np.eye(2), v=[0.0, 0.0])
