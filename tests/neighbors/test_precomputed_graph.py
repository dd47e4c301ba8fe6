"""Neighbours of a sparse graph: order, own entries, too few neighbours."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import EfficiencyWarning

from pansophy.neighbors import precomputed_graph as graphs


def made(data, columns, ends, n=3):
    return sparse.csr_array((np.array(data, float), columns, ends), shape=(n, n))


def test_entries_are_sorted_by_distance_and_then_by_row():
    graph = made([2, 1, 0, 5, 5], [1, 2, 1, 2, 0], [0, 2, 5, 5])
    with pytest.warns(EfficiencyWarning, match="not sorted by row values"):
        found = graphs.sort_by_distance(graph)
    assert found.data.tolist() == [1, 2, 0, 5, 5]
    assert found.indices.tolist() == [2, 1, 1, 0, 2]
    assert graphs.sort_by_distance(found) is found
    with pytest.raises(ValueError, match="Negative values"):
        graphs.sort_by_distance(made([-1], [1], [0, 1, 1, 1]))


def test_no_row_finds_itself():
    graph = made([0, 1, 2, 0, 3, 4], [0, 1, 2, 1, 0, 2], [0, 3, 6, 6])[:2]
    D, J = graphs.k_nearest_of_graph(graph, 2, of_fitted=True)
    np.testing.assert_array_equal(J, [[1, 2], [0, 2]])
    np.testing.assert_array_equal(D, [[1, 2], [3, 4]])
    D, J = graphs.k_nearest_of_graph(graph, 2, of_fitted=False)
    np.testing.assert_array_equal(J, [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match=r"4 neighbors .* only 3 .* itself counted"):
        graphs.k_nearest_of_graph(graph, 3, of_fitted=True)


def test_entries_within_radii():
    graph = made([0, 1, 2, 0, 3, 4], [0, 1, 2, 1, 0, 2], [0, 3, 6, 6])[:2]
    ends, columns, D = graphs.radius_lists_of_graph(graph, np.array([1.0, 3.0]), True)
    assert (
        list(ends) == [0, 1, 2] and columns.tolist() == [1, 0] and D.tolist() == [1, 3]
    )


def test_formats_that_keep_zeros():
    dense = np.eye(2)
    assert graphs.as_csr(dense) is dense
    assert graphs.as_csr(sparse.coo_array(dense)).format == "csr"
    with pytest.raises(TypeError, match="'dok' format"):
        graphs.as_csr(sparse.dok_array(dense))
