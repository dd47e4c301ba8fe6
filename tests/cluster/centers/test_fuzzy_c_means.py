"""Fuzzy c-means: degrees, the objective, and k-means in the limit."""

import numpy as np
import pytest

from pansophy.cluster import FuzzyCMeans, KMeans, Partition
from pansophy.cluster.centers.fuzzy_c_means import fuzzy_memberships


def objective(X, w, C, U, m):
    D = ((X[:, None] - C) ** 2).sum(axis=2)
    return float((w[:, None] * U**m * D).sum())


@pytest.mark.parametrize("m", [1.3, 2.0, 4.0])
def test_degrees_are_the_best_for_their_centres(m, rng):
    X, C = rng.normal(size=(40, 2)), rng.normal(size=(3, 2))
    U, cost = fuzzy_memberships(X, C, m)
    np.testing.assert_allclose(U.sum(axis=1), 1)
    one = np.ones(40)
    best = objective(X, one, C, U, m)
    assert best == pytest.approx(cost.sum())
    for _ in range(20):
        other = rng.dirichlet(np.ones(3), size=40)
        assert objective(X, one, C, 0.9 * U + 0.1 * other, m) >= best
    D = ((X[:, None] - C) ** 2).sum(axis=2)
    raw = np.array([[1 / sum((D[i, j] / D[i]) ** (1 / (m - 1))) for j in range(3)]
                    for i in range(40)])  # fmt: skip
    np.testing.assert_allclose(U, raw)


@pytest.mark.parametrize("m", [1.5, 2.0, 3.0])
def test_objective_never_rises(m, rng):
    X = rng.normal(size=(200, 3))
    model = FuzzyCMeans(4, m=m, random_state=0).fit(X)
    h = model.history_["objective"]
    assert (np.diff(h) <= 1e-9 * h[0]).all()
    assert model.inertia_ <= h[-1] * (1 + 1e-12)
    want = objective(X, np.ones(200), model.cluster_centers_, model.memberships_, m)
    assert model.inertia_ == pytest.approx(want)


def test_soft_rows_sum_to_one_and_argmax_gives_labels(rng):
    X = rng.normal(size=(90, 2))
    model = FuzzyCMeans(3, random_state=1).fit(X)
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1)
    np.testing.assert_array_equal(model.labels_, model.memberships_.argmax(axis=1))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    p = Partition.from_membership(model.memberships_)
    np.testing.assert_array_equal(p.labels, model.labels_)
    assert 1 / 3 < model.partition_coefficient_ < 1


def test_nearly_hard_is_k_means(rng):
    X = np.concatenate([rng.normal(size=(30, 2)) + 6 * j for j in range(3)])
    start = X[[0, 30, 60]]
    hard = KMeans(3, init=start, tol=0).fit(X)
    soft = FuzzyCMeans(3, m=1.01, init=start).fit(X)
    np.testing.assert_allclose(soft.cluster_centers_, hard.cluster_centers_, atol=1e-2)
    np.testing.assert_array_equal(soft.labels_, hard.labels_)
    assert soft.inertia_ == pytest.approx(hard.inertia_, rel=1e-3)


def test_a_row_on_a_centre_belongs_to_it_alone():
    U, cost = fuzzy_memberships(
        np.array([[0.0], [1.0]]), np.array([[0.0], [0.0], [3.0]]), 2.0
    )
    np.testing.assert_allclose(U[0], [0.5, 0.5, 0.0])
    assert cost[0] == 0
    assert np.isfinite(U).all()


def test_weights_equal_repetition_and_float32_stays(rng):
    X, w = rng.normal(size=(30, 2)), rng.integers(0, 3, size=30)
    a = FuzzyCMeans(3, random_state=0).fit(X, sample_weight=w)
    b = FuzzyCMeans(3, random_state=0).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, rtol=1e-6)
    assert FuzzyCMeans(3).fit(X.astype(np.float32)).memberships_.dtype == np.float32


def test_fuzziness_must_be_above_one(rng):
    with pytest.raises(ValueError, match="above 1"):
        FuzzyCMeans(m=1.0).fit(rng.normal(size=(20, 2)))
