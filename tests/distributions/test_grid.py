"""Posterior of a parameter on a grid."""

import numpy as np
import pytest

from pansophy.distributions import (
    Bernoulli,
    Beta,
    GridPosterior,
)


def test_grid_posterior_is_the_beta(rng):
    """Any prior and likelihood by quadrature, here ones with a closed form."""
    theta = np.linspace(0, 1, 4001)
    prior = GridPosterior(theta, Beta(2.0, 3.0).log_prob(theta))
    x = np.array([1, 1, 1, 0, 1])
    with np.errstate(divide="ignore"):
        post = prior.update(lambda p: Bernoulli(p).log_prob(x).sum())
    exact = Beta(2.0, 3.0).posterior(Bernoulli(0.5).stats(x))
    assert np.trapezoid(post.density, theta) == pytest.approx(1)
    assert np.allclose(post.density, np.exp(exact.log_prob(theta)), atol=1e-5)
    assert post.mean == pytest.approx(float(exact.mean[0]), abs=1e-6)
    assert post.variance == pytest.approx(float(exact.variance[0]), abs=1e-6)
    assert post.mode == pytest.approx(float(exact.mode[0]), abs=3e-4)
    assert post.log_prob([0.5, 2.0])[1] == -np.inf
    assert post.sample(9000, rng).mean() == pytest.approx(post.mean, abs=0.01)
    with pytest.raises(ValueError, match="must rise"):
        GridPosterior([1.0, 0.0], [0.0, 0.0])
