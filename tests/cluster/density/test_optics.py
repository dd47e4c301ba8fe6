"""The walk of OPTICS, its valleys and its picture."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn import cluster as peer
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances

from pansophy import plot
from pansophy.cluster import DBSCAN, OPTICS

SMALL = np.array([[1, 2], [2, 5], [3, 6], [8, 7], [8, 8], [7, 3]])


def blobs(n=200, d=3, seed=0):
    return make_blobs(n, d, centers=5, random_state=seed)[0]


def slow_walk(D, k, reach=np.inf):
    """Eqs (1) to (3) straight from a matrix of distances."""
    n = len(D)
    core = np.sort(D, axis=1)[:, k - 1]
    core[core > reach] = np.inf
    r, order, left = np.full(n, np.inf), [], list(range(n))
    while left:
        i = min(left, key=lambda j: (r[j], j))
        left.remove(i)
        order.append(i)
        for j in left:
            if D[i, j] <= reach and np.isfinite(core[i]):
                r[j] = min(r[j], max(core[i], D[i, j]))
    return np.array(order), r, core


def test_worked_example():
    model = OPTICS(min_samples=2).fit(SMALL)
    assert_array_equal(model.ordering_, [0, 1, 2, 5, 3, 4])
    assert_array_equal(model.predecessor_, [-1, 0, 1, 5, 3, 2])
    assert_allclose(model.reachability_, np.sqrt([np.inf, 10, 2, 17, 1, 25]))
    assert_allclose(model.core_distances_, np.sqrt([10, 2, 2, 1, 1, 17]))
    assert_array_equal(model.cluster_hierarchy_, [[0, 2], [3, 5], [0, 5]])


@pytest.mark.parametrize(("d", "reach"), [(2, np.inf), (2, 1.0), (30, np.inf)])
def test_equals_the_slow_walk(d, reach):
    X = np.random.default_rng(0).normal(size=(120, d))
    model = OPTICS(min_samples=4, max_eps=reach).fit(X)
    order, r, core = slow_walk(cdist(X, X), 4, reach)
    assert_array_equal(model.ordering_, order)
    assert_allclose(model.reachability_, r, rtol=1e-12)
    assert_allclose(model.core_distances_, core, rtol=1e-12)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"min_samples": 10, "xi": 0.2},
        {"min_samples": 0.05, "min_cluster_size": 0.1},
        {"predecessor_correction": False, "min_cluster_size": 3},
        {"max_eps": 1.5},
        {"max_eps": 2.0, "cluster_method": "dbscan", "eps": 1.0},
        {"metric": "manhattan", "algorithm": "kd_tree"},
        {"metric": "chebyshev", "algorithm": "brute"},
        {"p": 3},
        {"metric": "cosine"},
        {"metric": "canberra"},
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_equals_scikit_learn(how, seed):
    X = blobs(seed=seed)
    a, b = OPTICS(**how).fit(X), peer.OPTICS(**how).fit(X)
    assert_array_equal(a.ordering_, b.ordering_)
    assert_array_equal(a.predecessor_, b.predecessor_)
    assert_allclose(a.reachability_, b.reachability_, rtol=1e-9)
    assert_allclose(a.core_distances_, b.core_distances_, rtol=1e-9)
    assert_array_equal(a.labels_, b.labels_)
    if "eps" not in how:
        assert_array_equal(a.cluster_hierarchy_, b.cluster_hierarchy_)


def test_given_distances_dense_and_sparse():
    X = blobs(100)
    D = pairwise_distances(X)
    expected = OPTICS(max_eps=3.0).fit(X)
    near = sp.csr_array(np.where(D <= 8.0, D, 0.0))
    for given in (D, near):
        found = OPTICS(metric="precomputed", max_eps=3.0).fit(given)
        assert_array_equal(found.ordering_, expected.ordering_)
        assert_array_equal(found.labels_, expected.labels_)


def test_sparse_rows():
    X = sp.random(80, 6, 0.5, rng=np.random.default_rng(0), format="csr")
    for how in ({}, {"p": 1}):
        found, expected = OPTICS(**how).fit(X), OPTICS(**how).fit(X.toarray())
        assert_allclose(found.reachability_, expected.reachability_, atol=1e-7)


def test_a_cut_is_dbscan():
    X = blobs(300, 2)
    z = OPTICS(cluster_method="dbscan", eps=0.7).fit(X)
    other = DBSCAN(eps=0.7).fit(X)
    core = other.core_sample_indices_
    pairs = set(zip(z.labels_[core], other.labels_[core], strict=True))
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def test_equal_rows_and_few_rows():
    model = OPTICS(min_samples=2).fit(np.ones((6, 2)))
    assert_array_equal(model.reachability_, [np.inf, 0, 0, 0, 0, 0])
    assert_array_equal(model.ordering_, np.arange(6))
    with pytest.raises(ValueError, match="min_samples must be no greater"):
        OPTICS(min_samples=7).fit(SMALL)
    with pytest.raises(ValueError, match="is at most max_eps"):
        OPTICS(min_samples=2, cluster_method="dbscan", eps=2, max_eps=1).fit(SMALL)
    with pytest.raises(ValueError, match="min_samples of OPTICS"):
        OPTICS(min_samples=1).fit(SMALL)


def test_cached_walk(tmp_path):
    a = OPTICS(memory=str(tmp_path), min_samples=2).fit(SMALL)
    b = OPTICS(memory=str(tmp_path), min_samples=2, xi=0.3).fit(SMALL)
    assert_array_equal(a.ordering_, b.ordering_)


def test_plot_has_a_line_for_each_row():
    model = OPTICS().fit(blobs(80, 2))
    ax = plot.reachability(model, eps=1.0)
    assert sum(len(c.get_segments()) for c in ax.collections) == 80
    assert len(ax.collections) == len(np.unique(model.labels_))
    assert ax.get_ylabel() == "reachability"
    assert len(ax.lines) == 1
    assert plot.reachability(model, ax=ax) is ax


def test_no_reachable_row_is_told():
    with pytest.warns(UserWarning, match="All reachability values are inf"):
        OPTICS(min_samples=2, max_eps=1e-3).fit([[0.0], [1.0], [2.0]])


def test_boolean_metrics_take_boolean_rows_without_a_word(rng):
    X = rng.integers(0, 2, size=(12, 4)).astype(bool)
    model = OPTICS(metric="rogerstanimoto", min_samples=3).fit(X)
    with pytest.warns(UserWarning, match="converted to boolean") as said:
        other = OPTICS(metric="rogerstanimoto", min_samples=3).fit(X.astype(int))
    assert len(said) == 1
    assert_array_equal(model.labels_, other.labels_)
