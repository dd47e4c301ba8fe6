"""Classical scaling: recovered distances, scikit-learn, missing dimensions."""

import numpy as np
import pytest
from sklearn import manifold as peer

from pansophy.manifold import ClassicalMDS


def rows(n=60, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_classical_scaling_recovers_distances():
    X = rows(30, 3)
    model = ClassicalMDS(3).fit(X)
    D = lambda A: np.linalg.norm(A[:, None] - A[None], axis=2)
    np.testing.assert_allclose(D(model.embedding_), D(X), atol=1e-9)
    given = ClassicalMDS(3, metric="precomputed").fit(D(X))
    np.testing.assert_allclose(D(given.embedding_), D(X), atol=1e-7)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "canberra"])
def test_classical_scaling_equals_scikit_learn(metric):
    X = rows()
    ours = ClassicalMDS(metric=metric).fit(X)
    theirs = peer.ClassicalMDS(metric=metric).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(
        np.abs(ours.embedding_), np.abs(theirs.embedding_), atol=1e-7
    )


def test_a_dimension_that_is_not_there_is_zero():
    Y = ClassicalMDS(2).fit_transform(np.arange(6.0)[:, None])
    np.testing.assert_allclose(Y[:, 1], 0, atol=1e-6)
    assert np.isfinite(Y).all()
