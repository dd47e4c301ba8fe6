"""Neighbour search against all pairs: both ways, every metric, ties, threads."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.core.loops import threads
from pansophy.distances import neighbor_search
from pansophy.distances.neighbor_search import (
    build_index,
    count_within,
    k_nearest,
    rows_within_radius,
)
from tests.oracles import neighbors as oracle

METRICS = ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "minkowski", "cosine"]


def rows(n, d, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


def neighbours(index, Q, r):
    """Radius neighbours as a boolean matrix and the distances where it is True."""
    found, far = [], []
    for cut, ends, at, dist in rows_within_radius(index, Q, r, block=16):
        assert len(ends) == cut.stop - cut.start + 1
        for a, b in pairwise(ends):
            line, gaps = np.zeros(index.n, bool), np.full(index.n, np.nan)
            line[at[a:b]], gaps[at[a:b]] = True, dist[a:b]
            found.append(line)
            far.append(gaps)
    return np.array(found), np.array(far)


@pytest.mark.parametrize("method", ["kd_tree", "brute"])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("d", [1, 3, 20])
def test_all_pairs(metric, method, d):
    X, Q = rows(150, d), rows(23, d, 1)
    index = build_index(X, metric=metric, p=3, method=method)
    assert index.method == method
    for asked in (Q, None):
        A = X if asked is None else asked
        D = oracle.distances(A, X, metric, 3)
        for k in (1, 9, 60):
            got, at = k_nearest(index, asked, k)
            want, where = oracle.k_nearest(D, k, asked is None)
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
            assert metric == "cosine" or (at == where).all()
        r = np.median(D)
        near = r >= D
        mask, far = neighbours(index, asked, r)
        assert (mask == near).all()
        np.testing.assert_allclose(far[near], D[near], rtol=1e-9, atol=1e-12)
        assert (count_within(index, asked, r) == near.sum(axis=1)).all()
        w = np.random.default_rng(2).random(150)
        np.testing.assert_allclose(count_within(index, asked, r, w), near @ w)


@pytest.mark.parametrize("method", ["kd_tree", "brute"])
@pytest.mark.parametrize("k", [12, 45])
def test_ties_go_to_the_lower_row(method, k):
    X = np.array(np.meshgrid(*[np.arange(6.0)] * 3)).reshape(3, -1).T.copy()
    got, at = k_nearest(build_index(X, method=method), None, k)
    want, where = oracle.k_nearest(oracle.distances(X, X), k, same=True)
    assert (got == want).all()
    assert (at == where).all()


@pytest.mark.parametrize("method", ["kd_tree", "brute"])
def test_copies_of_one_row(method):
    X = np.ones((600, 3))
    got, at = k_nearest(build_index(X, method=method), None, 50)
    assert (got == 0).all()
    assert at[0].tolist() == list(range(1, 51))
    assert at[70].tolist() == list(range(50))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_groups_far_apart_are_told_apart(dtype):
    """Rows 1e-3 apart at 1e4 from the mean: products alone cannot order them."""
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0] * 20, [1e4] * 20], 300, axis=0)
    X = (X + 1e-2 * rng.integers(0, 100, X.shape)).astype(dtype)
    got, _ = k_nearest(build_index(X, method="brute"), None, 5)
    full = X.astype(np.float64)
    D = np.sqrt(((full[:, None] - full[None]) ** 2).sum(axis=2))
    want, _ = oracle.k_nearest(D, 5, same=True)
    np.testing.assert_allclose(got, want, rtol=1e-5 if dtype == np.float32 else 1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 90), st.integers(1, 4), st.integers(0, 9), st.integers(1, 40))
def test_any_shape(n, d, seed, leaf):
    X = np.round(rows(n, d, seed), 1)
    k = min(n, 5)
    index = build_index(X, method="kd_tree", leaf_size=leaf)
    got, _ = k_nearest(index, X[:7], k)
    want, _ = oracle.k_nearest(oracle.distances(X[:7], X), k)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    other = k_nearest(build_index(X, method="brute"), X[:7], k)
    np.testing.assert_allclose(other[0], want, rtol=1e-12, atol=1e-12)


def test_threads_do_not_matter():
    X = rows(5000, 4)
    for method in ("kd_tree", "brute"):
        index = build_index(X, method=method)
        many = k_nearest(index, None, 8)
        with threads.limit_threads(1):
            one = k_nearest(build_index(X, method=method), None, 8)
        assert all((a == b).all() for a, b in zip(many, one, strict=True))


def test_float32_stays():
    X = rows(300, 3, dtype=np.float32)
    got, at = k_nearest(build_index(X), None, 3)
    assert got.dtype == np.float32
    assert at.dtype == np.int64


def test_a_radius_for_each_query():
    X, Q = rows(100, 2), rows(10, 2, 1)
    r = np.linspace(0, 2, 10)
    near = oracle.distances(Q, X) <= r[:, None]
    for method in ("kd_tree", "brute"):
        got = count_within(build_index(X, method=method), Q, r)
        assert (got == near.sum(axis=1)).all()


def test_cosine_of_zero_rows():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    got, at = k_nearest(build_index(X, metric="cosine"), np.array([[3.0, 0.0]]), 3)
    assert got.tolist() == [[0.0, 1.0, 1.0]]
    assert at.tolist() == [[1, 0, 2]]
    got, at = k_nearest(build_index(X[1:], metric="cosine"), np.zeros((1, 2)), 2)
    assert got.tolist() == [[1.0, 1.0]]


def test_other_metrics():
    X = rows(60, 3)
    cov = np.diag([1.0, 4.0, 9.0])
    got, _ = k_nearest(build_index(X, metric="mahalanobis", cov=cov), None, 4)
    want, _ = k_nearest(build_index(X / [1, 2, 3]), None, 4)
    np.testing.assert_allclose(got, want, rtol=1e-9)
    city = lambda A, B: np.abs(A[:, None] - B[None]).sum(axis=2)
    got, _ = k_nearest(build_index(X, metric=city), X[:5], 4)
    want, _ = k_nearest(build_index(X, metric="manhattan"), X[:5], 4)
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_tensors():
    torch = pytest.importorskip("torch")
    X = rows(80, 5)
    index = build_index(torch.tensor(X))
    got, at = k_nearest(index, None, 6)
    want, where = k_nearest(build_index(X), None, 6)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-9)
    assert (at.numpy() == where).all()
    near = count_within(index, torch.tensor(X[:4]), 1.5)
    assert (near == count_within(build_index(X), X[:4], 1.5)).all()


def test_words_for_mistakes():
    X = rows(5, 2)
    with pytest.raises(ValueError, match="k must be between 1 and the 4 rows"):
        k_nearest(build_index(X), None, 5)
    with pytest.raises(ValueError, match="method must be"):
        build_index(X, method="ball")
    with pytest.raises(ValueError, match="p of minkowski"):
        build_index(X, metric="minkowski", p=0.5)
    with pytest.raises(ValueError, match="k-d tree needs"):
        build_index(X, metric="mahalanobis", method="kd_tree")


def test_nearest_columns():
    D = np.array([[3.0, 1.0, 1.0], [0.0, 5.0, 2.0]])
    got, at = neighbor_search.k_smallest_columns(D, 2)
    assert got.tolist() == [[1.0, 1.0], [0.0, 2.0]]
    assert at.tolist() == [[1, 2], [0, 2]]
