"""Metropolis acceptance: its probability, failed densities, temperature zero."""

import numpy as np

from pansophy.core.drivers import metropolis


def test_probability_of_worse_moves():
    r = np.array([0.5, 0.0, -np.log(4), -np.inf, np.nan])
    found = metropolis.acceptance_probability(r)
    np.testing.assert_allclose(found, [1, 1, 0.25, 0, 0])


def test_thresholds_accept_with_that_probability(rng):
    T, loss = 2.0, 1.3
    threshold = metropolis.acceptance_threshold(T, 200_000, rng)
    share = metropolis.is_accepted(-loss, 0.0, threshold).mean()
    assert abs(share - np.exp(-loss / T)) < 0.005  # four standard errors


def test_cold_moves_are_greedy_and_failures_are_refused(rng):
    cold = metropolis.acceptance_threshold(0.0, 3, rng)
    new = np.array([1.0, 0.999, np.nan])
    assert metropolis.is_accepted(new, 1.0, cold).tolist() == [True, False, False]
    assert metropolis.is_accepted(-np.inf, -np.inf, 1.0)
