"""Neighbour graphs against scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph, radius_neighbors_graph

from pansophy import graphs


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
