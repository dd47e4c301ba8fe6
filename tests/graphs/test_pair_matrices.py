"""Matrices of pairs as graphs and lists of edges."""

import numpy as np
import pytest
from scipy import sparse

from pansophy import graphs


def distances(n=12, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X[1] = X[0]  # a distance of 0 is an edge too
    return np.linalg.norm(X[:, None] - X[None], axis=2)


def test_matrix_to_edges_and_back_is_exact():
    D = distances()
    edges = graphs.edge_list(D)
    assert len(edges.weight) == 12 * 11 // 2
    np.testing.assert_array_equal(graphs.matrix_from_edges(edges), D)
    G = graphs.graph_from_matrix(D)
    assert isinstance(G, sparse.csr_array)
    assert G.nnz == 12 * 11
    np.testing.assert_array_equal(graphs.matrix_from_edges(graphs.edge_list(G)), D)
    S = 1 / (1 + D)
    back = graphs.matrix_from_edges(graphs.edge_list(S), kind="similarity")
    np.testing.assert_array_equal(back, S)


def test_a_threshold_gives_the_graph_of_ones():
    D = distances()
    G = graphs.graph_from_matrix(D, threshold=1.5).toarray()
    np.testing.assert_array_equal(G, (D <= 1.5) & ~np.eye(12, dtype=bool))
    S = graphs.graph_from_matrix(1 / (1 + D), kind="similarity", threshold=0.4)
    np.testing.assert_array_equal(S.toarray(), G)
    far = graphs.matrix_from_edges(graphs.edge_list(S), kind="distance")
    assert np.isinf(far).any()
    assert (np.diag(far) == 0).all()


def test_symmetry_and_diagonal_are_enforced():
    D = distances()
    rough = D + 1e-14 * np.random.default_rng(1).random(D.shape)
    A = graphs.symmetric_pair_matrix(rough)
    np.testing.assert_array_equal(A, A.T)
    assert (np.diag(A) == 0).all()
    B = D.copy()
    B[2, 5] += 1
    with pytest.raises(ValueError, match=r"symmetric: \(2, 5\)"):
        graphs.graph_from_matrix(B)
    with pytest.raises(ValueError, match="diagonal of a distance matrix must be 0"):
        graphs.graph_from_matrix(D + np.eye(12))
    with pytest.raises(ValueError, match="diagonal of a similarity matrix must be 1"):
        graphs.graph_from_matrix(D, kind="similarity")
    with pytest.raises(ValueError, match="negative"):
        graphs.graph_from_matrix(-D)
    with pytest.raises(ValueError, match="square"):
        graphs.graph_from_matrix(D[:3])
    with pytest.raises(ValueError, match="listed twice"):
        graphs.matrix_from_edges(([0, 1], [1, 0], [1.0, 2.0], 2))
    with pytest.raises(ValueError, match="two different nodes"):
        graphs.matrix_from_edges(([0], [2], [1.0], 2))
