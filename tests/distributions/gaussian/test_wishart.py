"""The normal-inverse-Wishart distribution."""

import numpy as np
from scipy import stats

from pansophy.distributions import (
    Normal,
    NormalInverseWishart,
)

COV = np.array([[2.0, 0.6], [0.6, 1.0]])


def test_niw_map_is_positive_definite_and_flat_prior_is_ml(rng):
    X = rng.normal(size=(3, 5)) + 4
    p = Normal(np.zeros(5), np.eye(5))
    prior = NormalInverseWishart(np.zeros(5), 1.0, np.eye(5), 7.0)
    q = Normal.from_stats(p.stats(X), prior=prior)
    assert np.linalg.eigvalsh(q.cov).min() > 0
    assert np.linalg.matrix_rank(Normal.from_stats(p.stats(X)).cov) < 5
    more = rng.normal(size=(50, 5))
    flat = NormalInverseWishart(np.zeros(5), 0.0, np.zeros((5, 5)), -7.0)
    ml, mp = (Normal.from_stats(p.stats(more), prior=f) for f in (None, flat))
    assert np.allclose(ml.mean, mp.mean)
    assert np.allclose(ml.cov, mp.cov)
    R = rng.random((50, 2))
    two = Normal.from_stats(p.stats(more, R), prior=prior)
    one = Normal.from_stats(p.stats(more, R[:, 1]), prior=prior)
    assert np.allclose(two.cov[1], one.cov)
    assert np.allclose(two.mean[1], one.mean)


def test_niw_density_and_draws(rng):
    prior = NormalInverseWishart(np.array([1.0, -1.0]), 2.0, COV, 6.0)
    pair = prior.sample(4000, rng)
    assert np.allclose(pair.mean.mean(0), prior.mean, atol=0.05)
    assert np.allclose(pair.cov.mean(0), prior.expected().cov, atol=0.1)
    peer = stats.invwishart(6, COV).logpdf(np.moveaxis(pair.cov[:5], 0, -1)) + [
        stats.multivariate_normal(prior.mean, S / 2).logpdf(m)
        for m, S in zip(pair.mean[:5], pair.cov[:5], strict=True)
    ]
    assert np.allclose(prior.log_prob((pair.mean[:5], pair.cov[:5])), peer)
    best = prior.log_prob(prior.mode)[0]
    assert np.all(prior.log_prob(pair) <= best)
