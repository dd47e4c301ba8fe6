"""Metrics and refusals of neighbour queries."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import neighbors as theirs

from pansophy.kernels import Linear, Polynomial
from pansophy.neighbors import (
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
