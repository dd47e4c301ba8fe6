"""Eigenvectors of the Laplacian against a dense solver."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from pansophy import graphs
from tests.oracles import graphs as oracle


def weights(n, seed, share=0.3):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < share))
    return W + np.triu(W, 1).T


@pytest.mark.parametrize("method", ["dense", "lanczos", "shift_invert"])
@pytest.mark.parametrize("sparse", [True, False])
def test_spectral_map_equals_a_dense_solver(method, sparse):
    W = weights(80, 1, 0.1)
    W[:3, 3:] = W[3:, :3] = 0
    W[0, 1] = W[1, 0] = W[1, 2] = W[2, 1] = 0.5  # two components
    L = oracle.laplacian(W)
    A = sp.csr_array(W) if sparse else W
    values, U = graphs.laplacian_eigenvectors(
        A, 6, np.random.default_rng(0), method=method
    )
    assert_allclose(values, np.linalg.eigvalsh(L)[:6], atol=1e-9)
    assert_allclose(U.T @ U, np.eye(6), atol=1e-9)
    assert_allclose(L @ U, U * values, atol=1e-7)
    assert (U[np.abs(U).argmax(axis=0), np.arange(6)] > 0).all()


def test_null_vectors_tell_components_apart():
    W = sp.block_diag([np.ones((5, 5)), np.ones((3, 3)), np.ones((2, 2))], "csr")
    values, U = graphs.laplacian_eigenvectors(W, 3)
    assert_array_equal(values, 0)
    assert_array_equal((U != 0).sum(axis=0), [5, 3, 2])
    values, U = graphs.laplacian_eigenvectors(W, 10)
    L = graphs.laplacian(W).toarray()
    assert_allclose(values, np.linalg.eigvalsh(L), atol=1e-12)


def test_a_long_ring_falls_back_to_the_inverse():
    n = 3000
    W = sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[1, -1]).tolil()
    W[0, n - 1] = W[n - 1, 0] = 1
    values, _ = graphs.laplacian_eigenvectors(
        sp.csr_array(W), 4, np.random.default_rng(0)
    )
    expected = 1 - np.cos(2 * np.pi * np.array([0, 1, 1, 2]) / n)
    assert_allclose(values, expected, atol=1e-11)


def test_block_solver_and_multigrid(monkeypatch):
    X = np.random.default_rng(0).normal(size=(200, 3))
    W = graphs.knn_graph(X, 8, mode="connectivity", symmetric="mean")
    a = graphs.laplacian_eigenvectors(W, 4, method="dense")
    b = graphs.laplacian_eigenvectors(W, 4, method="lobpcg")
    np.testing.assert_allclose(a[0], b[0], atol=1e-10)
    np.testing.assert_allclose(a[1], b[1], atol=1e-6)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyamg", None)  # as if it were not installed
        with pytest.raises(ValueError, match="pyamg is not available"):
            graphs.laplacian_eigenvectors(W, 4, method="amg")
    pytest.importorskip("pyamg")
    b = graphs.laplacian_eigenvectors(W, 4, method="amg")
    np.testing.assert_allclose(a[0], b[0], atol=1e-10)
    np.testing.assert_allclose(a[1], b[1], atol=1e-6)
