"""What every kernel inherits: empty input, refusals, threads, changed inputs."""

import numpy as np
import pytest

from pansophy import kernels as K
from pansophy.kernels import RBF, check_psd


def test_empty_and_narrow_input():
    k = 2.0 * RBF() + K.White()
    assert k(np.empty((0, 2)), np.ones((3, 2))).shape == (0, 3)
    assert k.matmul(np.ones((3, 2)), np.empty((0, 2)), np.empty(0)).tolist() == [0] * 3
    none = np.empty((2, 0))
    for member in (RBF(), K.Matern(), K.Laplacian(), K.RationalQuadratic()):
        np.testing.assert_array_equal(member(none, none), np.ones((2, 2)))
    with pytest.raises(ValueError, match="V of matmul must have 3 rows"):
        RBF().matmul(np.ones((2, 1)), np.ones((3, 1)), np.ones(2))
    with pytest.raises(ValueError, match="W of contract must be of shape"):
        RBF().contract(np.ones((2, 1)), None, np.ones(2))
    with pytest.raises(ValueError, match="kernel on column 5"):
        RBF().on(5)(np.ones((2, 3)))


def test_threads_do_not_change_products(rng, monkeypatch):
    from pansophy.core import threads
    from pansophy.kernels import base

    monkeypatch.setattr(base, "WIDE", 16)
    X, V = rng.standard_normal((100, 3)), rng.standard_normal((100, 2))
    many = RBF().matmul(X, None, V), RBF().contract(X, None, (V, V))
    with threads.limit_threads(1):
        one = RBF().matmul(X, None, V), RBF().contract(X, None, (V, V))
    for a, b in zip(many, one, strict=True):
        np.testing.assert_array_equal(a, b)


def test_on_a_function_of_the_rows(points):
    X, Z = points
    k = RBF(0.8).on(np.sin)
    np.testing.assert_allclose(k(X, Z), RBF(0.8)(np.sin(X), np.sin(Z)))
    np.testing.assert_allclose(k.diag(X), np.ones(30))
    assert check_psd(k, X).psd
    np.testing.assert_allclose(k.with_theta([0.0])(X), RBF(1.0)(np.sin(X)))
    np.testing.assert_allclose(
        k.gradient(X, Z), RBF(0.8).gradient(np.sin(X), np.sin(Z))
    )


def test_adding_something_else_is_a_type_error():
    with pytest.raises(TypeError):
        RBF() + "rbf"


def test_constants_are_added_and_multiplied():
    """Worked values of a constant alone, in a sum and in a product."""
    x, z = np.array([[0.0], [1.0]]), np.array([[1.0]])
    np.testing.assert_array_equal(K.Constant(2.5)(x, z), [[2.5], [2.5]])
    np.testing.assert_array_equal(K.Constant(2.5).diag(x), [2.5, 2.5])
    np.testing.assert_array_equal((K.Constant(2.5) + K.Linear())(x, z), [[2.5], [3.5]])
    np.testing.assert_array_equal((K.Constant(2.5) * K.Linear())(x, z), [[0.0], [2.5]])
    assert K.Constant(0.0)(x, z).tolist() == [[0.0], [0.0]]
    with pytest.raises(ValueError, match="value"):
        K.Constant(-1.0)
