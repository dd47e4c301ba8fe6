"""Posteriors from data, predictive distributions, improper limits, code lengths."""

import numpy as np
import pytest
from scipy import stats

from pansophy.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Gamma,
    GridPosterior,
    NegativeBinomial,
    Normal,
    NormalInverseWishart,
    Poisson,
    StudentT,
    description_length,
    fit,
    fit_forward_kl,
    fit_reverse_kl,
    mdl_prior,
)


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
    "prior, rows",
    [
        (Beta(2, 2), [1, 2]),
        (Beta(2, 2), [0.5]),
        (Gamma(1, 1), [-1]),
        (Gamma(1, 1), [1.5]),
        (Dirichlet([1, 1]), [0, 2]),
    ],
)
def test_rows_that_the_family_cannot_give_are_refused(prior, rows):
    with pytest.raises(ValueError):
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


def test_binomial_and_unbiased_covariance_by_fit(rng):
    x = rng.binomial(5, 0.3, 4000)
    p = fit(x, "binomial", trials=5)
    assert isinstance(p, Binomial) and p.trials == 5
    assert p.prob[0] == pytest.approx(x.mean() / 5)
    assert fit(x, "binomial").trials == x.max()
    assert fit([0, 0], "binomial").prob[0] == 0
    mapped = fit([2], "binomial", trials=3, prior=Beta(2, 2))
    assert mapped.prob[0] == pytest.approx(3 / 5)
    with pytest.raises(ValueError, match="trials"):
        fit([6], "binomial", trials=5)
    X = rng.normal(size=(9, 3))
    np.testing.assert_allclose(fit(X, ddof=1).cov, np.cov(X.T))
    np.testing.assert_allclose(fit(X, shape="diag", ddof=1).cov, X.var(axis=0, ddof=1))
    spherical = fit(X, shape="spherical", ddof=1).cov
    assert spherical == pytest.approx(X.var(axis=0, ddof=1).mean())
    w = np.array([1, 2, 0, 3, 1, 1, 1, 1, 1])
    repeated = np.repeat(X, w, axis=0)
    np.testing.assert_allclose(fit(X, weights=w, ddof=1).cov, np.cov(repeated.T))
    for bad in ({"ddof": 2}, {"family": "poisson", "ddof": 1}):
        with pytest.raises(ValueError, match="ddof"):
            fit(np.abs(X), **bad)
    with pytest.raises(ValueError, match="more than one row"):
        fit(X[:1], ddof=1)


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


def test_description_length_picks_the_true_order(rng):
    x = np.linspace(-2, 2, 80)
    y = 1 + x - 0.7 * x**2 + 0.2 * rng.normal(size=80)
    lengths = []
    for degree in range(7):
        rest = y - np.polyval(np.polyfit(x, y, degree), x)
        log_likelihood = stats.norm(0, rest.std()).logpdf(rest).sum()
        lengths.append(description_length(log_likelihood, degree + 2, 80))
    assert int(np.argmin(lengths)) == 2
    assert description_length(-3.0, 0, 10, base=np.e) == pytest.approx(3.0)
    np.testing.assert_allclose(mdl_prior([3, 4, 4]), [0.5, 0.25, 0.25])
    for bad in (lambda: description_length(0, -1, 5), lambda: mdl_prior([])):
        with pytest.raises(ValueError):
            bad()


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
        with pytest.raises(ValueError):
            fit_reverse_kl(log_p, start, **options)


def test_poisson_rows_of_a_gamma(rng):
    x = rng.poisson(3.0, 50)
    found = Gamma(1e-9, 1e-9).posterior(x)
    assert float(found.mean) == pytest.approx(float(fit(x, "poisson").rate[0]))
    assert float(found.mean) == pytest.approx(
        float(Poisson(1.0).stats(x).total[0][0] / 50)
    )
