"""Neighbourhoods: worked numbers, slow loops, invariances, odd users."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from pansophy.distances import pearson
from pansophy.recommend import ItemKNN, Ratings, UserKNN
from tests.oracles import recommend as slow

NAN = np.nan


WORKED = np.array([[5, 3, 4, NAN], [4, 2, 3, 5], [1, 5, 2, 1], [4, 3, 5, 4]])


def some(seed, n=12, m=9, share=0.6):
    rng = np.random.default_rng(seed)
    Y = rng.integers(1, 6, (n, m)).astype(float)
    Y[rng.random((n, m)) > share] = NAN
    Y[np.arange(n), np.arange(n) % m] = 3.0  # nobody is without ratings
    return Y


def similarity(metric, Y):
    if metric == "pearson":
        return slow.common_correlation
    if metric == "cosine":
        return slow.zero_cosine
    columns = np.nanmean(Y, axis=0)
    return lambda x, z: slow.adjusted_cosine(x, z, columns)


@pytest.mark.parametrize(("k", "right"), [(1, 5.5), (2, 5.37750100), (3, 5.09760861)])
def test_worked_numbers(k, right):
    model = UserKNN(k).fit(Ratings.from_matrix(WORKED))
    np.testing.assert_allclose(model.predict([[0, 3]]), right, rtol=1e-8)
    np.testing.assert_allclose(model.similarities_[0], [1, -0.96076892, 0.5], rtol=1e-7)
    assert model.neighbors_[0].tolist() == [1, 2, 3]
    np.testing.assert_allclose(model.user_means_, [4, 3.5, 2.25, 4])
    clipped = UserKNN(k, clip=True).fit(Ratings.from_matrix(WORKED))
    assert clipped.predict([[0, 3]]).tolist() == [5.0]


@pytest.mark.parametrize("metric", ["pearson", "cosine", "adjusted_cosine"])
@pytest.mark.parametrize("k", [1, 3, 40])
def test_equals_the_slow_loops(metric, k):
    Y = some(k)
    how = {"metric": metric, "pool": 100}
    users = UserKNN(k, **how).fit(Ratings.from_matrix(Y))
    items = ItemKNN(k, **how).fit(Ratings.from_matrix(Y))
    a, i = (c.ravel() for c in np.indices(Y.shape))
    right = [
        slow.knn_prediction(Y, similarity(metric, Y), u, j, k) for u, j in zip(a, i)
    ]
    np.testing.assert_allclose(users.predict(a, i), right, atol=1e-9)
    np.testing.assert_allclose(users.complete().ravel(), right, atol=1e-9)
    right = [
        slow.knn_prediction(Y.T, similarity(metric, Y.T), j, u, k) for u, j in zip(a, i)
    ]
    np.testing.assert_allclose(items.predict(a, i), right, atol=1e-9)
    np.testing.assert_allclose(items.complete().ravel(), right, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), shift=st.floats(-3, 3), scale=st.floats(0.5, 2))
def test_shifts_of_users(seed, shift, scale):
    Y = some(seed)
    fit = lambda Y: UserKNN(3, shrinkage=2.0).fit(Ratings.from_matrix(Y)).complete()
    before = fit(Y)
    moved = Y.copy()
    moved[4] += shift
    after = fit(moved)
    np.testing.assert_allclose(after[4], before[4] + shift, atol=1e-7)
    others = np.arange(len(Y)) != 4
    np.testing.assert_allclose(after[others], before[others], atol=1e-7)
    np.testing.assert_allclose(fit(scale * Y), scale * before, atol=1e-7)


@pytest.mark.parametrize("cls", [UserKNN, ItemKNN])
def test_identical_users_get_identical_predictions(cls):
    Y = np.vstack([some(3), some(3)[:1]])
    full = cls(3).fit(Ratings.from_matrix(Y)).complete()
    missing = np.isnan(Y[0])
    np.testing.assert_allclose(full[0, missing], full[-1, missing])


def test_shrinkage_overlap_and_constant_rows():
    Y = np.array([[1, 2, 3, NAN], [1, 2, NAN, 4], [2, 2, 2, 2.0]])
    R = Ratings.from_matrix(Y)
    plain = UserKNN().fit(R)
    assert plain.similarities_[0].tolist() == [1.0, 0.0]  # row 2 does not vary
    assert plain.neighbors_[2].tolist() == [-1, -1]
    shrunk = UserKNN(shrinkage=2).fit(R)
    assert shrunk.similarities_[0, 0] == pytest.approx(0.5)
    assert UserKNN(min_overlap=3).fit(R).neighbors_[0].tolist() == [-1, -1]
    assert plain.predict([[2, 0]]).tolist() == [2.0]  # no neighbour: the mean


def test_symmetric_and_the_same_on_any_number_of_threads(monkeypatch):
    from pansophy.core.loops import threads

    R = Ratings.from_matrix(some(5, 60, 40))
    a = UserKNN(pool=59).fit(R)
    monkeypatch.setattr(threads, "available_threads", lambda: 1)
    b = UserKNN(pool=59).fit(R)
    np.testing.assert_array_equal(a.similarities_, b.similarities_)
    S = np.zeros((60, 60))
    for row in range(60):
        there = a.neighbors_[row] >= 0
        S[row, a.neighbors_[row][there]] = a.similarities_[row][there]
    np.testing.assert_allclose(S, S.T, atol=1e-12)


def test_small_pools_are_the_heads_of_large_ones():
    R = Ratings.from_matrix(some(6, 40, 20))
    large, small = UserKNN(pool=39).fit(R), UserKNN(pool=5).fit(R)
    np.testing.assert_array_equal(large.neighbors_[:, :5], small.neighbors_)


def test_implicit_scores_are_sums():
    Y = some(7)
    model = ItemKNN(100, metric="cosine", implicit=True, pool=100)
    model.fit(Ratings.from_matrix(Y))
    X = np.nan_to_num(Y)
    C = X.T @ X / np.outer(*[np.linalg.norm(X, axis=0)] * 2)
    np.fill_diagonal(C, 0)
    np.testing.assert_allclose(model.complete(), X @ C, atol=1e-9)


def test_same_neighbours_as_implicit():
    implicit = pytest.importorskip("implicit.nearest_neighbours")
    R = Ratings.from_matrix(some(8, 80, 50, 0.2))
    theirs = implicit.CosineRecommender(K=11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it converts the matrix it is given
        theirs.fit(sp.csr_matrix(R.csr), show_progress=False)
    model = ItemKNN(metric="cosine", pool=10).fit(R)
    for item in range(50):
        ids, sims = theirs.similar_items(item, N=11)
        own = model.similar_items(item, n=10)
        np.testing.assert_allclose(own.scores, sims[ids != item][:10], rtol=1e-6)


def test_pearson_distance():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(5, 7)), rng.normal(size=(4, 7))
    right = cdist(X, Z, "correlation")
    np.testing.assert_allclose(pearson(X, Z), right, atol=1e-12)
    np.testing.assert_allclose(pearson(X, Z, missing="common"), right, atol=1e-12)
    np.testing.assert_allclose(pearson(3 * X + 1e6, Z), right, atol=1e-8)
    Y = some(9)
    S = 1 - pearson(Y, missing="common")
    for a in range(len(Y)):
        for b in range(len(Y)):
            r = slow.common_correlation(Y[a], Y[b])
            np.testing.assert_allclose(S[a, b], r, atol=1e-9)
    flat = np.full((1, 7), 0.1)
    assert pearson(flat, X).tolist() == [[1.0] * 5]
    assert pearson(flat, X, zero=0.5, missing="common").tolist() == [[0.5] * 5]
    for how in ("refuse", "common"):
        with pytest.raises(ValueError, match=r"zero|vary"):
            pearson(flat, X, zero=None, missing=how)
    with pytest.raises(ValueError, match="without NaN"):
        pearson(Y)
    with pytest.raises(ValueError, match="missing must be"):
        pearson(X, missing="drop")
