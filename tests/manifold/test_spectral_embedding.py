"""Laplacian eigenmaps against scikit-learn."""

import numpy as np
import pytest
from sklearn import manifold as peer
from sklearn.datasets import make_swiss_roll

from pansophy.manifold import (
    SpectralEmbedding,
    spectral_embedding,
)


@pytest.fixture(scope="module")
def roll():
    X, t = make_swiss_roll(500, random_state=0)
    return X, t


@pytest.mark.parametrize(
    "how", [{"n_neighbors": 10}, {"affinity": "rbf", "gamma": 0.05}]
)
def test_spectral_embedding_equals_scikit_learn(roll, how):
    X, _ = roll
    ours = SpectralEmbedding(random_state=0, **how).fit(X)
    theirs = peer.SpectralEmbedding(random_state=0, **how).fit(X)
    np.testing.assert_allclose(
        np.abs(ours.embedding_), np.abs(theirs.embedding_), rtol=1e-4, atol=1e-7
    )


def test_spectral_embedding_of_given_weights(roll):
    X, _ = roll
    W = SpectralEmbedding(n_neighbors=10).fit(X).affinity_matrix_
    Y = SpectralEmbedding(n_neighbors=10, random_state=0).fit_transform(X)
    given = SpectralEmbedding(affinity="precomputed", random_state=0).fit_transform(W)
    np.testing.assert_allclose(given, Y, atol=1e-10)
    made = SpectralEmbedding(affinity=lambda X: W, random_state=0).fit_transform(X)
    np.testing.assert_allclose(made, Y, atol=1e-10)
    np.testing.assert_allclose(
        spectral_embedding(W, n_components=2, random_state=0), Y, atol=1e-10
    )
    with pytest.raises(ValueError, match="negative"):
        SpectralEmbedding(affinity="precomputed").fit(-np.ones((5, 5)))
