"""The Normal distribution: moments, conditionals, posterior of its mean."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.distributions import (
    GridPosterior,
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


def test_mean_of_a_normal_with_known_covariance(rng):
    C = np.array([[2.0, 0.5], [0.5, 1.0]])
    S = np.array([[1.0, -0.3], [-0.3, 2.0]])
    X = rng.normal(size=(7, 2)) + [1, 2]
    prior = Normal([0.0, 1.0], S)
    found = prior.posterior(X, C)
    precision = np.linalg.inv(S) + 7 * np.linalg.inv(C)
    np.testing.assert_allclose(found.precision, precision, rtol=1e-9)
    right = np.linalg.solve(S, prior.mean) + np.linalg.solve(C, X.sum(axis=0))
    np.testing.assert_allclose(found.mean, np.linalg.solve(precision, right))
    steps = prior
    for x in X[::-1]:
        steps = steps.posterior(x[None], C)
    np.testing.assert_allclose(steps.mean, found.mean)
    np.testing.assert_allclose(steps.cov, found.cov)
    np.testing.assert_allclose(found.predictive(C).cov, found.cov + C)
    flat = Normal([0.0, 0.0], 1e12 * np.eye(2)).posterior(X, C)
    np.testing.assert_allclose(flat.mean, X.mean(axis=0), atol=1e-3)
    one = Normal(0.0, 4.0).posterior([1.0, 3.0], 1.0)
    assert float(one.mean[0]) == pytest.approx(2 * 2 / (2 + 0.25))
    grid = GridPosterior(np.linspace(-5, 8, 4001), np.zeros(4001))
    grid = grid.update(lambda m: float(Normal(0.0, 4.0).log_prob([m])[0]))
    grid = grid.update(lambda m: float(Normal(m, 1.0).log_prob([1.0, 3.0]).sum()))
    assert grid.mean == pytest.approx(float(one.mean[0]), abs=1e-4)
    with pytest.raises(ValueError, match="known_cov"):
        prior.posterior(X, np.eye(3))


def test_precision_and_its_blocks(rng):
    A = rng.normal(size=(4, 4))
    p = Normal(rng.normal(size=4), A @ A.T + np.eye(4))
    np.testing.assert_allclose(p.precision @ p.cov, np.eye(4), atol=1e-12)
    blocks = p.precision_blocks([2, 0])
    given = p.condition([1, 3], [0.5, -1.0])
    order = [1, 0]  # `condition` keeps the coordinates in their order
    cov = np.linalg.inv(blocks.aa)[np.ix_(order, order)]
    np.testing.assert_allclose(given.cov, cov)
    shift = np.linalg.solve(
        blocks.aa, blocks.ab @ (np.array([0.5, -1]) - p.mean[[1, 3]])
    )
    np.testing.assert_allclose(given.mean, (p.mean[[2, 0]] - shift)[order])
    np.testing.assert_allclose(blocks.ab, blocks.ba.T)
    batch = Normal(np.zeros((2, 3)), np.ones((2, 3)), "diag")
    np.testing.assert_allclose(batch.precision, np.stack([np.eye(3)] * 2))
