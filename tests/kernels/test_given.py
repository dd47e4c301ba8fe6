"""Kernels that are given: functions, matrices, asymmetry."""

import numpy as np
import pytest

from pansophy import kernels as K
from pansophy.kernels import RBF, check_psd


def test_functions_as_kernels(rows):
    X, Z = rows
    row = K.FunctionKernel(lambda x, z: x @ z)
    many = K.FunctionKernel(lambda A, B: A @ B.T)
    for k in (row, many):
        np.testing.assert_allclose(k(X, Z), X @ Z.T)
        np.testing.assert_allclose(k(X), X @ X.T)
        np.testing.assert_allclose(k.diag(X), (X * X).sum(axis=1))
    with pytest.raises(ValueError, match="not symmetric"):
        K.FunctionKernel(lambda x, z: x[0] - z[0])(X)
    power = K.FunctionKernel(lambda x, z, p: (x @ z) ** p, params={"p": 2})
    np.testing.assert_allclose(power(X, Z), (X @ Z.T) ** 2)


def test_precomputed_is_addressed_by_number(rows):
    X, _ = rows
    k = K.Precomputed(RBF()(X))
    np.testing.assert_allclose(k(np.arange(12)[:, None]), RBF()(X))
    np.testing.assert_allclose(
        k.matmul([[3], [1]], np.arange(12)[:, None], X[:, 0]),
        RBF().matmul(X[[3, 1]], X, X[:, 0]),
    )
    for bad, words in (
        (np.ones((2, 3)), "square"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), "not symmetric"),
    ):
        with pytest.raises(ValueError, match=words):
            K.Precomputed(bad)
    with pytest.raises(ValueError, match="from 0 to 11"):
        k([[12]], [[0]])


def test_asymmetric_kernels_have_two_maps(rows):
    X, Z = rows
    k = K.Asymmetric(RBF(), X)
    np.testing.assert_allclose(k(Z, X).sum(axis=1), 1)
    assert not k.is_symmetric(X) and K.Asymmetric(RBF()).is_symmetric(X)
    with pytest.raises(ValueError, match="symmetric"):
        check_psd(k(X))
    source, target = k.maps(X)
    np.testing.assert_allclose(source @ target.T, k(X), atol=1e-12)
    graph = np.array([[0.0, 1, 0], [0, 0, 1], [0, 0, 0]])
    edges = K.Asymmetric(graph)
    nodes = np.arange(3)[:, None]
    np.testing.assert_array_equal(edges(nodes), graph)
    assert not edges.is_symmetric(nodes)
    difference = K.Asymmetric(lambda x, z: np.exp(x[0] - z[0]))
    assert not difference.is_symmetric(X)
