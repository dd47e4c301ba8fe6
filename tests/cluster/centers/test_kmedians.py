"""K-medians: medians by definition, turns that never raise J."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.cluster import KMeans, KMedians
from pansophy.cluster.centers.kmedians import nearest_l1_center, weighted_median


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_weighted_median_is_the_median_of_repetitions(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(1, 12), 2))
    w = rng.integers(1, 4, size=len(X))
    many = np.repeat(X, w, axis=0)
    np.testing.assert_allclose(weighted_median(X, w), np.median(many, axis=0))


def test_worked_example():
    X = np.array([[1.0], [2.0], [99.0], [201.0], [202.0], [203.0]])
    model = KMedians(2, init=[[1.0], [203.0]]).fit(X)
    np.testing.assert_array_equal(model.cluster_centers_.ravel(), [2.0, 202.0])
    assert model.inertia_ == 1 + 97 + 1 + 1
    np.testing.assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("seed", range(5))
def test_objective_never_rises_and_ends_at_a_fixed_point(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3))
    model = KMedians(6, random_state=seed).fit(X)
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()
    for j in range(6):
        mine = X[model.labels_ == j]
        np.testing.assert_allclose(model.cluster_centers_[j], np.median(mine, axis=0))
    D = np.abs(X[:, None] - model.cluster_centers_).sum(axis=2)
    np.testing.assert_array_equal(model.labels_, D.argmin(axis=1))
    assert model.inertia_ == pytest.approx(D.min(axis=1).sum())
    np.testing.assert_allclose(model.transform(X), D)


def test_an_outlier_moves_a_mean_but_not_a_median(rng):
    X = np.concatenate([rng.normal(size=(30, 1)), rng.normal(size=(30, 1)) + 10])
    far = np.vstack([X, [[60.0]]])
    start = [[0.0], [10.0]]
    moved = KMeans(2, init=start).fit(far).cluster_centers_[1]
    stays = KMedians(2, init=start).fit(far).cluster_centers_[1]
    assert abs(stays[0] - 10) < 0.5 < abs(moved[0] - 10)


def test_an_empty_group_takes_the_farthest_row():
    X = np.array([[0.0], [1.0], [2.0], [50.0]])
    model = KMedians(3, init=[[0.0], [1.0], [900.0]]).fit(X)
    assert len(np.unique(model.labels_)) == 3
    assert 50.0 in model.cluster_centers_


def test_weights_equal_repetition(rng):
    X, w = rng.normal(size=(30, 2)), rng.integers(0, 3, size=30)
    a = KMedians(3, random_state=0).fit(X, sample_weight=w)
    b = KMedians(3, random_state=0).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_)
    z, own = nearest_l1_center(X, a.cluster_centers_)
    assert a.inertia_ == pytest.approx(float(w @ own))
    np.testing.assert_array_equal(z, a.labels_)


def test_bad_start_is_refused(rng):
    with pytest.raises(ValueError, match="init must be 2 rows"):
        KMedians(2, init=[[1.0]]).fit(rng.normal(size=(9, 2)))


def test_fractional_weights_have_the_median_of_unit_weights():
    """Six weights of 0.1 do not add up to twice the first three exactly."""
    X = np.arange(1.0, 7.0)[:, None]
    for w in (None, np.full(6, 0.1)):
        model = KMedians(1, init=[[1.0]]).fit(X, sample_weight=w)
        assert model.cluster_centers_.item() == 3.5
