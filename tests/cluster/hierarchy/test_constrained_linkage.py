"""Merges along the edges of a graph: metrics, complete graphs, graphs in parts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist, squareform
from sklearn import cluster as peer
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from pansophy.cluster import (
    AgglomerativeClustering,
    linkage_matrix,
)
from pansophy.cluster.hierarchy.constrained_linkage import constrained_merges

METHODS = ["single", "complete", "average", "ward"]


def rows(n=80, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("linkage", ["single", "complete", "average"])
@pytest.mark.parametrize("metric", ["manhattan", "cosine", "precomputed"])
def test_graph_and_metric(linkage, metric):
    X = rows(60)
    graph = kneighbors_graph(X, 8)
    given_rows = squareform(pdist(X)) if metric == "precomputed" else X
    how = {"linkage": linkage, "metric": metric, "connectivity": graph}
    a = AgglomerativeClustering(4, **how).fit(given_rows)
    b = peer.AgglomerativeClustering(4, **how).fit(given_rows)
    assert adjusted_rand_score(a.labels_, b.labels_) == 1


def test_a_graph_of_all_pairs_changes_nothing():
    X = rows(40)
    G = np.ones((40, 40))
    for method in METHODS:
        heights = constrained_merges(X, G, method)[1]
        assert_allclose(heights, linkage_matrix(X, method)[:, 2], rtol=1e-9)
    heights = constrained_merges(X, G, "complete", metric="chebyshev")[1]
    expected = linkage_matrix(X, "complete", metric="chebyshev")[:, 2]
    assert_allclose(heights, expected, rtol=1e-9)


def test_a_graph_in_parts_is_completed_with_a_word():
    X = np.array([[0.0], [1], [10], [11]])
    G = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    with pytest.warns(UserWarning, match="is 2 > 1"):
        model = AgglomerativeClustering(2, connectivity=G).fit(X)
    assert_array_equal(model.labels_, [0, 0, 1, 1])
    assert model.n_connected_components_ == 2
