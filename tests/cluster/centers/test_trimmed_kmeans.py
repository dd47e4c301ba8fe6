"""Trimmed k-means: outliers set aside, objective falls, a = 0 is k-means."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.cluster import KMeans, TrimmedKMeans
from pansophy.cluster.centers.trimmed_kmeans import kept_weights


def blobs(n=300, seed=0):
    rng = np.random.default_rng(seed)
    C = np.array([[0.0, 0], [8, 0], [0, 8]])
    return rng.normal(size=(n, 2)) + C[rng.integers(0, 3, n)]


def test_outliers_do_not_move_the_centres():
    X, rng = blobs(), np.random.default_rng(1)
    far = rng.uniform(40, 400, size=(15, 2))
    model = TrimmedKMeans(3, trim=0.06, random_state=0).fit(np.vstack([X, far]))
    true = np.array([[0.0, 0], [0, 8], [8, 0]])
    C = model.cluster_centers_[np.lexsort(model.cluster_centers_.T[::-1].round())]
    assert np.abs(C - true).max() < 0.5
    assert np.all(model.labels_[-15:] == -1)
    assert np.mean(model.labels_[:-15] == -1) < 0.03
    assert model.predict([[1000.0, 1000.0]]).tolist() == [-1]


def test_no_trimming_is_k_means():
    X = blobs()
    a = TrimmedKMeans(3, trim=0, init=X[:3], tol=0).fit(X)
    b = KMeans(3, init=X[:3], tol=0).fit(X)
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert a.inertia_ == pytest.approx(b.inertia_)


@pytest.mark.parametrize("trim", [0, 0.05])
def test_an_empty_cluster_takes_a_row_as_in_k_means(trim):
    """One centre of the start is too far away to be the nearest of any row."""
    X = np.concatenate([blobs(60), [[0.0, 90.0]] * 3])
    init = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0], [-500.0, 0.0]])
    model = TrimmedKMeans(4, trim=trim, init=init, tol=0).fit(X)
    if trim == 0:
        k_means = KMeans(4, init=init, tol=0).fit(X)
        np.testing.assert_allclose(model.cluster_centers_, k_means.cluster_centers_)
    assert np.array_equal(np.unique(model.labels_), np.arange(-(trim > 0), 4))
    assert (np.diff(model.history_["objective"]) <= 0).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 0.6))
def test_objective_never_rises(seed, trim):
    X = blobs(80, seed)
    J = TrimmedKMeans(4, trim=trim, init=X[:4], tol=0).fit(X).history_["objective"]
    assert np.all(np.diff(J) <= 1e-9 * J[0])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_weights_are_repeated_rows(seed):
    X, rng = blobs(60, seed), np.random.default_rng(seed)
    w = rng.integers(1, 4, 60)
    a = TrimmedKMeans(3, trim=0.2, init=X[:3]).fit(X, sample_weight=w)
    b = TrimmedKMeans(3, trim=0.2, init=X[:3]).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_)
    assert a.inertia_ == pytest.approx(b.inertia_)


def test_the_share_is_kept_exactly():
    D2, w = np.array([3.0, 1.0, 2.0, 4.0]), np.array([1.0, 2.0, 1.0, 1.0])
    np.testing.assert_allclose(kept_weights(D2, w, 0.3), [0.5, 2, 1, 0])
    with pytest.raises(ValueError, match="trim=1 leaves no row"):
        TrimmedKMeans(2, trim=1.0).fit(blobs())
