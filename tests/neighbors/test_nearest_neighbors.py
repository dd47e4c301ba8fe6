"""Nearest neighbours, and rows within a radius."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import neighbors as theirs
from sklearn.utils.estimator_checks import check_estimator

from pansophy.kernels import RBF, Linear
from pansophy.neighbors import (
    KNeighborsClassifier,
    NearestNeighbors,
)


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_kernels_as_metrics():
    X, Q = rows(60, 3), rows(9, 3, 1)
    plain = NearestNeighbors().fit(X).kneighbors(Q)
    D, at = NearestNeighbors(metric=Linear()).fit(X).kneighbors(Q)
    assert (at == plain[1]).all()
    np.testing.assert_allclose(D, plain[0], rtol=1e-7)
    at = NearestNeighbors(metric=RBF(1.5)).fit(X).kneighbors(Q, return_distance=False)
    assert (at == plain[1]).all()


OPTIONS = [
    {},
    {"p": 1},
    {"p": 3},
    {"p": np.inf},
    {"metric": "cosine", "algorithm": "brute"},
    {"metric": "chebyshev", "algorithm": "ball_tree"},
    {"metric": "hamming", "algorithm": "brute"},
    {"metric": "seuclidean", "metric_params": {"V": np.array([1.0, 2.0, 3.0])}},
    {"metric": "mahalanobis", "metric_params": {"VI": np.diag([1.0, 2.0, 3.0])}},
    {"metric": "minkowski", "metric_params": {"w": np.array([1.0, 2.0, 0.5])}},
    {"metric": lambda x, z: np.abs(x - z).sum()},
]


def metric_name(options):
    return str(options.get("metric", "plain"))[:12]


@pytest.mark.parametrize("options", OPTIONS, ids=metric_name)
def test_questions_of_scikit_learn(options):
    X, Q = rows(80, 3), rows(11, 3, 1)
    a = NearestNeighbors(radius=0.9, **options).fit(X)
    b = theirs.NearestNeighbors(radius=0.9, **options).fit(X)
    for asked in (Q, None):
        for x, y in zip(a.kneighbors(asked), b.kneighbors(asked), strict=True):
            if options.get("metric") != "hamming" or x.dtype.kind == "f":
                np.testing.assert_allclose(x, y, rtol=1e-9)
        for x, y in zip(*(m.radius_neighbors(asked) for m in (a, b)), strict=True):
            for s, t in zip(x, y, strict=True):
                np.testing.assert_allclose(np.sort(s), np.sort(t), rtol=1e-9)
        for mode in ("connectivity", "distance"):
            if options.get("metric") == "hamming":
                continue
            one, two = (m.kneighbors_graph(asked, mode=mode) for m in (a, b))
            np.testing.assert_allclose(one.toarray(), two.toarray(), rtol=1e-9)
            one, two = (m.radius_neighbors_graph(asked, mode=mode) for m in (a, b))
            np.testing.assert_allclose(one.toarray(), two.toarray(), rtol=1e-9)


def test_sorted_radius():
    X = rows(60, 2)
    D, at = NearestNeighbors(radius=1.0).fit(X).radius_neighbors(X, sort_results=True)
    assert all((np.diff(d) >= 0).all() for d in D)
    assert all(i[0] == t for t, i in enumerate(at))
    G = (
        NearestNeighbors()
        .fit(X)
        .radius_neighbors_graph(radius=1.0, mode="distance", sort_results=True)
    )
    parts = np.split(G.data, G.indptr[1:-1])
    assert all((np.diff(d) >= 0).all() for d in parts)


def test_sparse_rows():
    X = sparse.random_array((90, 12), density=0.3, rng=0, format="csr")
    X = sparse.csr_matrix(X)
    for metric in ("euclidean", "manhattan", "cosine"):
        a = NearestNeighbors(metric=metric).fit(X).kneighbors(X[:9])
        b = theirs.NearestNeighbors(metric=metric).fit(X).kneighbors(X[:9])
        np.testing.assert_allclose(a[0], b[0], atol=1e-7)
    with pytest.warns(UserWarning, match="cannot use tree with sparse input"):
        NearestNeighbors(algorithm="kd_tree").fit(X)


def test_precomputed():
    X, y = rows(50, 3), np.arange(50) % 2
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    a = KNeighborsClassifier(metric="precomputed").fit(D, y)
    b = KNeighborsClassifier().fit(X, y)
    assert (a.predict(D[:9]) == b.predict(X[:9])).all()
    one, two = NearestNeighbors(metric="precomputed").fit(D), NearestNeighbors().fit(X)
    assert (one.kneighbors()[1] == two.kneighbors()[1]).all()
    np.testing.assert_allclose(
        one.radius_neighbors_graph().toarray(), two.radius_neighbors_graph().toarray()
    )
    with pytest.raises(ValueError, match="square"):
        NearestNeighbors(metric="precomputed").fit(D[:9])


def test_missing_entries():
    X = rows(30, 3)
    X[3, 1] = np.nan
    model = NearestNeighbors(metric="nan_euclidean").fit(X)
    peer = theirs.NearestNeighbors(metric="nan_euclidean").fit(X)
    np.testing.assert_allclose(model.kneighbors()[0], peer.kneighbors()[0], rtol=1e-9)


def test_checks_of_scikit_learn():
    # has no role, so that the common battery does not see it
    results = check_estimator(NearestNeighbors(), on_fail="raise")
    assert len(results) > 30


def test_a_row_that_does_not_find_itself_is_not_counted_as_found():
    D = np.abs(rows(12, 12)) + 1
    ours = NearestNeighbors(metric="precomputed").fit(D).radius_neighbors(radius=1.5)
    peer = theirs.NearestNeighbors(metric="precomputed").fit(D)
    for a, b in zip(ours[1], peer.radius_neighbors(radius=1.5)[1], strict=True):
        assert set(a) == set(b)


def test_radius_neighbours_of_sparse_rows_themselves():
    X = sparse.random(30, 8, 0.4, format="csr", random_state=0)
    ours = NearestNeighbors().fit(X).radius_neighbors(radius=0.9)[1]
    peer = theirs.NearestNeighbors().fit(X).radius_neighbors(radius=0.9)[1]
    for a, b in zip(ours, peer, strict=True):
        assert set(a) == set(b)


def test_sparse_queries_of_dense_rows():
    X, Q = rows(30, 3), rows(5, 3, 1)
    model = NearestNeighbors().fit(X)
    for a, b in zip(model.kneighbors(sparse.csr_matrix(Q)), model.kneighbors(Q)):
        np.testing.assert_array_equal(a, b)
