"""Cholesky factors, low-rank solves and conjugate gradients."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.core.arrays.arrays import to_numpy
from pansophy.core.linalg import linalg
from tests.oracles import linalg as slow


def psd(rng, d, rank=None):
    A = rng.standard_normal((d, rank or d + 5))
    return A @ A.T


# --- Cholesky and what is built on it ---------------------------------------------


def test_cholesky_of_a_good_matrix_needs_no_jitter(rng):
    A = psd(rng, 8)
    L, jitter = linalg.cholesky(A)
    assert jitter == 0
    np.testing.assert_allclose(L @ L.T, A, rtol=1e-12)


def test_cholesky_reports_the_least_jitter(rng):
    A = psd(rng, 8, rank=3)
    L, jitter = linalg.cholesky(A)
    assert 0 < jitter <= 1e-10 * np.trace(A)
    np.testing.assert_allclose(L @ L.T, A + jitter * np.eye(8), atol=1e-10)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(A + jitter / 1000 * np.eye(8))


def test_cholesky_refuses_an_indefinite_matrix(rng):
    with pytest.raises(linalg.NotPositiveDefiniteError, match="not positive"):
        linalg.cholesky(np.diag([1.0, -0.5]))
    with pytest.raises(ValueError, match="NaN"):
        linalg.cholesky(np.array([[np.nan]]))


@pytest.mark.parametrize("columns", [(), (3,)])
def test_solve_psd(columns, rng):
    A, B = psd(rng, 6), rng.standard_normal((6, *columns))
    X, jitter = linalg.solve_psd(A, B)
    assert jitter == 0
    np.testing.assert_allclose(A @ X, B, atol=1e-10)


@given(seed=st.integers(0, 10**6), d=st.integers(1, 12))
def test_rank_one_update_and_downdate(seed, d):
    rng = np.random.default_rng(seed)
    L = np.linalg.cholesky(psd(rng, d))
    v = rng.standard_normal(d)
    up = linalg.cholesky_update(L, v)
    np.testing.assert_allclose(up, slow.rank_one(L, v, 1), rtol=1e-8, atol=1e-9)
    back = linalg.cholesky_update(up, v, downdate=True)
    np.testing.assert_allclose(back, L, rtol=1e-6, atol=1e-7)
    half = 0.5 * L[:, 0]
    np.testing.assert_allclose(
        linalg.cholesky_update(L, half, downdate=True),
        slow.rank_one(L, half, -1),
        rtol=1e-8,
        atol=1e-9,
    )


def test_downdate_that_leaves_nothing_is_refused(rng):
    L = np.linalg.cholesky(psd(rng, 4))
    with pytest.raises(linalg.NotPositiveDefiniteError, match="downdated"):
        linalg.cholesky_update(L, 2 * L[:, 0], downdate=True)
    with pytest.raises(ValueError, match="shape"):
        linalg.cholesky_update(L, np.ones(3))


def test_low_rank_solve_and_determinant(rng):
    D, U = rng.uniform(0.5, 2, 30), rng.standard_normal((30, 4))
    A, B = np.diag(D) + U @ U.T, rng.standard_normal((30, 2))
    np.testing.assert_allclose(linalg.solve_low_rank(D, U, B), np.linalg.solve(A, B))
    assert linalg.low_rank(D, U).log_det == pytest.approx(np.linalg.slogdet(A)[1])
    with pytest.raises(linalg.NotPositiveDefiniteError, match="diagonal"):
        linalg.solve_low_rank(D - 1, U, B)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_array_libraries(library, rng):
    xp = pytest.importorskip(library)
    A, b = xp.asarray(psd(rng, 5)), xp.asarray(rng.standard_normal(5))
    x, _ = linalg.solve_psd(A, b)
    np.testing.assert_allclose(to_numpy(A @ x), to_numpy(b), atol=1e-9)
    x = linalg.solve_low_rank(xp.abs(b) + 1, A[:, :2], b)
    back = (xp.abs(b) + 1) * x + A[:, :2] @ (A[:, :2].T @ x)
    np.testing.assert_allclose(to_numpy(back), to_numpy(b), atol=1e-9)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("block", [3, 7, 100])
def test_inverse_from_a_factor_by_blocks(library, block, rng, monkeypatch):
    xp = pytest.importorskip(library)
    monkeypatch.setattr(linalg, "INVERSE_BLOCK", block)
    A = psd(rng, 23)
    L = xp.asarray(np.linalg.cholesky(A))
    found = to_numpy(linalg.inverse_from_cholesky(L))
    np.testing.assert_allclose(np.tril(found), np.tril(np.linalg.inv(A)), atol=1e-10)
