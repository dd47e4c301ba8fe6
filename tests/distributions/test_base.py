"""Shared parts of distributions: events, sums by weight, impossible counts."""

import numpy as np
import pytest
import scipy.special

from pansophy.core.arrays.arrays import to_numpy
from pansophy.distributions import base


def test_a_vector_is_events_of_one_coordinate():
    assert base.as_events([1.0, 2.0], 1).shape == (2, 1)
    with pytest.raises(ValueError, match=r"rows of 3 values, got shape \(2, 2\)"):
        base.as_events(np.ones((2, 2)), 3)


def test_sums_by_weight_of_one_and_of_a_batch(rng):
    S, w, R = rng.random((5, 2)), rng.random(5), rng.random((5, 3))
    np.testing.assert_allclose(base.weighted_sum(S, None), S.sum(axis=0))
    np.testing.assert_allclose(base.weighted_sum(S, w), w @ S)
    np.testing.assert_allclose(base.weighted_sum(S, R), R.T @ S)
    stats = base.sufficient_statistics(S, R, lambda x: x, lambda x: x**2)
    np.testing.assert_allclose(stats.weight, R.sum(axis=0))
    np.testing.assert_allclose(
        base.per_weight(stats.total[1], stats.weight)[0, 0],
        np.average(S[:, 0] ** 2, weights=R[:, 0]),
    )
    assert float(base.sum_of_weights(S, None)) == 5


def test_impossible_symbols_count_only_where_they_occur():
    X, P = np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 0.0], [0.5, 0.5]])
    found = base.counts_times_log_probability(X, P)
    np.testing.assert_allclose(found, [[0, 2 * np.log(0.5)], [-np.inf, np.log(0.25)]])


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
def test_special_functions_on_every_library(library):
    xp = pytest.importorskip(library)
    x = np.array([0.3, 2.0, 50.0])
    for name in ("gammaln", "digamma"):
        found = getattr(base, name)(xp.asarray(x))
        assert type(found) is type(xp.asarray(x))
        np.testing.assert_allclose(
            to_numpy(found), getattr(scipy.special, name)(x), rtol=1e-13
        )
    np.testing.assert_allclose(
        to_numpy(base.trigamma(xp.asarray(x))), scipy.special.polygamma(1, x)
    )


def test_coordinates_are_independent():
    normal = lambda x, m: -((x - m) ** 2)
    X = np.array([[0.0, 1.0], [2.0, 2.0]])
    one = base.over_coordinates(normal, X, np.array([0.0, 1.0]))
    np.testing.assert_array_equal(one, [0, -5])
    batch = base.over_coordinates(normal, X, np.array([[0.0, 1.0], [2.0, 2.0]]))
    np.testing.assert_array_equal(batch, [[0, -5], [-5, 0]])
