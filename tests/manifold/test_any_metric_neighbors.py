"""Neighbours under any metric: our index and scikit-learn's search agree."""

import numpy as np
import pytest
from scipy import sparse

from pansophy.manifold.any_metric_neighbors import (
    NeighborSearch,
    neighbor_distance_graph,
    neighbors_of_queries,
    neighbors_of_rows,
    upcast_if_squares_overflow,
)

BY_NAME = NeighborSearch()
BY_FUNCTION = NeighborSearch(metric=lambda a, b: float(np.linalg.norm(a - b)))


def test_a_function_is_searched_like_its_name(rng):
    X, Q = rng.normal(size=(20, 3)), rng.normal(size=(4, 3))
    assert BY_NAME.has_index(X) and not BY_FUNCTION.has_index(X)
    assert not BY_NAME.has_index(sparse.csr_array(X))
    for k in (1, 5):
        D, J = neighbors_of_rows(X, k, BY_NAME)
        E, I = neighbors_of_rows(X, k, BY_FUNCTION)  # noqa: E741
        np.testing.assert_allclose(D, E)
        np.testing.assert_array_equal(J, I)
        assert (np.arange(20)[:, None] != J).all()
    for rows, queries in ((X, Q), (sparse.csr_array(X), Q), (X, sparse.csr_array(Q))):
        D, J = neighbors_of_queries(queries, rows, 2)
        right = np.linalg.norm(X[J] - Q[:, None], axis=2)
        np.testing.assert_allclose(D, right, atol=1e-9)


@pytest.mark.parametrize(("k", "radius"), [(3, None), (None, 1.5)])
def test_graphs_of_both_searches_are_the_same(k, radius, rng):
    X = rng.normal(size=(15, 2))
    one = neighbor_distance_graph(X, k, radius, BY_NAME).toarray()
    two = neighbor_distance_graph(X, k, radius, BY_FUNCTION).toarray()
    np.testing.assert_allclose(one, two, atol=1e-12)
    assert one.sum() > 0


def test_single_precision_stays_where_squares_fit():
    X = np.ones((2, 2), np.float32)
    assert upcast_if_squares_overflow(X) is X
    for size in (1e20, 1e-20):
        assert upcast_if_squares_overflow(X * np.float32(size)).dtype == np.float64
    assert upcast_if_squares_overflow(0 * X).dtype == np.float32
    assert upcast_if_squares_overflow([1]) == [1]
