"""Minimum spanning trees."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse.csgraph import minimum_spanning_tree as scipy_tree
from scipy.spatial.distance import pdist, squareform

from pansophy import graphs
from tests.oracles import graphs as oracle

METRICS = ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine"]


def spans(tree, n):
    A = sp.coo_array((np.ones(len(tree.left)), (tree.left, tree.right)), shape=(n, n))
    return graphs.connected_components(A)[0] == 1 and len(tree.left) == n - 1


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("d", [1, 3, 4, 9])
def test_points(metric, d):
    if metric == "cosine" and d == 1:
        d = 2
    X = np.random.default_rng(d).normal(size=(40, d))
    tree = graphs.point_spanning_tree(X, metric=metric)
    D = squareform(pdist(X, metric))
    assert spans(tree, len(X))
    assert_allclose(tree.weight, np.sort(oracle.tree_weights(D)), rtol=1e-9)
    assert_allclose(D[tree.left, tree.right], tree.weight, rtol=1e-9)


def test_minkowski_and_precomputed():
    X = np.random.default_rng(0).normal(size=(30, 3))
    D = squareform(pdist(X, "minkowski", p=3))
    expected = np.sort(oracle.tree_weights(D))
    assert_allclose(
        graphs.point_spanning_tree(X, metric="minkowski", p=3).weight, expected
    )
    assert_allclose(
        graphs.point_spanning_tree(D, metric="precomputed").weight, expected
    )


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "precomputed"])
def test_no_edge_is_shorter_than_its_ends_allow(metric):
    rng = np.random.default_rng(1)
    X, core = rng.normal(size=(50, 2)), rng.uniform(0, 0.5, 50)
    kind = "euclidean" if metric == "precomputed" else metric
    D = np.maximum(np.maximum(squareform(pdist(X, kind)), core), core[:, None])
    given_rows = squareform(pdist(X)) if metric == "precomputed" else X
    tree = graphs.point_spanning_tree(given_rows, metric=metric, core=core)
    assert_allclose(tree.weight, np.sort(oracle.tree_weights(D)), rtol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(0, 1000))
def test_many_chunks_and_equal_points(n, seed):
    X = np.random.default_rng(seed).integers(0, 4, (n, 2)).astype(float)
    tree = graphs.point_spanning_tree(X)
    D = squareform(pdist(X)) if n > 1 else np.zeros((1, 1))
    assert spans(tree, n)
    assert_allclose(tree.weight.sum(), oracle.tree_weights(D).sum(), atol=1e-12)


def test_more_points_than_a_chunk():
    X = np.random.default_rng(0).normal(size=(1300, 3))
    tree = graphs.point_spanning_tree(X)
    expected = scipy_tree(squareform(pdist(X))).data
    assert_allclose(tree.weight, np.sort(expected))


def test_graph_tree_and_forest():
    rng = np.random.default_rng(0)
    G = sp.random(60, 60, 0.05, rng=rng, format="csr")
    tree = graphs.minimum_spanning_tree(G)
    both = G.minimum(G.T).toarray()
    both = np.where(both > 0, both, np.maximum(G.toarray(), G.T.toarray()))
    peer = scipy_tree(sp.csr_array(both)).data
    assert_allclose(tree.weight, np.sort(peer))
    assert len(tree.left) == 60 - graphs.connected_components(G)[0]


def test_unknown_metric_and_rows_without_direction():
    with pytest.raises(ValueError, match="metric must be"):
        graphs.point_spanning_tree(np.ones((3, 2)), metric="hamming")
    with pytest.raises(ValueError, match="cosine"):
        graphs.point_spanning_tree(np.eye(3)[:, :2], metric="cosine")
