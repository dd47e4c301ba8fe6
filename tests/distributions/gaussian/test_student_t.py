"""Student's t: the next row of a Normal whose mean and covariance are uncertain."""

import numpy as np
import pytest
from scipy import stats

from pansophy.distributions import NormalInverseWishart, StudentT


def test_next_row_of_a_normal_inverse_wishart(rng):
    X = rng.normal(size=(12, 2)) @ [[1.0, 0.4], [0.0, 0.8]]
    posterior = NormalInverseWishart([0.0, 0], 1.0, np.eye(2), 4.0).posterior(X)
    next_row = posterior.predictive()
    at = rng.normal(size=(5, 2))
    peer = stats.multivariate_t(next_row.mean, next_row.scale, next_row.dof)
    np.testing.assert_allclose(next_row.log_prob(at), peer.logpdf(at))
    mean, cov = posterior.sample(20000, rng)
    drawn = mean + np.einsum(
        "nij,nj->ni", np.linalg.cholesky(cov), rng.normal(size=mean.shape)
    )
    np.testing.assert_allclose(np.cov(drawn.T), next_row.cov, atol=0.08)
    np.testing.assert_allclose(
        np.cov(next_row.sample(20000, rng).T), next_row.cov, atol=0.08
    )
    with pytest.raises(ValueError, match="kappa above 0"):
        NormalInverseWishart([0.0], 0.0, [[1.0]], 3.0).predictive()
    with pytest.raises(ValueError, match="dof"):
        StudentT(0.0, 1.0, 0.0)


def test_heavy_tails_and_the_normal_limit(rng):
    t = StudentT([1.0, 0.0], [[2.0, 0.5], [0.5, 1.0]], 1e7)
    X = rng.normal(size=(4, 2))
    right = stats.multivariate_normal([1.0, 0.0], t.scale).logpdf(X)
    np.testing.assert_allclose(t.log_prob(X), right, rtol=1e-5)
    assert np.isinf(StudentT(0.0, 1.0, 2.0).cov).all()
    np.testing.assert_allclose(StudentT(0.0, 3.0, 5.0).cov, [[5.0]])
    with pytest.raises(ValueError, match=r"needs a scale of \(2, 2\)"):
        StudentT([0.0, 0.0], 1.0, 3.0)
