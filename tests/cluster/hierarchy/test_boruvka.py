"""Boruvka's minimum spanning tree against Prim's and SciPy's."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.cluster import hierarchy

from pansophy.cluster.hierarchy.boruvka import boruvka_is_faster, boruvka_tree
from pansophy.cluster.hierarchy.linkage import linkage_matrix
from pansophy.graphs import connected_components, point_spanning_tree


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "minkowski"])
@pytest.mark.parametrize("d", [1, 3, 4])
@pytest.mark.parametrize("kind", ["apart", "ties", "equal"])
def test_rounds_in_a_tree_of_boxes_find_the_lightest_tree(metric, d, kind):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(300, d)) + 20 * rng.integers(0, 3, (300, 1))
    X = {"apart": X, "ties": np.round(X / 3), "equal": 0 * X}[kind]
    c = np.round(rng.uniform(0, 2, 300), 1) if d > 1 else None
    how = {"metric": metric, "p": 3.0, "core": c}
    a, b = boruvka_tree(X, **how), point_spanning_tree(X, **how)
    np.testing.assert_allclose(a.weight, b.weight, rtol=1e-12)
    edges = sp.coo_array((np.ones(299), (a.left, a.right)), shape=(300, 300))
    assert connected_components(edges)[0] == 1


def test_rounds_with_two_rows_and_with_squares_too_large():
    tree = boruvka_tree(np.array([[3.0], [1.0]]))
    assert tree.weight.tolist() == [2.0]
    X = np.array([[0.0, 0.0], [1.0, 3.0], [1.0, 4.0]])
    tree = boruvka_tree(X, metric="minkowski", p=np.inf, core=np.full(3, 2.0))
    assert tree.weight.tolist() == [2.0, 3.0]
    X = np.array([[1e200], [-1e200], [0.0]])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(
            boruvka_tree(X).weight, point_spanning_tree(X).weight
        )


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_single_linkage_of_many_rows_is_scipys(metric):
    X = np.random.default_rng(1).normal(size=(3100, 1))
    assert boruvka_is_faster(X.shape, metric)
    assert not boruvka_is_faster(X.shape, "cosine")
    assert not boruvka_is_faster(X.shape, "infinity")
    a = linkage_matrix(X, "single", metric=metric)
    b = hierarchy.linkage(X, "single", metric)
    assert_allclose(a[:, 2:], b[:, 2:], rtol=1e-12)
