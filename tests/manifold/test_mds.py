"""Scaling: classical, metric and nonmetric; and how well an embedding is judged."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import manifold as peer

from pansophy.manifold import MDS, ClassicalMDS, smacof, trustworthiness
from pansophy.manifold.mds import smacof_pass
from tests.oracles import manifold as oracle


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


def test_a_pass_equals_the_oracle():
    T = np.linalg.norm(rows()[:, None] - rows()[None], axis=2)
    Y = rows(60, 2, 1)
    new, stress, _ = smacof_pass(T, np.ascontiguousarray(Y.T))
    slow, slow_stress = oracle.guttman(T, Y)
    np.testing.assert_allclose(new.T, slow, atol=1e-12)
    assert stress == pytest.approx(slow_stress)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 30), st.booleans())
def test_stress_never_rises(seed, n, metric):
    X = rows(n, 4, seed)
    model = MDS(metric_mds=metric, init="random", random_state=seed, eps=1e-3).fit(X)
    J = model.history_["objective"]
    assert np.all(np.diff(J) <= 1e-9 * J[0])


@pytest.mark.parametrize("metric", [True, False])
def test_mds_equals_scikit_learn_from_the_same_start(metric):
    X, Y = rows(), rows(60, 2, 3)
    how = {"metric_mds": metric, "max_iter": 40, "eps": 0.0}
    ours = MDS(**how)
    with pytest.warns(UserWarning, match="did not converge"):
        ours.fit(X, init=Y)
    theirs = peer.MDS(init="random", n_init=1, **how).fit(X, init=Y)
    # theirs stops when the stress does not fall, so the counts may differ by little
    assert ours.stress_ <= theirs.stress_ * (1 + 1e-3)
    if metric:
        np.testing.assert_allclose(ours.embedding_, theirs.embedding_, atol=1e-6)


def test_points_in_the_plane_are_found_again():
    X = rows(40, 2)
    model = MDS(eps=1e-12).fit(X)
    assert model.stress_ < 1e-10
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    Y, stress, n_iter = smacof(
        D, n_init=4, random_state=0, eps=1e-10, max_iter=2000, return_n_iter=True
    )
    assert Y.shape == (40, 2)
    assert stress < 1e-3
    assert n_iter > 1


def test_nonmetric_keeps_the_order_of_bent_distances():
    X = rows(25, 2)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    with_cube = MDS(metric_mds=False, metric="precomputed", eps=1e-9, max_iter=3000)
    with_cube.fit(D**3)
    assert with_cube.stress_ < 0.02  # stress-1 below 0.025 is called excellent


def test_mds_refuses():
    D = np.abs(rows(5, 5))
    with pytest.raises(ValueError, match="symmetric"):
        MDS(metric="precomputed").fit(D)
    with pytest.raises(ValueError, match="init matrix"):
        MDS().fit(rows(), init=rows(3, 2))
    with pytest.warns(FutureWarning, match="older name"):
        MDS(dissimilarity="euclidean").fit(rows(10))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(8, 30), st.integers(1, 3))
def test_trustworthiness_equals_the_oracle(seed, n, k):
    rng = np.random.default_rng(seed)
    X, Y = rng.integers(0, 4, (n, 3)).astype(float), rng.normal(size=(n, 2))
    assert trustworthiness(X, Y, n_neighbors=k) == pytest.approx(
        oracle.trustworthiness(X, Y, k)
    )


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "canberra"])
def test_trustworthiness_equals_scikit_learn(metric):
    X, Y = rows(80), rows(80, 2, 1)
    ours = trustworthiness(X, Y, n_neighbors=7, metric=metric)
    theirs = peer.trustworthiness(X, Y, n_neighbors=7, metric=metric)
    assert ours == pytest.approx(theirs, abs=1e-12)
    with pytest.raises(ValueError, match="n_samples / 2"):
        trustworthiness(X, Y, n_neighbors=40)
