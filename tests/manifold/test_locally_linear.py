"""Locally linear embedding by four methods, against scikit-learn."""

import numpy as np
import pytest
from sklearn import manifold as peer
from sklearn.datasets import make_s_curve, make_swiss_roll

from pansophy.manifold import (
    LocallyLinearEmbedding,
    locally_linear_embedding,
)
from tests.manifold.embeddings import same_up_to_turns


@pytest.fixture(scope="module")
def roll():
    X, t = make_swiss_roll(500, random_state=0)
    return X, t


@pytest.mark.parametrize("method", ["standard", "modified", "ltsa"])
@pytest.mark.parametrize("solver", ["dense", "arpack"])
def test_locally_linear_equals_scikit_learn(roll, method, solver):
    X, _ = roll
    how = {"n_neighbors": 10, "method": method, "eigen_solver": solver}
    how["random_state"] = 0
    ours = LocallyLinearEmbedding(**how).fit(X)
    theirs = peer.LocallyLinearEmbedding(**how).fit(X)
    assert same_up_to_turns(ours.embedding_, theirs.embedding_, 1e-5)
    np.testing.assert_allclose(
        ours.reconstruction_error_, theirs.reconstruction_error_, rtol=1e-3, atol=1e-10
    )


@pytest.mark.parametrize("method", ["standard", "modified", "ltsa", "hessian"])
def test_locally_linear_unrolls(method):
    X, t = make_s_curve(800, random_state=0)
    model = LocallyLinearEmbedding(n_neighbors=12, method=method).fit(X)
    score = max(abs(np.corrcoef(y, t)[0, 1]) for y in model.embedding_.T)
    assert score > 0.9
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(2),
                               atol=1e-6)  # fmt: skip
    np.testing.assert_allclose(model.embedding_.sum(axis=0), 0, atol=1e-4)
    again, error = locally_linear_embedding(
        X, n_neighbors=12, n_components=2, method=method
    )
    np.testing.assert_allclose(np.abs(again), np.abs(model.embedding_), atol=1e-5)
    assert error == pytest.approx(model.reconstruction_error_, rel=1e-3)


def test_locally_linear_places_rows_where_they_are(roll):
    X, _ = roll
    model = LocallyLinearEmbedding(n_neighbors=10).fit(X)
    np.testing.assert_allclose(
        model.transform(X[:50]), model.embedding_[:50], atol=2e-2
    )


def test_locally_linear_refuses(roll):
    X, _ = roll
    with pytest.raises(ValueError, match="columns"):
        LocallyLinearEmbedding(n_components=4).fit(X)
    with pytest.raises(ValueError, match="hessian"):
        LocallyLinearEmbedding(method="hessian").fit(X)
    with pytest.raises(ValueError, match="n_samples = 4"):
        LocallyLinearEmbedding().fit(X[:4])
