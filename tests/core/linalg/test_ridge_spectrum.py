"""Ridge at many penalties: normal equations, rows left out, minimum norm."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.core.linalg import ridge_spectrum as rs

ALPHAS = [0.1, 1.0, 30.0]


def direct(X, Y, w, alpha, intercept):
    """Coefficients and intercepts by the normal equations of the centred rows."""
    mean = lambda A: np.average(A, axis=0, weights=w) if intercept else 0 * A[0]
    A, C = X - mean(X), Y - mean(Y)
    B = np.linalg.solve((A.T * w) @ A + alpha * np.eye(X.shape[1]), (A.T * w) @ C)
    return B, mean(Y) - mean(X) @ B


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("shape", "solver"), [
    ((20, 4), "gram"), ((20, 4), "svd"), ((20, 4), "dual"), ((8, 12), "auto"),
])  # fmt: skip
def test_coefficients_and_rows_left_out(shape, solver, weighted, intercept, rng):
    n, d = shape
    X, Y = rng.standard_normal(shape) + 1, rng.standard_normal((n, 2))
    w = rng.uniform(0.5, 2, n) if weighted else None
    weights = np.ones(n) if w is None else w
    S = rs.ridge_spectrum(X, Y, w, min_alpha=0.1, intercept=intercept, solver=solver)
    B, b = rs.ridge_coefficients(S, ALPHAS)
    E = rs.leave_one_out_errors(S, ALPHAS)
    assert B.shape == (d, 2, 3) and b.shape == (2, 3) and E.shape == (n, 2, 3)
    for k, alpha in enumerate(ALPHAS):
        C, c = direct(X, Y, weights, alpha, intercept)
        np.testing.assert_allclose(B[:, :, k], C, atol=1e-10)
        np.testing.assert_allclose(b[:, k], c, atol=1e-10)
        for i in (0, n - 1):
            kept = np.arange(n) != i
            C, c = direct(X[kept], Y[kept], weights[kept], alpha, intercept)
            error = (Y[i] - c - X[i] @ C) * np.sqrt(weights[i])
            np.testing.assert_allclose(E[i, :, k], error, atol=1e-9)
    total = rs.leave_one_out_errors(S, ALPHAS, total=True)
    np.testing.assert_allclose(total, np.sum(E**2, axis=0))


@pytest.mark.parametrize("weighted", [True, False])
def test_products_of_rows_sparse_and_dense(weighted, rng):
    X = rng.standard_normal((6, 9)) * (rng.random((6, 9)) < 0.5)
    w = rng.uniform(0.5, 2, 6) if weighted else None
    weights = np.ones(6) if w is None else w
    m = np.average(X, axis=0, weights=weights)
    Xc = np.sqrt(weights)[:, None] * (X - m)
    dual, B = rng.standard_normal((6, 2)), rng.standard_normal((9, 2))
    for rows in (X, sp.csr_array(X)):
        K, mean = rs.row_gram_matrix(rows, w)
        np.testing.assert_allclose(K, Xc @ Xc.T, atol=1e-12)
        np.testing.assert_allclose(mean, m)
        np.testing.assert_allclose(rs.primal_from_dual(rows, w, m, dual), Xc.T @ dual)
        np.testing.assert_allclose(rs.centred_product(rows, w, m, B), Xc @ B)


def test_minimum_norm_and_where_it_is_refused(rng):
    X, Y = rng.standard_normal((5, 12)), rng.standard_normal((5, 1))
    fit = rs.minimum_norm_fit(X, Y, None, intercept=True)
    Xc = X - X.mean(axis=0)
    np.testing.assert_allclose(fit.B, np.linalg.pinv(Xc) @ Y, atol=1e-10)
    np.testing.assert_allclose(X @ fit.B + fit.intercept, Y, atol=1e-10)
    sizes = np.linalg.svd(Xc, compute_uv=False)
    np.testing.assert_allclose(fit.singular, sizes[:4], rtol=1e-8)
    twice = np.vstack([X[:4], X[:1]])
    assert rs.minimum_norm_fit(twice, Y, None, intercept=False) is None
    assert (
        rs.minimum_norm_fit(X, Y, np.array([0, 1, 1, 1, 1.0]), intercept=True) is None
    )


def test_directions_without_length_count_nothing():
    S = rs.RidgeSpectrum(np.array([4.0, 0.0]), None, None, None, None, None, None)
    np.testing.assert_array_equal(S.shrink([0.0, 1.0]), [[0.25, 0.2], [0, 1]])
