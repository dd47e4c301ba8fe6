"""Kernel k-means: k-means for the linear kernel, rings for the Gaussian one."""

import numpy as np
import pytest
from sklearn.datasets import make_circles
from sklearn.metrics import adjusted_rand_score

from pansophy import kernels
from pansophy.cluster import KernelKMeans, KMeans
from pansophy.cluster.centers import kernel_kmeans
from tests.oracles import kmeans as slow


@pytest.mark.parametrize("seed", range(4))
def test_linear_kernel_gives_the_k_means_result(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    C = X[:4]
    model = KernelKMeans(4, kernel="linear", init=slow.assign(X, C)).fit(X)
    plain = KMeans(4, init=C, tol=0).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert model.inertia_ == pytest.approx(plain.inertia_)
    np.testing.assert_array_equal(model.predict(X + 0.1), plain.predict(X + 0.1))
    np.testing.assert_allclose(model.transform(X), plain.transform(X), atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_cost_never_rises(kernel, rng):
    X = rng.normal(size=(150, 3))
    model = KernelKMeans(5, kernel=kernel, random_state=0).fit(X)
    h = model.history_["objective"]
    assert (np.diff(h) <= 1e-9 * h[0]).all()
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_objective_is_the_sum_of_squares_in_feature_space(rng):
    X, w = rng.normal(size=(40, 2)), rng.random(40)
    model = KernelKMeans(3, gamma=0.5, random_state=0).fit(X, sample_weight=w)
    K = kernels.RBF(gamma=0.5)(X)
    total = 0.0
    for j in range(3):
        m = np.flatnonzero(model.labels_ == j)
        u = w[m] / w[m].sum()
        own = np.diag(K)[m] - 2 * K[np.ix_(m, m)] @ u + u @ K[np.ix_(m, m)] @ u
        total += w[m] @ own
    assert model.inertia_ == pytest.approx(total)


def test_gaussian_kernel_separates_rings():
    X, y = make_circles(200, factor=0.2, noise=0.03, random_state=0)
    ours = KernelKMeans(2, gamma=2.0, n_init=5, random_state=0).fit(X)
    assert adjusted_rand_score(y, ours.labels_) == 1
    plain = KMeans(2, n_init=5, random_state=0).fit(X)
    assert adjusted_rand_score(y, plain.labels_) < 0.1


def test_a_matrix_gives_the_result_of_the_rows(rng):
    X, Z = rng.normal(size=(50, 2)), rng.normal(size=(9, 2))
    k = kernels.RBF(gamma=0.7)
    rows = KernelKMeans(3, kernel=k, random_state=0).fit(X)
    matrix = KernelKMeans(3, kernel="precomputed", random_state=0).fit(k(X))
    named = KernelKMeans(3, gamma=0.7, random_state=0).fit(X)
    func = KernelKMeans(3, kernel=lambda A, B: k(A, B), random_state=0).fit(X)
    for other in (matrix, named, func):
        np.testing.assert_array_equal(rows.labels_, other.labels_)
    np.testing.assert_array_equal(rows.predict(Z), matrix.predict(k(Z, X)))
    np.testing.assert_array_equal(rows.predict(Z), func.predict(Z))


def test_blocks_give_the_result_of_the_matrix(rng, monkeypatch):
    X = rng.normal(size=(70, 3))
    whole = KernelKMeans(4, random_state=0).fit(X)
    monkeypatch.setattr(kernel_kmeans, "LIMIT", 0)
    monkeypatch.setattr(kernel_kmeans, "BLOCK", 70 * 9)
    parts = KernelKMeans(4, random_state=0).fit(X)
    np.testing.assert_array_equal(whole.labels_, parts.labels_)
    assert parts.inertia_ == pytest.approx(whole.inertia_)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_starts_and_empty_groups(init, rng):
    X = np.repeat(rng.normal(size=(4, 2)), 5, axis=0)
    model = KernelKMeans(4, init=init, n_init=5, random_state=0).fit(X)
    assert model.inertia_ < 1e-9 or init == "random"
    stuck = KernelKMeans(3, kernel="linear", init=np.zeros(20, int)).fit(X)
    assert len(np.unique(stuck.labels_)) == 3


def test_weights_equal_repetition(rng):
    X, w = rng.normal(size=(30, 2)), rng.integers(0, 3, size=30)
    a = KernelKMeans(3, gamma=0.4, random_state=0).fit(X, sample_weight=w)
    b = KernelKMeans(3, gamma=0.4, random_state=0).fit(np.repeat(X, w, axis=0))
    assert a.inertia_ == pytest.approx(b.inertia_)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"init": [0, 1]}, "whole numbers"),
        ({"init": np.full(12, 7)}, "from 0 to 1"),
        ({"kernel": "precomputed"}, "square"),
        ({"kernel": lambda A, B: A}, "matrix of shape"),
    ],
)
def test_bad_parameters(how, match, rng):
    with pytest.raises(ValueError, match=match):
        KernelKMeans(**{"n_clusters": 2, **how}).fit(rng.normal(size=(12, 2)))
