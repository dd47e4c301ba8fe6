"""Likelihoods as losses: densities, derivatives, moments."""

import numpy as np
import pytest
import scipy.stats
from scipy.integrate import quad
from scipy.special import logsumexp

from pansophy import losses
from pansophy.gaussian_process import (
    GaussianProcessRegressor,
    get_likelihood,
    loss_likelihood,
    student_t_likelihood,
)
from pansophy.gaussian_process.likelihoods import LIKELIHOODS

RESIDUAL = [
    student_t_likelihood(3.0, 0.7),
    loss_likelihood(losses.half_squared, 0.7),
    loss_likelihood(losses.huber(1.35), 0.7),
    loss_likelihood(losses.lp(4), 0.7),
]
SMOOTH = [*RESIDUAL[:2], RESIDUAL[3], LIKELIHOODS["poisson"], LIKELIHOODS["bernoulli"]]


@pytest.mark.parametrize("likelihood", RESIDUAL, ids=repr)
def test_residual_likelihoods_are_densities(likelihood):
    density = lambda y: np.exp(likelihood.log_prob(np.array([y]), np.array([0.3]))[0])
    assert quad(density, -np.inf, np.inf)[0] == pytest.approx(1.0, abs=1e-6)
    square = quad(lambda y: (y - 0.3) ** 2 * density(y), -200, 200, limit=500)[0]
    found = likelihood.variance(np.zeros(1))[0]
    assert found == pytest.approx(square, rel=0.05)


def test_densities_of_scipy():
    rng = np.random.default_rng(0)
    f = rng.normal(size=20)
    y = rng.poisson(np.exp(f)).astype(float)
    found = LIKELIHOODS["poisson"].log_prob(y, f)
    assert np.allclose(found, scipy.stats.poisson(np.exp(f)).logpmf(y))
    found = RESIDUAL[0].log_prob(y, f)
    assert np.allclose(found, scipy.stats.t(3.0, f, 0.7).logpdf(y))
    labels = (rng.random(20) < 0.5) * 1.0
    p = 1 / (1 + np.exp(-f))
    expected = np.log(np.where(labels > 0, p, 1 - p))
    assert np.allclose(LIKELIHOODS["bernoulli"].log_prob(labels, f), expected)
    F = rng.normal(size=(20, 3))
    codes = rng.integers(0, 3, 20)
    expected = F[np.arange(20), codes] - logsumexp(F, axis=1)
    assert np.allclose(LIKELIHOODS["categorical"].log_prob(codes, F), expected)


@pytest.mark.parametrize("likelihood", SMOOTH, ids=repr)
def test_derivatives(likelihood):
    rng = np.random.default_rng(1)
    f = rng.normal(size=15)
    y = (rng.random(15) < 0.5) * 1.0
    h = 1e-5
    for name, lower, sign in (
        ("gradient", "log_prob", 1),
        ("curvature", "gradient", -1),
        ("third", "curvature", -1),
    ):
        g = getattr(likelihood, lower)
        numeric = sign * (g(y, f + h) - g(y, f - h)) / (2 * h)
        assert np.allclose(getattr(likelihood, name)(y, f), numeric, atol=1e-6)
    if likelihood.scale is None:
        return
    phi = likelihood.parameters
    up, down = (likelihood.with_parameters(phi + e) for e in (h, -h))
    for found, name in zip(
        likelihood.scale_slopes(y, f),
        ("log_prob", "gradient", "curvature"),
        strict=True,
    ):
        numeric = (getattr(up, name)(y, f) - getattr(down, name)(y, f)) / (2 * h)
        assert np.allclose(found, numeric, atol=1e-6)


def test_moments_over_a_normal_f():
    m, v = np.array([0.2]), np.array([0.5])
    mean, spread, total = LIKELIHOODS["poisson"].moments(m, v)
    log_normal = scipy.stats.lognorm(np.sqrt(0.5), scale=np.exp(0.2))
    assert mean[0] == pytest.approx(log_normal.mean(), rel=1e-8)
    assert spread[0] == pytest.approx(log_normal.var(), rel=1e-6)
    assert total[0] == pytest.approx(log_normal.var() + log_normal.mean(), rel=1e-6)
    found = LIKELIHOODS["poisson"].predictive_log_density(np.array([2.0]), m, v)[0]
    pmf = lambda f: scipy.stats.poisson(np.exp(f)).pmf(2)
    normal = scipy.stats.norm(0.2, np.sqrt(0.5)).pdf
    expected = quad(lambda f: pmf(f) * normal(f), -6, 6)[0]
    assert np.exp(found) == pytest.approx(expected, rel=1e-6)
    shifted = LIKELIHOODS["poisson"].with_parameters(())
    assert shifted.parameter_names == ()


def test_refusals():
    with pytest.raises(ValueError, match="its exponential has no finite integral"):
        loss_likelihood(losses.tukey())
    with pytest.raises(ValueError, match="not a loss of residuals"):
        loss_likelihood(losses.poisson)
    with pytest.raises(ValueError, match="likelihood must be 'normal'"):
        get_likelihood("cauchy")
    X, y = np.arange(6.0)[:, None], np.array([0.0, 1.5, 2.0, 1.0, 0.0, 3.0])
    with pytest.raises(ValueError, match="whole numbers of at least 0"):
        GaussianProcessRegressor(likelihood="poisson").fit(X, y)
    with pytest.raises(ValueError, match="alpha is the noise of the likelihood"):
        GaussianProcessRegressor(likelihood="student_t", alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="takes one output"):
        GaussianProcessRegressor(likelihood="student_t").fit(X, np.stack([y, y], 1))
    bernoulli = get_likelihood("bernoulli")
    with pytest.raises(ValueError, match="that of GaussianProcessClassifier"):
        GaussianProcessRegressor(likelihood=bernoulli).fit(X, y)
    with pytest.raises(ValueError, match="is not for the likelihood 'student_t'"):
        GaussianProcessRegressor(likelihood="student_t", solver="exact").fit(X, y)
    with pytest.raises(ValueError, match="is not for the likelihood 'normal'"):
        GaussianProcessRegressor(solver="laplace").fit(X, y)
