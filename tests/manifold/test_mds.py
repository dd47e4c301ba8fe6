"""Scaling: classical, metric and nonmetric; and how well an embedding is judged."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import manifold as peer

from pansophy.manifold import MDS, smacof
from pansophy.manifold.mds import smacof_pass
from tests.oracles import manifold as oracle


def rows(n=60, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


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
