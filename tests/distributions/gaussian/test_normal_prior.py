"""Posterior modes of Normals: no other parameters have a higher posterior."""

import numpy as np
import pytest

from pansophy.distributions import Normal
from pansophy.distributions.gaussian.normal import moments
from pansophy.distributions.gaussian.normal_prior import (
    NormalPrior,
    normal_log_prior,
    posterior_modes,
)

PSI = {"full": np.eye(2), "tied": np.eye(2), "diag": np.ones(2), "spherical": 1.5}


@pytest.mark.parametrize("shape", list(PSI))
@pytest.mark.parametrize("fixed", [False, True])
def test_modes_are_the_highest_posterior(shape, fixed, rng):
    X, R = rng.standard_normal((30, 2)), rng.random((30, 2))
    prior = NormalPrior(np.array([1.0, -1.0]), 3.0, PSI[shape], 4.0)
    held = rng.standard_normal((2, 2)) if fixed else None
    means, covs = posterior_modes(moments(X, R, shape), prior, held)
    if fixed:
        np.testing.assert_array_equal(means, held)

    def log_posterior(m, S):
        q = Normal(m, S, shape)
        return (R * q.log_prob(X)).sum() + normal_log_prior(q, prior)

    best = log_posterior(means, covs)
    for size in (1e-3, 0.1):
        for _ in range(5):
            A = np.eye(2) + size * rng.standard_normal((2, 2))
            S = A.T @ covs @ A if shape in ("full", "tied") else covs * A[0, 0] ** 2
            m = means if fixed else means + size * rng.standard_normal((2, 2))
            assert log_posterior(m, S) < best


def test_a_flat_prior_is_maximum_likelihood(rng):
    X = rng.standard_normal((12, 3))
    stats = moments(X, np.ones((12, 1)), "full")
    means, covs = posterior_modes(stats)
    np.testing.assert_allclose(means[0], X.mean(axis=0))
    np.testing.assert_allclose(covs[0], np.cov(X.T, ddof=0))
    assert normal_log_prior(Normal(means, covs), NormalPrior()) == 0


def test_worked_mean_between_rows_and_prior():
    """Two rows of mean 3 against a prior mean 0 that counts as one row."""
    stats = moments(np.array([[2.0], [4.0]]), np.ones((2, 1)), "full")
    means, covs = posterior_modes(stats, NormalPrior(0.0, 1.0, np.eye(1), 3.0))
    assert means.item() == pytest.approx(2.0)
    # scatter 2, plus 1 * 2 / 3 * 3^2 = 6 of the mean, plus 1, over 2 + 3
    assert covs.item() == pytest.approx(9 / 5)
