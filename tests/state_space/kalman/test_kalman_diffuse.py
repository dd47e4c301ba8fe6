"""The exact diffuse start."""

import numpy as np
import pytest

from pansophy.state_space import KalmanFilter


def test_diffuse_start_is_the_limit_of_a_wide_one(rng):
    """Level, slope and a gap: exact start against variances of 10^7."""
    F = np.array([[1.0, 1.0], [0.0, 1.0]])
    given = {"transition_matrices": F, "observation_matrices": np.array([[1.0, 0.0]])}
    X = np.cumsum(rng.normal(size=(30, 1)), axis=0)
    X[1] = np.nan
    exact = KalmanFilter(**given, start="diffuse")
    wide = KalmanFilter(**given, initial_state_covariance=1e7 * np.eye(2))
    for a, b in zip(exact.smooth(X), wide.smooth(X), strict=True):
        assert np.allclose(a, b, rtol=1e-4, atol=1e-4)
    assert exact.score(X) - wide.score(X) == pytest.approx(np.log(1e7), abs=1e-4)
    assert np.isinf(exact.filter(X).covs[0, 1, 1])
    nothing = exact.smooth(np.full((3, 1), np.nan))
    assert np.isinf(nothing.covs[:, 0, 0]).all()
