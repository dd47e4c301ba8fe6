"""Linkage against SciPy and slow oracles: heights, cuts, cophenetic distances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score

from pansophy.cluster import (
    AgglomerativeClustering,
    cophenetic,
    cut_tree,
    leaf_order,
    linkage_matrix,
)
from pansophy.graphs import connected_components, point_spanning_tree, threshold_graph
from tests.oracles import hierarchy as oracle

METHODS = ["single", "complete", "average", "ward"]


LINE = np.array([0, 1, 2.1, 3.3, 4.6, 6.6])[:, None]


def rows(n=80, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_worked_heights():
    single = linkage_matrix(LINE, "single")[:, 2]
    assert_allclose(single, [1, 1.1, 1.2, 1.3, 2])
    assert_allclose(linkage_matrix(LINE, "complete")[:, 2], [1, 1.2, 2, 3.3, 6.6])
    Z = linkage_matrix([[0], [1], [3], [7], [8.5]], "single")
    assert_allclose(Z[:, 2], [1, 1.5, 2, 4])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_equals_looking_at_all_pairs(method, seed):
    X = rows(18, 2, seed)
    heights, partitions = oracle.merges(X, method)
    Z = linkage_matrix(X, method)
    assert_allclose(Z[:, 2], heights, rtol=1e-10)
    for t, parts in enumerate(partitions):
        assert oracle.parts_of(cut_tree(Z, len(X) - t - 1)) == parts


@pytest.mark.parametrize("method", [*METHODS, "weighted"])
@pytest.mark.parametrize("n", [2, 3, 65, 700])
def test_equals_scipy(method, n):
    X = rows(n, 5)
    Z, expected = linkage_matrix(X, method), hierarchy.linkage(X, method)
    assert_allclose(Z, expected, rtol=1e-9)
    assert_allclose(cophenetic(Z), hierarchy.cophenet(expected), rtol=1e-9)
    D = squareform(pdist(X))
    before = D.copy()
    given_distances = linkage_matrix(D, method, metric="precomputed")
    assert_allclose(given_distances, expected, rtol=1e-6)
    assert_array_equal(D, before)


@pytest.mark.parametrize("metric", ["cityblock", "chebyshev", "cosine", "canberra"])
@pytest.mark.parametrize("method", ["single", "complete", "average"])
@pytest.mark.parametrize("d", [3, 70])
def test_metrics_equal_scipy(metric, method, d):
    X = rows(50, d)
    Z = linkage_matrix(X, method, metric=metric)
    assert_allclose(Z, hierarchy.linkage(X, method, metric=metric), rtol=1e-9)


def test_float32_rows():
    X = rows(60).astype(np.float32)
    for method in METHODS:
        expected = hierarchy.linkage(X.astype(float), method)[:, 2]
        assert_allclose(linkage_matrix(X, method)[:, 2], expected, rtol=1e-4)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 30), st.integers(0, 1000), st.sampled_from([*METHODS]))
def test_merges_are_a_tree_with_rising_heights(n, seed, method):
    X = np.random.default_rng(seed).integers(0, 5, (n, 2)).astype(float)  # ties
    Z = linkage_matrix(X, method)
    assert len(Z) == n - 1
    assert (np.diff(Z[:, 2]) >= -1e-9).all()
    assert len(np.unique(Z[:, :2])) == 2 * n - 2
    assert (Z[:, :2].max(axis=1) < n + np.arange(n - 1)).all()
    assert Z[-1, 3] == n
    assert_array_equal(np.sort(leaf_order(Z)), np.arange(n))


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 25), st.integers(0, 1000), st.sampled_from(METHODS))
def test_cuts_are_nested_and_do_not_depend_on_the_order_of_rows(n, seed, method):
    X = rows(n, 2, seed)
    Z = linkage_matrix(X, method)
    order = np.random.default_rng(seed).permutation(n)
    other = linkage_matrix(X[order], method)
    coarse = np.zeros(n, int)
    for k in range(1, n + 1):
        z = cut_tree(Z, k)
        assert len(np.unique(z)) == k
        assert len(np.unique(np.column_stack([coarse, z]), axis=0)) == k  # nested
        assert adjusted_rand_score(z[order], cut_tree(other, k)) == 1
        coarse = z


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 20), st.integers(0, 1000), st.sampled_from(METHODS))
def test_cophenetic_distances_are_ultrametric(n, seed, method):
    C = squareform(cophenetic(linkage_matrix(rows(n, 2, seed), method)))
    for k in range(n):
        assert (np.maximum(C[:, k, None], C[None, k, :]) + 1e-12 >= C).all()


def test_single_linkage_is_components_and_a_tree_without_its_heaviest_edges():
    X = rows(60, 2)
    Z, tree = linkage_matrix(X, "single"), point_spanning_tree(X)
    for t in (0.1, 0.3, 0.5, 1.0):
        _, labels = connected_components(threshold_graph(X, t))
        assert_array_equal(cut_tree(Z, height=t), labels)
    for k in (2, 5, 17):
        keep = len(X) - k
        G = np.zeros((60, 60))
        G[tree.left[:keep], tree.right[:keep]] = 1
        assert_array_equal(cut_tree(Z, k), connected_components(G)[1])


def test_complete_linkage_bounds_diameters():
    X = rows(60, 2)
    D = squareform(pdist(X))
    for t in (0.5, 1.0, 2.0):
        z = cut_tree(linkage_matrix(X, "complete"), height=t)
        assert max(D[np.ix_(z == c, z == c)].max() for c in np.unique(z)) <= t + 1e-12


def test_scaling_scales_heights():
    X = rows(40)
    for method in METHODS:
        Z, scaled = linkage_matrix(X, method), linkage_matrix(1e3 * X, method)
        assert_allclose(scaled[:, 2], 1e3 * Z[:, 2], rtol=1e-10)
        assert_array_equal(scaled[:, :2], Z[:, :2])


@pytest.mark.parametrize("method", ["single", "complete", "average", "ward"])
@pytest.mark.parametrize("scale", [1e-200, 1e150, np.float32(1e30)])
def test_any_scale(method, scale):
    X = np.random.default_rng(0).normal(size=(20, 2)).astype(type(scale))
    Z, scaled = linkage_matrix(X, method), linkage_matrix(X * scale, method)
    assert_array_equal(scaled[:, [0, 1, 3]], Z[:, [0, 1, 3]])
    assert_allclose(scaled[:, 2] / float(scale), Z[:, 2], rtol=1e-5)


@pytest.mark.parametrize("method", ["centroid", "median"])
def test_linkages_that_invert(method):
    """SciPy's trees and cuts, heights that fall included."""
    inversions = 0
    for seed in range(4):
        X = np.random.default_rng(seed).normal(size=(50, 2))
        Z, want = linkage_matrix(X, method), hierarchy.linkage(X, method)
        np.testing.assert_allclose(Z, want, rtol=1e-10)
        given = linkage_matrix(squareform(pdist(X)), method, metric="precomputed")
        np.testing.assert_allclose(given, want, rtol=1e-8)
        inversions += int((np.diff(Z[:, 2]) < 0).sum())
        for height in (0.3, 0.8, 1.5):
            a = cut_tree(Z, height=height)
            b = hierarchy.fcluster(want, height, "distance")
            assert adjusted_rand_score(a, b) == 1
            model = AgglomerativeClustering(
                None, linkage=method, distance_threshold=height
            ).fit(X)
            assert adjusted_rand_score(model.labels_, b) == 1
            assert model.n_clusters_ == len(set(b))
    assert inversions
    with pytest.raises(ValueError, match="euclidean"):
        linkage_matrix(X, method, metric="manhattan")
    with pytest.raises(ValueError, match="takes no connectivity"):
        AgglomerativeClustering(linkage=method, connectivity=np.eye(50)).fit(X)
