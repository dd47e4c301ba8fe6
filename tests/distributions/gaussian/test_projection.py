"""Nearest members of a family: forward covers, reverse sits on one mode."""

import math

import numpy as np
import pytest
from scipy import stats

from pansophy.distributions import Normal, fit_forward_kl, fit_reverse_kl, kl_gaussian


def test_reverse_divergence_of_other_families():
    gamma = stats.gamma(3, scale=0.5)
    found = fit_reverse_kl(lambda x: gamma.logpdf(x[:, 0]) + 5, [2.0], family="gamma")
    assert float(found.distribution.shape) == pytest.approx(3, rel=1e-3)
    assert found.objective == pytest.approx(-5, abs=1e-3)
    beta = stats.beta(3, 5)
    found = fit_reverse_kl(lambda x: beta.logpdf(x[:, 0]), [0.2], family="beta")
    assert float(found.distribution.b) == pytest.approx(5, rel=1e-3)
    counts = lambda x: stats.poisson(7).logpmf(x[:, 0])
    found = fit_reverse_kl(counts, [2.0], family="poisson")
    assert float(found.distribution.rate) == pytest.approx(7, rel=1e-6)


def test_reverse_divergence_sits_on_one_mode_of_a_positive_target(rng):
    left, right = stats.gamma(50, scale=0.02), stats.gamma(500, scale=0.02)
    log_p = lambda x: np.logaddexp(left.logpdf(x[:, 0]), right.logpdf(x[:, 0]))
    reverse = fit_reverse_kl(log_p, [1.0, 10.0], family="gamma", scale=0.2).distribution
    draws = np.r_[left.rvs(4000, random_state=rng), right.rvs(4000, random_state=rng)]
    forward = fit_forward_kl(draws, "gamma").distribution
    assert min(abs(float(reverse.mean) - m) for m in (1.0, 10.0)) < 0.01
    assert float(forward.mean[0]) == pytest.approx(draws.mean(), rel=1e-6)
    assert float(reverse.variance) < float(forward.variance[0]) / 20


def test_bad_options_of_the_reverse_divergence_are_refused():
    log_p = lambda x: -x[:, 0]
    for start, options in (
        ([1.0], {"family": "cauchy"}),
        ([-1.0], {"family": "gamma"}),
        ([1.5], {"family": "beta"}),
        ([1.0], {"family": "gamma", "shape": "diag"}),
    ):
        with pytest.raises(ValueError, match=r"start must lie|family(=| must be)"):
            fit_reverse_kl(log_p, start, **options)


def bimodal(x):
    a = -0.5 * (x[:, 0] - 4) ** 2 + math.log(0.6)
    b = -0.5 * (x[:, 0] + 4) ** 2 + math.log(0.4)
    return np.logaddexp(a, b) + 3.0  # not normalised


def test_forward_covers_and_reverse_seeks_a_mode(rng):
    x = np.where(rng.random(20_000) < 0.6, 4.0, -4.0) + rng.standard_normal(20_000)
    forward = fit_forward_kl(x)
    assert forward.distribution.mean[0] == pytest.approx(x.mean())
    assert forward.distribution.cov[0, 0] == pytest.approx(x.var())
    assert forward.objective == pytest.approx(
        -np.mean(forward.distribution.log_prob(x)), rel=1e-9
    )
    reverse = fit_reverse_kl(bimodal, [[-2.0], [0.0], [2.0]])
    q = reverse.distribution
    assert reverse.converged
    assert q.mean[0] == pytest.approx(4, abs=0.01)
    assert q.cov[0, 0] == pytest.approx(1, abs=0.02)
    assert q.cov[0, 0] < forward.distribution.cov[0, 0] / 5
    # KL(q || p) = -log 0.6 for a mode of its own; the constant is log p's
    log_z = 3.0 + 0.5 * math.log(2 * math.pi)
    assert reverse.objective + log_z == pytest.approx(-math.log(0.6), abs=0.01)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("slope", [False, True])
def test_both_directions_recover_a_normal(d, slope, rng):
    A = rng.standard_normal((d, d))
    p = Normal(rng.standard_normal(d), A @ A.T + 0.5 * np.eye(d))
    gradient = lambda x: -(x - p.mean) @ np.linalg.inv(p.dense)
    found = fit_reverse_kl(
        p.log_prob, np.zeros(d), gradient=gradient if slope else None
    )
    q = found.distribution
    assert kl_gaussian(q.mean, q.dense, p.mean, p.dense) < 1e-3
    assert found.objective == pytest.approx(0, abs=2e-3)
    weighted = fit_forward_kl(p.sample(50_000, rng), weights=np.ones(50_000))
    assert np.allclose(weighted.distribution.mean, p.mean, atol=0.1)


def test_reverse_shapes_and_refusals():
    S = np.array([[2.0, 1.2], [1.2, 1.0]])
    p = Normal([1.0, 2.0], S)
    q = fit_reverse_kl(p.log_prob, [0.0, 0.0], shape="diag").distribution
    # mean field: the precisions are those of the coordinates
    np.testing.assert_allclose(q.cov, 1 / np.diag(np.linalg.inv(S)), rtol=1e-4)
    with pytest.raises(ValueError, match="full"):
        fit_reverse_kl(p.log_prob, [0.0, 0.0], shape="tied")
    with pytest.raises(ValueError, match="not finite"):
        fit_reverse_kl(lambda x: np.full(len(x), -np.inf), [0.0])
