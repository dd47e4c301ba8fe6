"""Divisive clustering."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist, squareform

from pansophy.cluster import Diana, cut_tree, diana_splits
from pansophy.cluster.hierarchy._diana import splinter_group
from tests.oracles import hierarchy as oracle


def rows(n=30, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("seed", range(5))
def test_a_split_equals_the_slow_one(seed):
    D = squareform(pdist(rows(15, 2, seed)))
    out = splinter_group(D, np.arange(15))
    stay, leave = oracle.splinter(D, list(range(15)))
    assert_array_equal(np.flatnonzero(out), leave)
    assert_array_equal(np.flatnonzero(~out), stay)


def test_first_split_isolates_a_far_group():
    X = np.vstack([rows(20), rows(6, seed=1) + 30])
    model = Diana(2).fit(X)
    assert_array_equal(model.labels_, np.repeat([0, 1], [20, 6]))
    assert_allclose(model.heights_[0], pdist(X).max())


def test_splits_partition_their_parents_down_to_single_rows():
    X = rows(25)
    before = np.zeros(25, int)
    for k in range(1, 26):
        model = Diana(k).fit(X)
        assert len(np.unique(model.labels_)) == k == model.n_clusters_
        assert len(model.splits_) == k - 1
        assert len(np.unique(np.column_stack([before, model.labels_]), axis=0)) == k
        before = model.labels_
    full = Diana(None).fit(X)
    assert full.n_clusters_ == 25
    assert (np.diff(full.heights_) <= 1e-12).all()
    for k in (2, 5, 11):
        assert_array_equal(cut_tree(full.linkage_matrix_, k), Diana(k).fit(X).labels_)


def test_threshold_bounds_diameters():
    X = rows(40)
    D = squareform(pdist(X))
    z = Diana(None, distance_threshold=1.0).fit(X).labels_
    wide = [D[np.ix_(z == c, z == c)].max() for c in np.unique(z)]
    assert max(wide) <= 1.0 < D.max()


def test_equal_rows_are_split_only_when_asked():
    D = np.zeros((4, 4))
    assert len(diana_splits(D, 3)[0]) == 2
    assert len(diana_splits(D, None, height=0.5)[0]) == 0
    assert Diana(None).fit(np.ones((4, 1))).n_clusters_ == 4


def test_metrics_and_refusals():
    X = rows(20)
    D = squareform(pdist(X, "cityblock"))
    a = Diana(3, metric="manhattan").fit(X).labels_
    assert_array_equal(a, Diana(3, metric="precomputed").fit(D).labels_)
    assert_array_equal(a, Diana(3, metric=lambda X: D).fit(X).labels_)
    with pytest.raises(ValueError, match="n_samples=20"):
        Diana(21).fit(X)
    with pytest.raises(ValueError, match="square"):
        Diana(2, metric="precomputed").fit(X)
