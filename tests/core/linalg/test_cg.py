"""Conjugate gradients, preconditioners and Lanczos's matrices against dense algebra."""

import numpy as np
import pytest

from pansophy.core.arrays.arrays import to_numpy
from pansophy.core.linalg import cg, linalg
from pansophy.kernels import RBF


def psd(rng, d):
    A = rng.standard_normal((d, d))
    return A @ A.T + 0.1 * np.eye(d)


def test_cg_solves_and_its_objective_falls(rng):
    A, B = psd(rng, 30), rng.standard_normal((30, 3))
    run = cg.conjugate_gradients(lambda P: A @ P, B, tol=1e-10)
    assert run.converged
    np.testing.assert_allclose(run.state.X, np.linalg.solve(A, B), rtol=1e-5, atol=1e-8)
    objective = run.history["objective"]
    assert (np.diff(objective) <= 1e-9 * np.abs(objective[1:])).all()
    assert run.history["residual"][-1] <= 1e-10


def test_cg_preconditioned_warm_and_with_zero_right_side(rng):
    d = 200
    D = np.logspace(0, 6, d)
    A, b = np.diag(D) + 1e-3 * psd(rng, d), rng.standard_normal(d)
    plain = cg.conjugate_gradients(lambda P: A @ P, b, tol=1e-8, max_iter=100)
    good = cg.conjugate_gradients(
        lambda P: A @ P,
        b,
        tol=1e-8,
        max_iter=100,
        precondition=lambda R: R / D[:, None],
    )
    assert good.converged and not plain.converged
    assert good.state.X.shape == (d,)
    warm = cg.conjugate_gradients(
        lambda P: A @ P, b, X0=good.state.X, tol=1e-6, max_iter=5
    )
    assert warm.n_iter == 1
    none = cg.conjugate_gradients(lambda P: A @ P, np.zeros(d))
    assert none.converged and not none.state.X.any()


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_array_libraries(library, rng):
    xp = pytest.importorskip(library)
    A, b = psd(rng, 6), rng.standard_normal(6)
    A2, b2 = xp.asarray(A), xp.asarray(b)
    run = cg.conjugate_gradients(lambda P: A2 @ P, b2, tol=1e-12, tridiagonals=True)
    np.testing.assert_allclose(to_numpy(run.state.X), np.linalg.solve(A, b), rtol=1e-5)
    found = cg.pivoted_cholesky(
        xp.asarray(np.diagonal(A).copy()), lambda i: A2[i, :], 6
    )
    L = to_numpy(found.L)
    np.testing.assert_allclose(L @ L.T, A, atol=1e-10)


def test_tridiagonals_are_lanczos(rng):
    A, B = psd(rng, 8), rng.standard_normal((8, 2))
    run = cg.conjugate_gradients(lambda P: A @ P, B, tol=1e-13, tridiagonals=True)
    for T, b in zip(run.state.tridiagonals, B.T, strict=True):
        dense = np.diag(T.diagonal) + np.diag(T.off_diagonal, 1)
        dense = dense + np.diag(T.off_diagonal, -1)
        assert T.squared_norm == pytest.approx(b @ b)
        for power in (1, 2, 3):  # b^T A^p b is exact from T of this size
            left = T.squared_norm * np.linalg.matrix_power(dense, power)[0, 0]
            assert left == pytest.approx(b @ np.linalg.matrix_power(A, power) @ b)
        assert T.squared_norm * np.linalg.inv(dense)[0, 0] == pytest.approx(
            b @ np.linalg.solve(A, b), rel=1e-6
        )


def test_log_determinant_with_a_preconditioner(rng):
    X = rng.random((150, 2))
    n = len(X)
    K = RBF(0.3)(X)
    A = K + 0.05 * np.eye(n)
    L = cg.pivoted_cholesky(np.ones(n), lambda i: K[i], 30).L
    factor = linalg.low_rank(np.full(n, 0.05), L)
    probes = cg.sample_low_rank(factor, rng, 20)
    product = lambda P: A @ P
    good = cg.conjugate_gradients(
        product, probes, precondition=factor.solve, tridiagonals=True, tol=1e-8
    )
    plain = cg.conjugate_gradients(product, probes, tol=1e-8)
    assert good.n_iter < 0.5 * plain.n_iter
    right = np.linalg.slogdet(A)[1]
    found = cg.log_determinant(good.state.tridiagonals) + float(factor.log_det)
    assert found == pytest.approx(right, rel=2e-3)
    spread = np.cov(cg.sample_low_rank(factor, rng, 20000))
    assert np.abs(spread - (L @ L.T + 0.05 * np.eye(n))).max() < 0.1


def test_low_rank_factors(rng):
    X = rng.random((60, 1))
    K = RBF(0.5)(X)
    found = cg.pivoted_cholesky(np.ones(60), lambda i: K[i], 60, tol=1e-9)
    assert len(found.pivots) < 20
    np.testing.assert_allclose(found.L @ found.L.T, K, atol=1e-6)
    assert found.residual == pytest.approx(np.trace(K - found.L @ found.L.T), abs=1e-7)
    at = found.pivots[:8]
    thin = cg.nystroem_factor(K[:, at], K[np.ix_(at, at)])
    first = cg.pivoted_cholesky(np.ones(60), lambda i: K[i], 8).L
    np.testing.assert_allclose(thin @ thin.T, first @ first.T, atol=1e-6)


def test_a_zero_right_side_has_an_empty_matrix():
    run = cg.conjugate_gradients(lambda P: P, np.zeros(3), tridiagonals=True)
    (T,) = run.state.tridiagonals
    assert len(T.diagonal) == 0 and cg.log_determinant((T,)) == 0
