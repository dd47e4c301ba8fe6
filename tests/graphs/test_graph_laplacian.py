"""Components, Laplacians and cut values."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pansophy import graphs
from tests.oracles import graphs as oracle


def weights(n, seed, share=0.3):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < share))
    return W + np.triu(W, 1).T


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 12), st.integers(0, 1000))
def test_components_equal_the_slow_walk(n, seed):
    A = np.triu(weights(n, seed, 0.15))
    count, z = graphs.connected_components(A)
    assert_array_equal(z, oracle.components(A))
    assert count == z.max() + 1


@pytest.mark.parametrize(
    "make", [np.asarray, sp.csr_array, sp.csr_matrix, sp.coo_array]
)
def test_laplacian(make):
    W = weights(12, 0)
    W[3] = W[:, 3] = 0  # a row without edges
    dense = lambda A: A.toarray() if sp.issparse(A) else A
    L = dense(graphs.laplacian(make(W)))
    assert_allclose(L, oracle.laplacian(W), atol=1e-14)
    assert_allclose(L, sp.csgraph.laplacian(W, normed=True), atol=1e-14)
    L = dense(graphs.laplacian(make(W), normed=False))
    assert_allclose(L, sp.csgraph.laplacian(W), atol=1e-14)
    assert_allclose(graphs.node_degrees(make(W)), W.sum(axis=1) - np.diag(W))


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 9), st.integers(0, 1000), st.integers(1, 3))
def test_cut_values(n, seed, k):
    W = weights(n, seed)
    z = np.random.default_rng(seed).integers(0, k, n)
    for kind in ("cut", "ratio", "normalized"):
        value = graphs.cut_value(W, z, kind)
        assert value >= 0
        assert_allclose(value, oracle.cut(W, z, kind), atol=1e-12)
        assert_allclose(value, graphs.cut_value(sp.csr_array(W), -z, kind))


def test_cut_is_a_quadratic_form_of_the_laplacian():
    W = weights(10, 3, 0.8)
    z = np.arange(10) % 2
    L = graphs.laplacian(W, normed=False)
    assert_allclose(z @ L @ z, graphs.cut_value(W, z, "cut"))
