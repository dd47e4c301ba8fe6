"""Bisecting k-means: a tree of splits, each a partition of its parent."""

import numpy as np
import pytest
import sklearn.cluster as peer
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from pansophy.cluster import BisectingKMeans, KMeans


def blobs(n=600, d=3, k=6, gap=6.0, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(n, d)) + gap * rng.normal(size=(k, d))[rng.integers(0, k, n)]
    )


def leaves_under(model, node):
    left, right = model.children_[node]
    if left < 0:
        return {int(np.flatnonzero(model.leaves_ == node)[0])}
    return leaves_under(model, left) | leaves_under(model, right)


@pytest.mark.parametrize("strategy", ["biggest_inertia", "largest_cluster"])
def test_k_clusters_after_k_minus_1_splits_each_a_partition(strategy):
    X = blobs()
    for k in (1, 2, 5, 9):
        model = BisectingKMeans(k, bisecting_strategy=strategy, random_state=0).fit(X)
        assert model.n_iter_ == k - 1
        assert sorted(np.unique(model.labels_)) == list(range(k))
        forks = np.flatnonzero(model.children_[:, 0] >= 0)
        assert len(forks) == k - 1
        for node in forks:
            left, right = (leaves_under(model, c) for c in model.children_[node])
            assert not left & right
            assert left | right == leaves_under(model, node)
        means = [X[model.labels_ == j].mean(axis=0) for j in range(k)]
        np.testing.assert_allclose(model.cluster_centers_, means)


def test_objective_falls_with_every_split():
    model = BisectingKMeans(10, random_state=0).fit(blobs())
    J = model.history_["objective"]
    assert np.all(np.diff(J) < 0)
    assert model.inertia_ == pytest.approx(J[-1])
    assert model.score(blobs()) == pytest.approx(-J[-1])


def test_the_leaf_to_split_is_the_one_asked_for():
    # eight rows close together, two far apart from each other
    X = np.r_[np.linspace(0, 1, 8), 100.0, 140.0][:, None]
    a = BisectingKMeans(3, n_init=5, random_state=0).fit(X)
    assert sorted(np.bincount(a.labels_)) == [1, 1, 8]
    how = {"bisecting_strategy": "largest_cluster", "n_init": 5, "random_state": 0}
    b = BisectingKMeans(3, **how).fit(X)
    assert sorted(np.bincount(b.labels_)) == [2, 4, 4]


def test_rows_keep_their_label_and_go_down_the_tree():
    X = blobs(gap=12.0)
    model = BisectingKMeans(5, tol=0, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_as_good_as_sklearns():
    X = blobs(4000, 5, 12, gap=3.0)
    ours = [BisectingKMeans(12, random_state=s).fit(X).inertia_ for s in range(8)]
    theirs = [
        peer.BisectingKMeans(12, random_state=s).fit(X).inertia_ for s in range(8)
    ]
    assert np.mean(ours) <= 1.1 * np.mean(theirs)
    assert KMeans(12, n_init=8, random_state=0).fit(X).inertia_ <= 1.01 * min(ours)


def test_weights_are_repeated_rows():
    X, rng = blobs(100), np.random.default_rng(0)
    w = rng.integers(1, 4, 100)
    a = BisectingKMeans(4, random_state=1).fit(X, sample_weight=w)
    b = BisectingKMeans(4, random_state=1).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_)
    assert a.inertia_ == pytest.approx(b.inertia_)


def test_sparse_rows_and_tensors():
    X = blobs(300, 6, 4) * (np.random.default_rng(0).random((300, 6)) < 0.6)
    a = BisectingKMeans(4, random_state=0).fit(X)
    b = BisectingKMeans(4, random_state=0).fit(sparse.csr_array(X))
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, atol=1e-9)
    np.testing.assert_array_equal(b.predict(sparse.csr_array(X)), a.predict(X))
    torch = pytest.importorskip("torch")
    c = BisectingKMeans(4, random_state=0).fit(torch.asarray(X))
    np.testing.assert_allclose(c.cluster_centers_.numpy(), a.cluster_centers_)
    np.testing.assert_array_equal(c.predict(torch.asarray(X)).numpy(), a.predict(X))


def test_equal_rows_cannot_be_split(tmp_path):
    X = np.repeat([[1.0], [5.0]], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\) found"):
        model = BisectingKMeans(4, random_state=0).fit(X)
    assert len(model.cluster_centers_) == 2
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": X[:, 0]}), tmp_path / "x.parquet")
    with pytest.raises(TypeError, match="needs its rows in memory"):
        BisectingKMeans(2).fit(tmp_path / "x.parquet")
