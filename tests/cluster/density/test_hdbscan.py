"""Density clusters of every scale."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform
from sklearn import cluster as peer
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from pansophy.cluster import HDBSCAN
from pansophy.cluster.density import hdbscan as module
from pansophy.cluster.density.hdbscan import cluster_stabilities, condense_tree


def blobs(n=300, d=2, k=4, seed=0, noise=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 6 * rng.normal(size=(k, d))[rng.integers(0, k, n)]
    X[: n // noise] = rng.uniform(X.min(), X.max(), (n // noise, d))
    return X


def fit_peer(X, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return peer.HDBSCAN(copy=True, **how).fit(X)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"min_cluster_size": 12},
        {"cluster_selection_method": "leaf"},
        {"allow_single_cluster": True},
        {"allow_single_cluster": True, "min_cluster_size": 150},
        {"max_cluster_size": 40},
        {"metric": "manhattan"},
        {"metric": "canberra"},
        {"metric": "precomputed"},
        {"algorithm": "brute"},
        {"alpha": 1.3},
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_equals_scikit_learn_where_heights_differ(how, seed):
    """min_samples=1: without equal heights the tree is one and the same."""
    X = blobs(seed=seed)
    X = pairwise_distances(X) if how.get("metric") == "precomputed" else X
    how = {"min_samples": 1, **how}
    a, b = HDBSCAN(**how).fit(X), fit_peer(X, **how)
    assert adjusted_rand_score(a.labels_, b.labels_) == 1
    assert_allclose(a.probabilities_, b.probabilities_, atol=1e-9)
    assert_array_equal(a.labels_ < 0, b.labels_ < 0)


@pytest.mark.parametrize("d", [2, 8])
def test_nearly_equals_scikit_learn_with_equal_heights(d):
    X = blobs(500, d)
    a, b = HDBSCAN().fit(X), fit_peer(X)
    assert a.labels_.max() == b.labels_.max()
    assert adjusted_rand_score(a.labels_, b.labels_) > 0.97


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
@pytest.mark.parametrize("method", ["eom", "leaf"])
def test_epsilon_undoes_splits(epsilon, method):
    X = blobs(400, 8, 6)
    how = {"min_samples": 1, "cluster_selection_method": method}
    fine = HDBSCAN(**how).fit(X)
    model = HDBSCAN(cluster_selection_epsilon=epsilon, **how).fit(X)
    assert model.labels_.max() <= fine.labels_.max()
    b = fit_peer(X, cluster_selection_epsilon=epsilon, **how)
    assert adjusted_rand_score(model.labels_, b.labels_) == 1


def test_tree_is_single_linkage_of_mutual_reachability():
    X = blobs(80)
    D = squareform(pdist(X))
    core = np.sort(D, axis=1)[:, 4]
    m = np.maximum(np.maximum(D, core), core[:, None])
    np.fill_diagonal(m, 0)
    Z = hierarchy.linkage(squareform(m), "single")
    assert_allclose(HDBSCAN().fit(X).linkage_matrix_[:, 2], Z[:, 2])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_order_of_rows_does_not_matter(seed):
    X = blobs(90, seed=seed)
    order = np.random.default_rng(seed).permutation(90)
    model = HDBSCAN(4, ties="together")
    a, b = clone(model).fit(X), clone(model).fit(X[order])
    assert_array_equal(a.labels_[order] < 0, b.labels_ < 0)
    assert adjusted_rand_score(a.labels_[order], b.labels_) == 1
    assert_allclose(a.probabilities_[order], b.probabilities_)


def test_condensed_tree_by_hand():
    X = np.array([[0.0], [1], [2], [10], [11], [12], [30]])
    model = HDBSCAN(3, min_samples=1, ties="together").fit(X)
    # at 18 row 6 drops out; at 8 two clusters of three; each falls apart at 1
    tree = condense_tree(model.linkage_matrix_, 3)
    tops = tree[tree[:, 1] >= 7]
    assert_allclose(tops, [[7, 8, 1 / 8, 3], [7, 9, 1 / 8, 3]])
    S, birth = cluster_stabilities(tree, 7)
    assert_allclose(S, [1 / 18 + 6 / 8, 3 * 7 / 8, 3 * 7 / 8])
    assert_allclose(birth, [0, 1 / 8, 1 / 8])
    assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 1, -1])
    assert_allclose(model.probabilities_, [1, 1, 1, 1, 1, 1, 0])
    assert_array_equal(tree, model.condensed_tree_)


def test_centers_equal_scikit_learn():
    X = blobs(200, 3)
    a = HDBSCAN(min_samples=1, store_centers="both").fit(X)
    b = fit_peer(X, min_samples=1, store_centers="both")
    order = [b.labels_[np.flatnonzero(a.labels_ == c)[0]]
             for c in range(len(a.centroids_))]  # fmt: skip
    assert_allclose(a.centroids_, b.centroids_[order])
    assert_allclose(a.medoids_, b.medoids_[order])


def test_cut_of_the_tree_is_dbscan_of_core_rows():
    X = blobs(200)
    model = HDBSCAN(min_samples=5).fit(X)
    z = model.dbscan_clustering(0.8, min_cluster_size=2)
    b = fit_peer(X, min_samples=5).dbscan_clustering(0.8, min_cluster_size=2)
    assert adjusted_rand_score(z, b) == 1
    db = peer.DBSCAN(eps=0.8, min_samples=5).fit(X)
    core = db.core_sample_indices_
    both = core[z[core] >= 0]
    assert adjusted_rand_score(z[both], db.labels_[both]) == 1


def test_missing_and_infinite_rows():
    X = blobs(100)
    bad = X.copy()
    bad[3, 0], bad[7, 1] = np.nan, np.inf
    a = HDBSCAN().fit(bad)
    b = HDBSCAN().fit(np.delete(X, [3, 7], axis=0))
    assert (a.labels_[3], a.labels_[7]) == (-3, -2)
    assert np.isnan(a.probabilities_[3])
    assert a.probabilities_[7] == 0
    assert_array_equal(np.delete(a.labels_, [3, 7]), b.labels_)
    peers = fit_peer(bad)
    assert_array_equal(a.labels_ < -1, peers.labels_ < -1)
    assert a.dbscan_clustering(1.0)[3] == -3


def test_sparse_distances_and_rows():
    X = blobs(80)
    D = pairwise_distances(X)
    expected = HDBSCAN(metric="precomputed").fit_predict(D)
    full = sp.csr_array((D.ravel(), np.tile(np.arange(80), 80), np.arange(0, 6401, 80)))
    assert_array_equal(HDBSCAN(metric="precomputed").fit_predict(full), expected)
    assert_array_equal(HDBSCAN().fit_predict(sp.csr_array(X)), expected)
    apart = np.kron(np.eye(2), D[:20, :20])
    with pytest.raises(ValueError, match="2 connected components"):
        HDBSCAN(metric="precomputed").fit(sp.csr_array(apart))


def test_equal_rows():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 10, axis=0)
    model = HDBSCAN().fit(X)
    assert_array_equal(model.labels_, np.repeat([0, 1], 10))
    assert_array_equal(model.probabilities_, 1)


def test_refusals():
    X = blobs(30)
    for how, words in [
        ({"min_samples": 31}, "min_samples"),
        ({"min_cluster_size": 1}, "at least 2"),
        ({"algorithm": "kd_tree", "metric": "cosine"}, "kd_tree"),
        ({"metric": "precomputed"}, "square"),
    ]:
        with pytest.raises(ValueError, match=words):
            HDBSCAN(**how).fit(X)
    D = pairwise_distances(X)
    D[0, 1] += 1
    with pytest.raises(ValueError, match="symmetric"):
        HDBSCAN(metric="precomputed").fit(D)
    with pytest.raises(ValueError, match="store_centers"):
        HDBSCAN(metric="precomputed", store_centers="both").fit(pairwise_distances(X))


def test_the_same_clusters_whichever_way_the_tree_was_grown(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3)) + 6 * rng.normal(size=(8, 3))[rng.integers(0, 8, 700)]
    labels = {}
    for way in (True, False):
        monkeypatch.setattr(module, "boruvka_is_faster", lambda *_, way=way: way)
        labels[way] = HDBSCAN(min_cluster_size=10).fit(X).labels_
    np.testing.assert_array_equal(labels[True], labels[False])


def test_ties_are_taken_as_scikit_learn_takes_them():
    sets = [
        make_moons(150, noise=0.05, random_state=30)[0],
        make_circles(150, factor=0.5, noise=0.05, random_state=30)[0],
        make_blobs(150, random_state=30)[0],
        make_blobs(150, cluster_std=[1, 2.5, 0.5], random_state=170)[0],
    ]
    for X in sets:
        for size in (5, 15):
            for method in ("eom", "leaf"):
                how = {"min_cluster_size": size, "cluster_selection_method": method}
                a, b = HDBSCAN(**how).fit(X), peer.HDBSCAN(copy=True, **how).fit(X)
                assert adjusted_rand_score(a.labels_, b.labels_) == 1
                assert_allclose(a.probabilities_, b.probabilities_, atol=1e-9)


def test_ball_trees_take_any_of_their_metrics():
    X = np.abs(make_blobs(60, random_state=0)[0])
    a = HDBSCAN(algorithm="ball_tree", metric="canberra").fit(X)
    b = HDBSCAN(algorithm="brute", metric="canberra").fit(X)
    assert_array_equal(a.labels_, b.labels_)
    V = np.cov(X.T)
    how = {"algorithm": "ball_tree", "metric": "mahalanobis"}
    a = HDBSCAN(metric_params={"V": V}, **how).fit(X)
    b = HDBSCAN(metric_params={"VI": np.linalg.inv(V)}, **how).fit(X)
    assert_array_equal(a.labels_, b.labels_)
    with pytest.raises(ValueError, match="canberra is not a valid metric"):
        HDBSCAN(algorithm="kd_tree", metric="canberra").fit(X)


def test_bad_distances_are_named(rng):
    X = rng.normal(size=(30, 2))
    D = pairwise_distances(X)
    model = HDBSCAN(metric="precomputed")
    wrong = D.copy()
    wrong[0, 1] = 9.0
    missing = D.copy()
    missing[2, 3] = np.nan
    for bad, words in [
        (X, r"has shape \(30, 2\)"),
        (wrong, "other values below the diagonal"),
        (missing, "np.nan values found in precomputed-dense distances"),
        (sp.csr_array((30, 30)), "points with fewer than 5 neighbors"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.fit(bad)
    for tree in ("kd_tree", "ball_tree"):
        with pytest.raises(ValueError, match=f"valid metric for a {tree}-based"):
            HDBSCAN(metric=lambda a, b: 0.0, algorithm=tree).fit(X)
