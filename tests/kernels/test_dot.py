"""Dot-product kernels: the monomial map, where a sigmoid is no kernel."""

import numpy as np
import pytest

from pansophy import kernels as K
from pansophy.kernels import Polynomial, check_psd


def test_sigmoid_warns_where_it_is_no_kernel():
    x = np.array([[1.0], [2.0]])
    with pytest.warns(K.IndefiniteKernelWarning, match="least eigenvalue"):
        gram = K.Sigmoid()(x)
    assert np.linalg.det(gram) == pytest.approx(-0.1682658, abs=5e-8)
    with pytest.warns(K.IndefiniteKernelWarning):
        (2.0 * K.Sigmoid())(x)
    verdict = check_psd(K.Sigmoid(), x)
    assert not verdict.psd and verdict.minor == (0, 1)
    u, v = np.array([[1.0, 2.0]]), np.array([[3.0, -1.0]])
    assert K.Sigmoid(0.1)(u, v).item() == pytest.approx(0.099668, abs=5e-7)


def test_sigmoid_gradient(rows):
    X, Z = rows
    for k in (K.Sigmoid(0.3, 0.2), K.Sigmoid(0.3, -0.2)):
        for i in range(len(k.theta)):
            step = 1e-5 * np.eye(len(k.theta))[i]
            up, down = (k.with_theta(k.theta + s)(X, Z) for s in (step, -step))
            np.testing.assert_allclose(
                k.gradient(X, Z)[i], (up - down) / 2e-5, atol=1e-8
            )


def entry(k, x, z):
    """k of two rows, alone."""
    return k(x[None, :], z[None, :])[0, 0]


def test_polynomial_is_its_monomial_map():
    def phi(x):
        a, b = x
        r = np.sqrt(2)
        return np.array([1, r * a, r * b, r * a * b, a * a, b * b])

    x, z = np.array([1.0, 2.0]), np.array([3.0, -1.0])
    np.testing.assert_allclose(
        phi(x), [1, 1.414214, 2.828427, 2.828427, 1, 4], atol=5e-7
    )
    assert phi(x) @ phi(z) == pytest.approx(entry(Polynomial(2), x, z))
