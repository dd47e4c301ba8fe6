"""Neighbour graphs, components, Laplacians, cuts and spectral maps."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph, radius_neighbors_graph

from pansophy import graphs
from tests.oracles import graphs as oracle


def weights(n, seed, share=0.3):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < share))
    return W + np.triu(W, 1).T


def rows(n=60, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
@pytest.mark.parametrize("include_self", [True, False])
def test_knn_graph_equals_scikit_learn(mode, include_self):
    X = rows()
    ours = graphs.knn_graph(X, 5, mode=mode, include_self=include_self)
    peer = kneighbors_graph(X, 5, mode=mode, include_self=include_self)
    assert_allclose(ours.toarray(), peer.toarray(), rtol=1e-12)
    assert ours.nnz == 5 * len(X)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_radius_graph_equals_scikit_learn(metric):
    X = rows()
    ours = graphs.radius_graph(X, 1.1, metric=metric)
    peer = radius_neighbors_graph(X, 1.1, mode="distance", metric=metric)
    assert_allclose(ours.toarray(), peer.toarray(), rtol=1e-12)
    own = graphs.radius_graph(X, 1.1, mode="connectivity", include_self=True)
    assert_array_equal(own.diagonal(), 1)


def test_symmetric_graphs():
    X = rows()
    G = graphs.knn_graph(X, 4).toarray()
    made = {
        how: graphs.knn_graph(X, 4, symmetric=how).toarray()
        for how in ("either", "mutual", "mean")
    }
    assert_allclose(made["either"], np.maximum(G, G.T))
    assert_allclose(made["mutual"], np.minimum(G, G.T))
    assert_allclose(made["mean"], (G + G.T) / 2)
    with pytest.raises(ValueError, match="symmetric"):
        graphs.knn_graph(X, 4, symmetric="both")


def test_edges_between_equal_rows_stay():
    X = np.zeros((4, 2))
    G = graphs.radius_graph(X, 0.0)
    assert G.nnz == 12
    assert graphs.connected_components(G)[0] == 1
    assert_array_equal(graphs.minimum_spanning_tree(G).weight, np.zeros(3))


def test_threshold_graph_of_points_and_of_distances():
    X = rows(40)
    D = pairwise_distances(X)
    for mode in ("distance", "connectivity"):
        a = graphs.threshold_graph(X, 0.9, mode=mode).toarray()
        b = graphs.threshold_graph(D, 0.9, mode=mode, metric="precomputed").toarray()
        c = graphs.threshold_graph(
            sp.csr_array(D), 0.9, mode=mode, metric="precomputed"
        ).toarray()
        assert_allclose(a, b, rtol=1e-12)
        assert_allclose(b, c)


def test_bad_arguments():
    X = rows(5)
    with pytest.raises(ValueError, match="k must be"):
        graphs.knn_graph(X, 5)
    with pytest.raises(ValueError, match="mode"):
        graphs.radius_graph(X, 1.0, mode="length")
    with pytest.raises(ValueError, match="square"):
        graphs.threshold_graph(X, 1.0, metric="precomputed")
    with pytest.raises(ValueError, match="kind"):
        graphs.cut_value(np.eye(3), [0, 0, 1], "max")
    with pytest.raises(ValueError, match="2 labels"):
        graphs.cut_value(np.eye(3), [0, 1])
    with pytest.raises(ValueError, match="k must be"):
        graphs.laplacian_eigenvectors(np.eye(3), 4)
    with pytest.raises(ValueError, match="method"):
        graphs.laplacian_eigenvectors(np.eye(3), 1, method="power")


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 12), st.integers(0, 1000))
def test_components_equal_the_slow_walk(n, seed):
    A = np.triu(weights(n, seed, 0.15))
    count, z = graphs.connected_components(A)
    assert_array_equal(z, oracle.components(A))
    assert count == z.max() + 1


@pytest.mark.parametrize(
    "make", [np.asarray, sp.csr_array, sp.csr_matrix, sp.coo_array]
)
def test_laplacian(make):
    W = weights(12, 0)
    W[3] = W[:, 3] = 0  # a row without edges
    dense = lambda A: A.toarray() if sp.issparse(A) else A
    L = dense(graphs.laplacian(make(W)))
    assert_allclose(L, oracle.laplacian(W), atol=1e-14)
    assert_allclose(L, sp.csgraph.laplacian(W, normed=True), atol=1e-14)
    L = dense(graphs.laplacian(make(W), normed=False))
    assert_allclose(L, sp.csgraph.laplacian(W), atol=1e-14)
    assert_allclose(graphs.node_degrees(make(W)), W.sum(axis=1) - np.diag(W))


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 9), st.integers(0, 1000), st.integers(1, 3))
def test_cut_values(n, seed, k):
    W = weights(n, seed)
    z = np.random.default_rng(seed).integers(0, k, n)
    for kind in ("cut", "ratio", "normalized"):
        value = graphs.cut_value(W, z, kind)
        assert value >= 0
        assert_allclose(value, oracle.cut(W, z, kind), atol=1e-12)
        assert_allclose(value, graphs.cut_value(sp.csr_array(W), -z, kind))


def test_cut_is_a_quadratic_form_of_the_laplacian():
    W = weights(10, 3, 0.8)
    z = np.arange(10) % 2
    L = graphs.laplacian(W, normed=False)
    assert_allclose(z @ L @ z, graphs.cut_value(W, z, "cut"))


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
