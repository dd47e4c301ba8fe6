"""Beta, Dirichlet and Gamma: known numbers, posteriors, predictive distributions."""

import math

import numpy as np
import pytest
from scipy import special, stats

from pansophy.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    NegativeBinomial,
    Poisson,
    fit,
)
from pansophy.distributions.priors import fit_gamma_shape


def test_beta_numbers():
    """Under Beta(1, 1) the posterior mode is the ML estimate, the mean is not."""
    see = lambda *x: Bernoulli(0.5).stats(np.array(x))
    assert Beta(2.0, 2.0).posterior(see(1, 1, 1, 0)).mode[0] == pytest.approx(2 / 3)
    assert Beta(2.0, 2.0).posterior(see(1, 1, 1, 0)).mean[0] == pytest.approx(0.625)
    assert Beta(5.0, 5.0).posterior(see(1)).mode[0] == pytest.approx(5 / 9)
    assert Beta(2.0, 2.0).posterior(see(1)).mean[0] == pytest.approx(0.6)
    assert Bernoulli.from_stats(see(1), prior=Beta(1.0, 1.0)).prob[0] == 1.0
    assert Bernoulli.from_stats(see(1)).prob[0] == 1.0


def test_dirichlet_numbers(rng):
    """Two symbols are a Beta; posterior, MAP and mean of counts."""
    x = rng.random(9)
    D, B = Dirichlet([2.0, 3.5]), Beta(2.0, 3.5)
    assert np.allclose(D.log_prob(np.c_[x, 1 - x]), B.log_prob(x))
    a, seen = np.array([2.0, 1.5, 3.0]), np.array([0, 0, 2, 1, 0])
    s = Categorical(np.full(3, 1 / 3)).stats(seen)
    n = np.array([3, 1, 1])
    post = Dirichlet(a).posterior(s)
    assert np.allclose(post.concentration, a + n)
    assert np.allclose(post.mean, (n + a) / (5 + a.sum()))
    assert np.allclose(post.mode, (n + a - 1) / (5 + (a - 1).sum()))
    assert np.allclose(Categorical.from_stats(s, prior=Dirichlet(a)).prob, post.mode)
    assert np.allclose(Dirichlet(np.ones(3)).log_prob([[0.0, 0.5, 0.5]]), math.log(2))


def test_posteriors_take_data_as_a_student_writes_it():
    assert float(Beta(2, 2).posterior([1, 1, 1, 0]).mean) == pytest.approx(0.625)
    assert float(Beta(2, 2).posterior([1, 1, 1, 0]).mode) == pytest.approx(2 / 3)
    assert float(Beta(5, 5).posterior([1]).mode) == pytest.approx(5 / 9)
    assert float(Beta(2, 2).posterior(np.array([True, True, False])).a) == 4
    assert float(Beta(2, 2).posterior([3], trials=4).mean) == pytest.approx(0.625)
    assert float(Gamma(2, 1).posterior([3, 5]).rate) == 3
    counts = Dirichlet([1, 1, 1]).posterior([0, 0, 2])
    np.testing.assert_array_equal(counts.concentration, [3, 1, 2])
    rows = Dirichlet([1, 1, 1]).posterior([[2, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(rows.concentration, [3, 1, 2])
    columns = Beta([1, 1], [1, 1]).posterior([[0, 1], [1, 1]])
    np.testing.assert_allclose(columns.mean, [1 / 2, 3 / 4])


def test_data_and_statistics_agree_in_any_order(rng):
    x = rng.integers(0, 2, 30)
    w = rng.integers(0, 4, 30)
    whole = Beta(2, 3).posterior(x, w)
    part = Beta(2, 3).posterior(x[20:], w[20:]).posterior(x[:20], w[:20])
    repeated = Beta(2, 3).posterior(np.repeat(x, w))
    counted = Beta(2, 3).posterior(Bernoulli(0.5).stats(x, w))
    for other in (part, repeated, counted):
        np.testing.assert_allclose(np.ravel(other.a), whole.a)
        np.testing.assert_allclose(np.ravel(other.b), whole.b)


@pytest.mark.parametrize(
    ("prior", "rows"),
    [
        (Beta(2, 2), [1, 2]),
        (Beta(2, 2), [0.5]),
        (Gamma(1, 1), [-1]),
        (Gamma(1, 1), [1.5]),
        (Dirichlet([1, 1]), [0, 2]),
    ],
)
def test_rows_that_the_family_cannot_give_are_refused(prior, rows):
    with pytest.raises(ValueError, match=r"must (hold|be whole)"):
        prior.posterior(rows)


def test_predictive_distributions_equal_integrals(rng):
    beta = Beta(2, 2).posterior([1, 1, 1, 0])
    assert float(beta.predictive().prob) == pytest.approx(0.625)
    assert isinstance(Dirichlet([1, 1]).predictive(), Categorical)
    gamma = Gamma(2, 1).posterior([3, 5])
    rate = np.linspace(1e-9, 40, 40001)
    density = np.exp(gamma.log_prob(rate))
    for x in (0, 4, 9):
        mixed = np.trapezoid(density * stats.poisson.pmf(x, rate), rate)
        assert np.exp(gamma.predictive().log_prob([x])[0]) == pytest.approx(mixed)
    p = NegativeBinomial([2.0, 3.0], [1.0, 0.5])
    x = np.array([[0, 3], [2, 7]])
    right = stats.nbinom([2.0, 3.0], [1 / 2, 1 / 3]).logpmf(x).sum(axis=1)
    np.testing.assert_allclose(p.log_prob(x), right)
    draws = p.sample(20000, rng)
    np.testing.assert_allclose(draws.mean(axis=0), p.mean, rtol=0.05)
    np.testing.assert_allclose(draws.var(axis=0), p.variance, rtol=0.1)


def test_improper_limits_give_maximum_likelihood():
    x = [1, 1, 1, 0]
    assert float(Beta(0, 0).posterior(x).mean) == float(fit(x, "bernoulli").prob[0])
    assert float(Beta(0, 0).posterior([1, 1]).mean) == 1.0
    assert float(Gamma(0, 0).posterior([3, 5]).mean) == 4.0
    haldane = Dirichlet([0, 0, 0]).posterior([0, 1, 1])
    np.testing.assert_allclose(haldane.mean, [1 / 3, 2 / 3, 0])
    assert np.isnan(Beta(0, 0).mean) and np.isnan(Gamma(0, 0).mean)
    for improper in (Beta(0, 0), Beta(3, 0), Gamma(0, 0), Gamma(2, 0)):
        with pytest.raises(ValueError, match="improper"):
            improper.log_prob([0.5])
        with pytest.raises(ValueError, match="improper"):
            improper.sample(2, np.random.default_rng(0))
    for bad in (lambda: Beta(-1, 1), lambda: Gamma(1, -1), lambda: Dirichlet([1, -1])):
        with pytest.raises(ValueError, match="negative"):
            bad()


def test_poisson_rows_of_a_gamma(rng):
    x = rng.poisson(3.0, 50)
    found = Gamma(1e-9, 1e-9).posterior(x)
    assert float(found.mean) == pytest.approx(float(fit(x, "poisson").rate[0]))
    assert float(found.mean) == pytest.approx(
        float(Poisson(1.0).stats(x).total[0][0] / 50)
    )


@pytest.mark.parametrize("value", [1e-5, 0.1, 1 / 3, 2.0, 7.3])
@pytest.mark.parametrize("n", [1, 3, 100])
def test_gamma_of_equal_rows_is_narrow_and_finite(value, n):
    """They have no maximum of the likelihood; the search once never ended."""
    fitted = Gamma.from_stats(Gamma([1.0], [1.0]).stats(np.full((n, 1), value)))
    assert fitted.mean == pytest.approx(value)
    assert 0 < np.sqrt(fitted.shape[0]) / fitted.rate[0] < 2e-5 * value
    assert np.isfinite(fitted.log_prob(np.full((1, 1), value))).all()


def test_gamma_of_nearly_equal_rows_meets_its_condition():
    """log a - digamma(a) = gap, by the asymptotic series where it cancels."""
    for s in (1e-9, 1e-7, 9.9e-6, 1.01e-5, 1e-3, 0.5, 20.0):
        a = float(fit_gamma_shape(np.array(s)))
        gap = 1 / (2 * a) + 1 / (12 * a**2) - 1 / (120 * a**4) + 1 / (252 * a**6)
        exact = gap if a > 50 else np.log(a) - special.digamma(a)
        assert exact == pytest.approx(s, rel=1e-12)


@pytest.mark.parametrize("row", [[0.2, 0.3, 0.5], [0.5, 0.5], [0.1] * 10])
def test_dirichlet_of_equal_rows_is_narrow_and_finite(row):
    start = Dirichlet(np.ones(len(row)))
    fitted = Dirichlet.from_stats(start.stats(np.tile(row, (4, 1))))
    np.testing.assert_allclose(fitted.mean, row, rtol=1e-6)
    assert 1e9 < fitted.concentration.sum() <= 1.0001e10


def test_rows_outside_the_support_get_a_sentence():
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        Beta.from_stats(Beta(1, 1).stats([0.0, 0.5]))
    with pytest.raises(ValueError, match="Gamma must be above 0"):
        Gamma.from_stats(Gamma(1, 1).stats([0.0, 2.0]))
