"""Metrics and refusals of neighbour queries."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import neighbors as theirs
from sklearn.base import clone
from sklearn.exceptions import EfficiencyWarning

from pansophy.distances import chebyshev, pairwise
from pansophy.kernels import Linear, Polynomial
from pansophy.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    LocalOutlierFactor,
    NearestNeighbors,
    kernel_distance,
)
from pansophy.params import ParameterError

LINE = np.array([[1.0], [2.0], [3.0], [6.0], [7.0]])


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_kernel_distance():
    x, z = np.array([[1.0, 2.0]]), np.array([[3.0, -1.0]])
    assert kernel_distance(Linear(), x, z).item() ** 2 == pytest.approx(13)
    k = Polynomial(2, 1.0, 1.0)
    want = k(x, x) + k(z, z) - 2 * k(x, z)
    np.testing.assert_allclose(kernel_distance(k, x, z) ** 2, want)


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


@pytest.mark.parametrize(
    "kind", [sparse.csr_matrix, sparse.lil_array, sparse.coo_array]
)
@pytest.mark.filterwarnings("ignore:Precomputed sparse input was not sorted")
def test_sparse_graphs_of_distances(kind):
    """Stored distances, zeros on the diagonal included, answer as the rows do."""
    X, Q, y = rows(40, 3), rows(9, 3, 1), np.arange(40) % 3
    plain = NearestNeighbors(n_neighbors=6).fit(X)
    G = kind(plain.kneighbors_graph(X, mode="distance"))
    H = kind(plain.kneighbors_graph(Q, mode="distance"))
    given = NearestNeighbors(n_neighbors=5, metric="precomputed").fit(G)
    for got, want in ((given.kneighbors(H), plain.kneighbors(Q, 5)),
                      (given.kneighbors(), plain.kneighbors(None, 5))):  # fmt: skip
        np.testing.assert_allclose(got[0], want[0])
        np.testing.assert_array_equal(got[1], want[1])
    for model in (KNeighborsClassifier(4), KNeighborsRegressor(4, weights="distance")):
        want = clone(model).fit(X, y).predict(Q)
        got = clone(model).set_params(metric="precomputed").fit(G, y).predict(H)
        np.testing.assert_allclose(got, want)
    want = LocalOutlierFactor(5).fit(X).negative_outlier_factor_
    got = LocalOutlierFactor(5, metric="precomputed").fit(G).negative_outlier_factor_
    np.testing.assert_allclose(got, want)
    r = 1.001 * float(plain.kneighbors(Q, 3)[0].max())  # no row exactly at r
    R = kind(plain.radius_neighbors_graph(Q, radius=2 * r, mode="distance"))
    own = kind(plain.radius_neighbors_graph(X, radius=2 * r, mode="distance"))
    given = NearestNeighbors(metric="precomputed").fit(own)
    for a, b in zip(given.radius_neighbors(R, r)[1], plain.radius_neighbors(Q, r)[1]):
        assert set(a) == set(b)
    for a, b in zip(given.radius_neighbors(None, r)[1], plain.radius_neighbors(None, r)[1]):  # fmt: skip  # noqa: E501
        assert set(a) == set(b)


def test_what_a_sparse_graph_cannot_be():
    G = sparse.csr_matrix([[0.0, 2.0, 1.0], [2.0, 0.0, 3.0], [1.0, 3.0, 0.0]])
    model = NearestNeighbors(metric="precomputed")
    with pytest.warns(EfficiencyWarning, match="not sorted"):
        model.fit(G)
    with pytest.raises(ValueError, match="3 neighbors per samples are required"):
        model.kneighbors(sparse.csr_matrix([[0.0, 1.0, 2.0]]), 3)
    with pytest.raises(TypeError, match="explicit zeros"):
        model.fit(sparse.dok_matrix(G))
    with pytest.raises(ValueError, match="Negative values"):
        model.fit(sparse.csr_matrix(-G.toarray()))
    with pytest.raises(ValueError, match="square"):
        model.fit(G[:2])


def test_search_trees_and_fitted_models_as_rows():
    X, Q, y = rows(30, 3), rows(5, 3, 1), np.arange(30) % 2
    want = NearestNeighbors().fit(X).kneighbors(Q)
    for given in (theirs.KDTree(X), theirs.BallTree(X), NearestNeighbors().fit(X)):
        for model in (NearestNeighbors(), KNeighborsClassifier()):
            got = model.fit(given, y).kneighbors(Q)
            np.testing.assert_allclose(got[0], want[0])
            np.testing.assert_array_equal(got[1], want[1])


def test_powers_below_one():
    X, Q = rows(30, 3), rows(5, 3, 1)
    with pytest.warns(UserWarning, match="not distance metrics"):
        D, _ = NearestNeighbors(p=0.5).fit(X).kneighbors(Q)
    far = (np.abs(Q[:, None] - X[None]) ** 0.5).sum(-1) ** 2
    np.testing.assert_allclose(D, np.sort(far, axis=1)[:, :5])
    with pytest.raises(ValueError, match="does not support 0 < p < 1"):
        NearestNeighbors(p=0.5, algorithm="kd_tree").fit(X)
    with pytest.raises(ParameterError, match="p of NearestNeighbors"):
        NearestNeighbors(p=0).fit(X)
    with pytest.warns(SyntaxWarning, match="metric_params"):
        NearestNeighbors(metric_params={"p": 3}).fit(X)


def test_a_radius_for_each_query():
    X, Q = rows(50, 2), rows(7, 2, 1)
    r = np.linspace(0.1, 2.0, 7)
    for metric in ("euclidean", "canberra"):
        model = NearestNeighbors(radius=None, metric=metric).fit(X)
        got = model.radius_neighbors(Q, radius=r, return_distance=False)
        for i in range(7):
            want = model.radius_neighbors(Q[i : i + 1], radius=r[i])[1][0]
            assert set(got[i]) == set(want)
    with pytest.raises(ValueError, match="radius must be"):
        model.radius_neighbors(Q)
    with pytest.raises(ValueError, match="radius must be"):
        model.radius_neighbors(Q, radius=r[:3])
    with pytest.raises(ValueError, match="n_neighbors of NearestNeighbors is None"):
        NearestNeighbors(n_neighbors=None).fit(X).kneighbors()


def test_every_metric_of_a_ball_tree():
    X, Q = np.abs(rows(30, 2)), np.abs(rows(5, 2, 1))
    extra = {"seuclidean": {"V": np.ones(2)}, "mahalanobis": {"VI": np.eye(2)}}
    for metric in ("canberra", "braycurtis", "haversine", "hamming", *extra):
        how = {"metric": metric, "metric_params": extra.get(metric)}
        a = NearestNeighbors(algorithm="ball_tree", **how).fit(X).kneighbors(Q)
        b = theirs.NearestNeighbors(algorithm="ball_tree", **how).fit(X).kneighbors(Q)
        np.testing.assert_allclose(a[0], b[0])
        with pytest.raises(ParameterError, match="algorithm of NearestNeighbors"):
            NearestNeighbors(algorithm="kd_tree", **how).fit(X)


def test_weights_that_leave_nothing_are_refused():
    X, y = LINE, [0, 0, 1, 1, 1]
    for model in (KNeighborsClassifier, KNeighborsRegressor):
        none = model(3, weights=lambda D: np.zeros_like(D)).fit(X, y)
        with pytest.raises(ValueError, match="zero weights"):
            none.predict(X)
        below = model(3, weights=lambda D: -D).fit(X, y)
        with pytest.raises(ValueError, match="at least 0"):
            below.predict(X)


def test_a_function_means_the_same_everywhere():
    X, Q = rows(20, 3), rows(4, 3, 1)
    of_rows = lambda x, z: float(np.abs(x - z).max())
    of_matrices = lambda A, B: np.abs(A[:, None] - B[None]).max(-1)
    want = pairwise(Q, X, "chebyshev")
    for metric in (of_rows, of_matrices, chebyshev):
        np.testing.assert_allclose(pairwise(Q, X, metric), want)
        D = NearestNeighbors(metric=metric).fit(X).kneighbors(Q)[0]
        np.testing.assert_allclose(D, np.sort(want, axis=1)[:, :5])
    with pytest.raises(ValueError, match="a number for two rows, or a matrix"):
        pairwise(Q, X, lambda A, B: A)
