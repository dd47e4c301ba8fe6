"""Moments and conditionals of the Normal distribution."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.distributions import (
    Normal,
)

COV = np.array([[2.0, 0.6], [0.6, 1.0]])


def test_moments_keep_their_digits(rng):
    """Eq. (2) of normal.py at a mean of 1e8, where sums of squares have no digit."""
    X = rng.normal(size=(1000, 2))
    p = Normal([0.0, 0.0], np.eye(2))
    far = p.stats(X[:400] + 2.0**27) + p.stats(X[400:] + 2.0**27)
    near = p.stats((X + 2.0**27) - 2.0**27)
    assert np.allclose(far.scatter, near.scatter, rtol=1e-6)


def test_gaussian_numbers():
    """Maximum-likelihood estimates and densities worked out by hand."""
    X = np.array([[1.0, 2.0], [3.0, 0.0], [2.0, 4.0]])
    full = Normal.from_stats(Normal([0.0, 0.0], np.eye(2)).stats(X))
    assert np.allclose(full.mean, [2, 2])
    assert np.allclose(full.cov, [[2 / 3, -2 / 3], [-2 / 3, 8 / 3]])
    ball = Normal.from_stats(Normal([0.0, 0.0], 1.0, "spherical").stats(X))
    assert float(ball.cov) == pytest.approx(5 / 3)
    assert -ball.log_prob(X).mean() == pytest.approx(3.3487027, abs=1e-7)
    p = Normal([2.0, 0.0], [[2.0, 1.0], [1.0, 2.0]])
    assert math.exp(p.log_prob([[1.0, 1.0]])[0]) == pytest.approx(0.0338038, abs=1e-7)
    q = Normal([1.0, 2.0], COV).condition([1], [3.0])
    assert np.allclose([q.mean[0], q.cov[0, 0]], [1.6, 1.64])
    assert q.cov[0, 0] == pytest.approx(1 / np.linalg.inv(COV)[0, 0])


@given(seed=st.integers(0, 10_000))
def test_conditional_times_marginal_is_the_joint(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(4, 4))
    p, x = Normal(rng.normal(size=4), A @ A.T + np.eye(4)), rng.normal(size=4)
    given_, rest = [1, 3], [0, 2]
    both = p.condition(given_, x[given_]).log_prob(x[None, rest]) + p.marginal(
        given_
    ).log_prob(x[None, given_])
    assert np.allclose(both, p.log_prob(x[None]), rtol=1e-9)
    assert np.all(p.condition(given_, x[given_]).variance <= p.marginal(rest).variance)
