"""Neighbour models: worked numbers, scikit-learn, kernels as metrics, sparse rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import neighbors as theirs
from sklearn.utils.estimator_checks import check_estimator

from pansophy.kernels import RBF, Linear, Polynomial
from pansophy.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    kernel_distance,
    local_vote,
)
from pansophy.params import ParameterError

LINE = np.array([[1.0], [2.0], [3.0], [6.0], [7.0]])
NAMES = np.array(["A", "A", "A", "B", "B"])


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize(("k", "share"), [(1, 1.0), (3, 2 / 3), (5, 3 / 5)])
def test_worked_votes(k, share):
    model = KNeighborsClassifier(k).fit(LINE, NAMES)
    assert model.predict_proba([[4.2]])[0, 0] == pytest.approx(share)
    assert model.predict([[4.2]]).tolist() == ["A"]


def test_one_neighbour_repeats_the_labels_and_all_give_the_priors():
    X, y = rows(40, 3), np.random.default_rng(1).integers(0, 3, 40)
    assert (KNeighborsClassifier(1).fit(X, y).predict(X) == y).all()
    P = KNeighborsClassifier(40).fit(X, y).predict_proba(rows(5, 3, 2))
    np.testing.assert_allclose(P, np.tile(np.bincount(y) / 40, (5, 1)))


def test_kernel_distance():
    x, z = np.array([[1.0, 2.0]]), np.array([[3.0, -1.0]])
    assert kernel_distance(Linear(), x, z).item() ** 2 == pytest.approx(13)
    k = Polynomial(2, 1.0, 1.0)
    want = k(x, x) + k(z, z) - 2 * k(x, z)
    np.testing.assert_allclose(kernel_distance(k, x, z) ** 2, want)


def test_kernels_as_metrics():
    X, Q = rows(60, 3), rows(9, 3, 1)
    plain = NearestNeighbors().fit(X).kneighbors(Q)
    D, at = NearestNeighbors(metric=Linear()).fit(X).kneighbors(Q)
    assert (at == plain[1]).all()
    np.testing.assert_allclose(D, plain[0], rtol=1e-7)
    at = NearestNeighbors(metric=RBF(1.5)).fit(X).kneighbors(Q, return_distance=False)
    assert (at == plain[1]).all()


def test_local_vote():
    X, alpha, y = [[0.0], [1.0], [5.0]], [1.0, 0.5, 2.0], [1, -1, -1]
    got = local_vote(X, alpha, np.array([[0.0], [2.9], [4.0]]), 1.0, y)
    np.testing.assert_allclose(got, [0.5, -0.5, -2.0])
    h, far = 0.7, np.array([0.0, 0.7, 1.4])
    np.testing.assert_allclose(
        np.exp(-((far / h) ** 2)), [1, 0.367879, 0.018316], atol=1e-6
    )


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda D: np.exp(-D)])
@pytest.mark.parametrize("algorithm", ["auto", "brute", "kd_tree"])
def test_votes_of_scikit_learn(weights, algorithm):
    X, Q = np.round(rows(200, 4), 1), np.round(rows(50, 4, 1), 1)
    Q[:10] = X[:10]
    y = np.random.default_rng(2).integers(0, 4, 200)
    how = {"n_neighbors": 7, "weights": weights, "algorithm": algorithm}
    X, Q = X + 1e-7 * rows(200, 4, 5), Q  # no ties, whose order is not set
    a = KNeighborsClassifier(**how).fit(X, y)
    b = theirs.KNeighborsClassifier(**how).fit(X, y)
    # scikit-learn's brute force loses digits of small distances
    np.testing.assert_allclose(a.predict_proba(Q), b.predict_proba(Q), atol=1e-6)
    assert (a.predict(Q) == b.predict(Q)).all()
    assert (a.predict(None) == b.predict(None)).all()
    assert a.score(None, y) == b.score(None, y)
    two = np.column_stack([y, -2.0 * y])
    for target in (y.astype(float), two):
        a = KNeighborsRegressor(**how).fit(X, target)
        b = theirs.KNeighborsRegressor(**how).fit(X, target)
        np.testing.assert_allclose(a.predict(Q), b.predict(Q), atol=1e-5)
    a = KNeighborsClassifier(**how).fit(X, two.astype(int))
    b = theirs.KNeighborsClassifier(**how).fit(X, two.astype(int))
    assert (a.predict(Q) == b.predict(Q)).all()
    for p, q in zip(a.predict_proba(Q), b.predict_proba(Q), strict=True):
        np.testing.assert_allclose(p, q, atol=1e-6)


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
    with pytest.raises(ParameterError, match="sparse rows"):
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


def test_names_of_the_metric():
    for p, name in ((1, "manhattan"), (2, "euclidean"), (np.inf, "chebyshev")):
        assert NearestNeighbors(p=p).fit(LINE).effective_metric_ == name
    model = NearestNeighbors(p=3).fit(LINE)
    assert model.effective_metric_ == "minkowski"
    assert model.effective_metric_params_ == {"p": 3}


def test_words_for_mistakes():
    model = NearestNeighbors(n_neighbors=9).fit(LINE)
    with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit"):
        model.kneighbors(LINE)
    with pytest.raises(ValueError, match="Expected n_neighbors < n_samples_fit"):
        model.kneighbors(n_neighbors=5)
    with pytest.raises(TypeError, match="whole number"):
        model.kneighbors(LINE, n_neighbors=2.5)
    with pytest.raises(ValueError, match="Unsupported mode"):
        model.kneighbors_graph(n_neighbors=2, mode="other")
    with pytest.raises(ParameterError, match="metric of NearestNeighbors"):
        NearestNeighbors(metric="far").fit(LINE)
    with pytest.raises(ParameterError, match="V or VI"):
        NearestNeighbors(metric="mahalanobis").fit(LINE)
    with pytest.raises(ValueError, match="return_distance must be True"):
        model.radius_neighbors(LINE, return_distance=False, sort_results=True)


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


def test_what_a_metric_does_not_take_is_refused():
    X = rows(20, 3)
    with pytest.raises(ParameterError, match="holds 'q', which the metric euclidean"):
        NearestNeighbors(metric="euclidean", metric_params={"q": 1}).fit(X)
    with pytest.raises(ParameterError, match="must give V for the metric seuclidean"):
        NearestNeighbors(metric="seuclidean").fit(X)
    with pytest.raises(ParameterError, match="for sparse rows, got 'chebyshev'"):
        NearestNeighbors(metric="chebyshev").fit(sparse.csr_matrix(X))


def test_metrics_by_other_names_and_of_truths():
    X = rows(20, 3)
    V = np.cov(X.T)
    ask = lambda metric, A=X, **extra: (
        NearestNeighbors(metric=metric, metric_params=extra or None).fit(A).kneighbors()
    )
    for a, b in (
        (ask("pearson"), ask("correlation")),
        (ask("mahalanobis", V=V), ask("mahalanobis", VI=np.linalg.inv(V))),
    ):
        np.testing.assert_allclose(a[0], b[0])
        np.testing.assert_array_equal(a[1], b[1])
    peer = theirs.NearestNeighbors(metric="jaccard").fit(X > 0)
    np.testing.assert_allclose(ask("jaccard", X > 0)[0], peer.kneighbors()[0])


def test_sparse_queries_of_dense_rows():
    X, Q = rows(30, 3), rows(5, 3, 1)
    model = NearestNeighbors().fit(X)
    for a, b in zip(model.kneighbors(sparse.csr_matrix(Q)), model.kneighbors(Q)):
        np.testing.assert_array_equal(a, b)
