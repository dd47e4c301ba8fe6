"""Stationary kernels: periods, limits, orders, points that are close."""

import numpy as np
import pytest
from scipy import sparse

from pansophy import kernels as K
from pansophy.kernels import RBF, Linear, check_psd, get_kernel


def test_periodic_functions_repeat(rng):
    X, x = rng.random((8, 1)) * 5, rng.random((4, 1)) * 5
    k = K.Periodic(0.7, 2 * np.pi / 3)
    V = rng.standard_normal(8)
    np.testing.assert_allclose(
        k.matmul(x, X, V), k.matmul(x + 2 * np.pi / 3, X, V), rtol=1e-10
    )
    circle = lambda A: np.hstack([np.sin(3 * A), np.cos(3 * A)])
    np.testing.assert_allclose(k(x, X), RBF(0.7)(circle(x), circle(X)))
    # the form with the sine alone is a kernel after a change of input
    faithful = RBF(width=0.7).on(lambda A: np.sin(3 * A))
    np.testing.assert_allclose(faithful(x, X), faithful(x + 2 * np.pi / 3, X))


def test_semi_parametric_functions_are_linear_far_away(rng):
    X = rng.standard_normal((10, 1))
    k = 2.0 * RBF(0.5) + 0.3 * Linear()
    V = rng.standard_normal(10)
    far = np.array([[50.0], [51.0], [52.0]])
    a, b, c = k.matmul(far, X, V)
    assert c - b == pytest.approx(b - a)


def test_truncated_gaussian_converges_and_stays_psd(rows):
    X = rows[0]
    gaps = []
    for order in (0, 1, 2, 5, 40):
        part = K.truncated_rbf(X, order=order)
        assert check_psd(part).psd
        gaps.append(np.abs(part - RBF()(X)).max())
    assert gaps[-1] < 1e-12 and sorted(gaps, reverse=True) == gaps


def test_sparse_rows_with_one_length_scale_each(rows):
    X, Z = (np.where(np.abs(A) < 0.5, 0, A) for A in rows)
    k = 2.0 * K.Matern([0.5, 1.0, 2.0], 2.5) + K.White(0.1)
    A, B = sparse.csr_array(X), sparse.csr_array(Z)
    np.testing.assert_allclose(k(A, B), k(X, Z), atol=1e-12)
    np.testing.assert_allclose(
        k.contract(A, None, np.ones((12, 12))), k.contract(X, None, np.ones((12, 12)))
    )


def test_matern_of_any_order_at_equal_and_close_points():
    x = np.array([[0.0], [0.0], [1e-9], [1e-3], [50.0], [2000.0]])
    for nu in (0.3, 1.0, 3.7):
        gram = K.Matern(nu=nu)(x)
        assert np.isfinite(gram).all() and gram[0, 1] == pytest.approx(1)
        assert np.isfinite(K.Matern(nu=nu).gradient(x)).all()
    for nu in (0.5, 1.5, 2.5):  # the general formula meets the special ones
        near = K.Matern(nu=nu * (1 + 1e-9))(x)
        np.testing.assert_allclose(near, K.Matern(nu=nu)(x), atol=1e-6)


def test_gamma_reads_back():
    assert RBF(gamma=0.3).gamma == pytest.approx(0.3)
    assert RBF(width=2.0).length_scale == pytest.approx(2**0.5)
    assert get_kernel("linear") == Linear() and get_kernel(RBF(2.0)) == RBF(2.0)
    assert get_kernel("rbf", gamma=0.5) == RBF(1.0)


def test_close_points_far_from_zero(rng):
    X = rng.standard_normal((40, 6)) * 1e-4 + 1e4
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(RBF(1e-4)(X, X), np.exp(-D / 2e-8), rtol=1e-6)
