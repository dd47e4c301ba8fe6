"""Change of variables: known densities, branches, composition."""

import numpy as np
import pytest
from scipy import stats

from pansophy.distributions import Normal, transform_density


def test_log_normal_by_differences_and_by_derivative():
    y = np.array([1e-3, 0.5, 1.0, 3.0, 40.0])
    truth = stats.lognorm(1).logpdf(y)
    by_difference = transform_density(stats.norm(), np.log)
    given = transform_density(stats.norm(), np.log, lambda y: -np.log(y))
    np.testing.assert_allclose(by_difference.log_prob(y), truth, atol=1e-8)
    np.testing.assert_allclose(given.log_prob(y), truth, atol=1e-12)
    np.testing.assert_allclose(by_difference.cdf(y), stats.lognorm(1).cdf(y))


def test_falling_and_rising_maps_have_one_formula():
    y = np.linspace(0.1, 5, 30)
    up = transform_density(stats.expon(), lambda y: 2 * y)
    down = transform_density(stats.uniform(), lambda y: np.exp(-2 * y))
    for density in (up, down):
        np.testing.assert_allclose(density.prob(y), stats.expon(scale=0.5).pdf(y))
        np.testing.assert_allclose(density.cdf(y), stats.expon(scale=0.5).cdf(y))


def test_density_integrates_to_one_and_matches_samples():
    density = transform_density(
        stats.norm(), lambda y: np.arcsinh(y), forward=lambda x: np.sinh(x)
    )
    y = np.sinh(np.linspace(-9, 9, 40_001))
    assert np.trapezoid(density.prob(y), y) == pytest.approx(1.0, abs=1e-6)
    draws = density.sample(4000, random_state=0)
    assert stats.kstest(draws, density.cdf).pvalue > 0.01


def test_affine_map_of_white_noise_is_the_normal_density():
    A = np.array([[2.0, 0.0], [1.0, 0.5]])
    b = np.array([1.0, -3.0])
    inverse = lambda y: (y - b) @ np.linalg.inv(A).T
    truth = Normal(b, A @ A.T)
    base = Normal(np.zeros(2), np.eye(2))
    y = truth.sample(20, np.random.default_rng(0))
    by_difference = transform_density(base, inverse)
    constant = transform_density(
        base, inverse, lambda y: -np.log(abs(np.linalg.det(A)))
    )
    np.testing.assert_allclose(by_difference.log_prob(y), truth.log_prob(y), atol=1e-8)
    np.testing.assert_allclose(constant.log_prob(y), truth.log_prob(y))


def test_log_determinants_add_and_cancel():
    first = transform_density(stats.norm(), np.log)
    second = transform_density(first, np.sqrt)  # y = x^2 of a log-normal x
    y = np.array([0.3, 1.0, 5.0])
    both = transform_density(stats.norm(), lambda y: np.log(np.sqrt(y)))
    np.testing.assert_allclose(second.log_prob(y), both.log_prob(y), atol=1e-8)
    back = transform_density(first, np.exp)  # undoes it
    np.testing.assert_allclose(back.log_prob(y), stats.norm.logpdf(y), atol=1e-8)


def test_bad_maps_are_refused():
    with pytest.raises(TypeError, match="inverse must be a function"):
        transform_density(stats.norm(), 3)
    wrong = transform_density(stats.norm(), lambda y: y[:1])
    with pytest.raises(ValueError, match="keep the shape"):
        wrong.log_prob([1.0, 2.0])
    with pytest.raises(ValueError, match="one column"):
        transform_density(stats.norm(), np.log).cdf([[1.0]])
    with pytest.raises(ValueError, match="needs forward"):
        transform_density(stats.norm(), np.log).sample(3)
