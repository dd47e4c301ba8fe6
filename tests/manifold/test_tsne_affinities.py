"""Affinities of t-SNE: perplexities, equal and missing neighbours, scikit-learn."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.manifold.any_metric_neighbors import neighbors_of_rows
from pansophy.manifold.tsne_affinities import (
    conditional_affinities,
    joint_affinities_dense,
    joint_affinities_sparse,
)
from tests.oracles import manifold as oracle


def blobs(n=150, d=6, k=3, seed=0, far=15.0):
    rng = np.random.default_rng(seed)
    z = np.arange(n) % k
    return rng.normal(size=(n, d)) + far * np.eye(k, d)[z], z


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 40), st.floats(1.5, 10))
def test_affinities_have_the_perplexity_asked_for(seed, n, perplexity):
    rng = np.random.default_rng(seed)
    D = rng.exponential(size=(3, n)) * 10 ** rng.uniform(-6, 6)
    perplexity = min(perplexity, 0.9 * n)
    P = conditional_affinities(D, perplexity)
    np.testing.assert_allclose(P, oracle.conditional(D, perplexity), atol=1e-4)
    entropy = -np.sum(P * np.log(np.where(P > 0, P, 1)), axis=1)
    np.testing.assert_allclose(np.exp(entropy), perplexity, rtol=1e-4)


def test_affinities_with_equal_and_missing_neighbours():
    P = conditional_affinities(np.array([[1.0, 1, 1, np.inf], [0, 0, 0, 0]]), 2.0)
    np.testing.assert_allclose(P[0], [1 / 3, 1 / 3, 1 / 3, 0])
    np.testing.assert_allclose(P[1], 0.25)


def test_joint_affinities_are_those_of_scikit_learn():
    from scipy.spatial.distance import squareform
    from sklearn.manifold import _t_sne

    X, _ = blobs(60)
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    theirs = squareform(_t_sne._joint_probabilities(D.copy(), 10.0, 0))
    np.testing.assert_allclose(
        joint_affinities_dense(D, 10.0), theirs, rtol=1e-3, atol=1e-7
    )
    far, rows = neighbors_of_rows(X, 31)
    P = joint_affinities_sparse(far**2, rows, 10.0, np.float64)
    P = sp.csr_array((P.data, P.indices.astype(int), P.indptr.astype(int)), (60, 60))
    np.testing.assert_allclose(P.sum(), 1)
    np.testing.assert_allclose(P.toarray(), P.toarray().T)
