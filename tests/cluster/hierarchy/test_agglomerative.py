"""Linkage trees, their cuts, and clustering by them."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist, squareform
from sklearn import cluster as peer
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from pansophy import plot
from pansophy.cluster import (
    AgglomerativeClustering,
    FeatureAgglomeration,
    cut_tree,
    leaf_order,
    linkage_matrix,
)

METHODS = ["single", "complete", "average", "ward"]


def rows(n=80, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("linkage", METHODS)
@pytest.mark.parametrize("neighbours", [None, 6, 2])
@pytest.mark.parametrize("k", [2, 7, 150])
def test_equals_scikit_learn(linkage, neighbours, k):
    X = rows(300)
    graph = None if neighbours is None else kneighbors_graph(X, neighbours)
    how = {"linkage": linkage, "connectivity": graph, "compute_distances": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a = AgglomerativeClustering(k, **how).fit(X)
        b = peer.AgglomerativeClustering(k, **how).fit(X)
    assert adjusted_rand_score(a.labels_, b.labels_) == 1
    assert_allclose(a.distances_, b.distances_, rtol=1e-10)
    assert a.n_connected_components_ == b.n_connected_components_
    if graph is None or linkage != "single":  # equal up to the order of the two
        assert_array_equal(np.sort(a.children_), np.sort(b.children_))


def test_threshold_callables_and_cache(tmp_path):
    X = rows(50)
    how = {"distance_threshold": 1.5, "linkage": "average"}
    a = AgglomerativeClustering(None, **how).fit(X)
    b = peer.AgglomerativeClustering(None, **how).fit(X)
    assert a.n_clusters_ == b.n_clusters_
    assert adjusted_rand_score(a.labels_, b.labels_) == 1
    square = lambda X: squareform(pdist(X))
    c = AgglomerativeClustering(3, metric=square, linkage="average").fit(X)
    d = AgglomerativeClustering(3, linkage="average", memory=str(tmp_path)).fit(X)
    assert_array_equal(c.labels_, d.labels_)
    e = AgglomerativeClustering(3, connectivity=lambda X: kneighbors_graph(X, 10)).fit(
        X
    )
    f = AgglomerativeClustering(3, connectivity=kneighbors_graph(X, 10)).fit(X)
    assert_array_equal(e.labels_, f.labels_)


def test_refusals():
    X = rows(10)
    cases = [
        ({"n_clusters": 11}, "more clusters than samples"),
        ({"n_clusters": None}, "Exactly one"),
        ({"n_clusters": None, "distance_threshold": 1.0, "compute_full_tree": False},
         "compute_full_tree"),
        ({"metric": "manhattan"}, "Ward can only"),
        ({"connectivity": np.ones((3, 3))}, "Wrong shape"),
        ({"linkage": "weighted", "connectivity": np.ones((10, 10))}, "weighted"),
        ({"metric": "precomputed", "linkage": "single"}, "square"),
    ]  # fmt: skip
    for params, words in cases:
        with pytest.raises(ValueError, match=words):
            AgglomerativeClustering(**params).fit(X)
    with pytest.raises(ValueError, match="cosine"):
        linkage_matrix(np.eye(4)[:, :3], "average", metric="cosine")
    with pytest.raises(ValueError, match="either k or height"):
        cut_tree(linkage_matrix(X))
    with pytest.raises(ValueError, match="from 1 to the 10"):
        cut_tree(linkage_matrix(X), 11)
    with pytest.raises(ValueError, match="NaN"):
        linkage_matrix([[np.nan], [1.0]])
    with pytest.raises(ValueError, match="method must be"):
        linkage_matrix(X, "nearest")


def test_feature_agglomeration_equals_scikit_learn():
    X = rows(30, 12)
    for linkage in METHODS:
        a = FeatureAgglomeration(4, linkage=linkage).fit(X)
        b = peer.FeatureAgglomeration(4, linkage=linkage).fit(X)
        assert adjusted_rand_score(a.labels_, b.labels_) == 1
        order = [b.labels_[np.flatnonzero(a.labels_ == c)[0]] for c in range(4)]
        assert_allclose(a.transform(X), b.transform(X)[:, order])
        back = a.inverse_transform(a.transform(X))
        assert_allclose(back, b.inverse_transform(b.transform(X)))
    top = FeatureAgglomeration(4, pooling_func=np.max).fit(X)
    for c in range(4):
        column = X[:, top.labels_ == c].max(axis=1)
        assert_allclose(top.transform(X)[:, c], column)
    assert list(top.get_feature_names_out()) == [
        f"featureagglomeration{c}" for c in range(4)
    ]


def test_dendrogram_draws_every_merge():
    X = rows(12, 2)
    Z = linkage_matrix(X, "average")
    ax = plot.dendrogram(Z, k=3)
    paths = [p for c in ax.collections for p in c.get_paths()]
    assert len(paths) == 11
    tops = sorted(p.vertices[1, 1] for p in paths)
    assert_allclose(tops, Z[:, 2])
    assert len(ax.collections) == 1 + sum(
        np.bincount(cut_tree(Z, 3)) > 1
    )  # the colours of the clusters that have a merge, and grey
    words = [t.get_text() for t in ax.get_xticklabels()]
    assert words == [str(i) for i in leaf_order(Z)]
    model = AgglomerativeClustering(linkage="average").fit(X)
    flat = plot.dendrogram(model, horizontal=True, names=list("abcdefghijkl"))
    assert flat.get_xlabel() == "height"
    assert len(flat.collections) == 1
    assert flat.get_yticklabels()[0].get_text() in "abcdefghijkl"
    with pytest.raises(ValueError, match="merges"):
        plot.dendrogram(np.ones((3, 2)))
