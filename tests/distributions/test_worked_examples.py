"""Worked numbers of textbooks, with the public names as a reader would call them."""

import numpy as np
import pytest

from pansophy.distributions import (
    Beta,
    Binomial,
    Dirichlet,
    JointTable,
    Normal,
    entropy,
    expectation,
    fit,
    gaussian_integral,
    independent,
    js,
    kl,
    kl_gaussian,
    mutual_information,
    negative_log_likelihood,
    wasserstein,
)

close = lambda value, want: np.testing.assert_allclose(value, want, atol=1.5e-6)
ROWS = [[1.0, 2.0], [3.0, 0.0], [2.0, 4.0]]


def test_normal_of_three_rows_in_each_shape():
    close(fit(ROWS).mean, [2, 2])
    close(fit(ROWS).cov, [[2 / 3, -2 / 3], [-2 / 3, 8 / 3]])
    close(fit(ROWS, ddof=1).cov, [[1, -1], [-1, 4]])
    sphere = fit(ROWS, shape="spherical")
    close(sphere.cov, 5 / 3)
    close(-sphere.log_prob(ROWS).mean(), 3.3487027)
    likelihood = negative_log_likelihood(
        lambda t, X: t.log_prob(X), sphere, np.array(ROWS)
    )
    close(likelihood, 3.3487027)


def test_density_conditional_and_precision():
    p = Normal([2.0, 0.0], [[2.0, 1.0], [1.0, 2.0]])
    close(np.exp(p.log_prob([[1.0, 1.0]])), [0.0338038])
    q = Normal([1.0, 2.0], [[2.0, 0.6], [0.6, 1.0]])
    given = q.condition([1], [3.0])
    close(given.mean, [1.6])
    close(given.cov, [[1.64]])
    close(1 / q.precision[0, 0], 1.64)
    close(np.linalg.inv(q.precision_blocks([0]).aa), [[1.64]])
    joint = q.log_prob([[0.5, 3.0]])[0]
    product = given.log_prob([0.5])[0] + q.marginal([1]).log_prob([3.0])[0]
    close(joint, product)


def test_divergences_of_normals():
    close(kl_gaussian(Normal(0.0, 1.0), Normal(1.0, 4.0)), 0.443147)
    q = Normal([1.0, 2.0], [[2.0, 0.6], [0.6, 1.0]])
    close(kl_gaussian(q, Normal([0.0, 0.0], np.eye(2))), 2.752652)
    standard = Normal(0.0, 1.0)
    for mean, sd, want in (
        (0, 1, 0),
        (1, 1, 0.5),
        (0, 2, 0.806853),
        (0.5, 0.5, 0.443147),
    ):
        close(kl_gaussian(Normal(float(mean), sd**2), standard), want)


def test_beta_and_one_or_four_tosses():
    assert float(fit([1], "bernoulli").prob[0]) == 1
    one, four = Beta(2, 2).posterior([1]), Beta(2, 2).posterior([1, 1, 1, 0])
    close([one.mode, one.mean], [2 / 3, 0.6])
    close([four.mode, four.mean], [2 / 3, 0.625])
    close(Beta(5, 5).posterior([1]).mode, 5 / 9)
    close(Beta(1, 1).posterior([1]).mode, 1)
    close(four.predictive().prob, 0.625)
    laplace = Beta(1, 1).posterior([1, 1, 1, 0])
    assert (float(laplace.a), float(laplace.b)) == (4, 2)
    close(laplace.mean, 2 / 3)
    close(Dirichlet([2, 2]).posterior([1, 1, 1, 0]).mean, [0.375, 0.625])


def test_binomial_of_five_trials():
    close(np.exp(Binomial(5, 0.3).log_prob([2])), [0.3087])
    one = np.exp(Binomial(1, 0.3).log_prob([0, 1]))
    close(one, [0.7, 0.3])
    close(np.exp(Binomial(5, 0.3).log_prob(range(6))).sum(), 1)


def test_expectations_and_integrals():
    close(expectation([70, 71], [0.47, 0.53]), 70.53)
    close(gaussian_integral(2), 1.2533141)
    close(gaussian_integral(2, -4, -2), 1.2533141)  # -2 (x + 1)^2 written out
    close(gaussian_integral(2, 3, 1), 10.4938708)


def test_entropies_in_bits():
    close(entropy([9 / 14, 5 / 14], base=2), 0.940286)
    close(entropy([0.1, 0.9], base=2), 0.468996)
    close(entropy([0.25, 0.75], base=2), 0.811278)
    close([entropy([1, 0], base=2), entropy([0.5, 0.5], base=2)], [0, 1])


def test_divergences_of_two_symbols_and_of_points():
    p, q = [0.5, 0.5], [0.9, 0.1]
    close([kl(p, q), kl(q, p)], [0.5108256, 0.3680642])
    close(kl([0.05, 0.95], [0.2, 0.8]), 0.09394303)
    close(kl([0.05, 0.95], [0.01, 0.99]), 0.04129109)
    here, there = [1.0, 0.0], [0.0, 1.0]
    assert kl(here, there) == np.inf
    close(js(here, there), 0.693147)
    close(wasserstein([0.0], [0.3]), 0.3)


def test_cavity_table():
    table = JointTable(
        [[[0.576, 0.144], [0.064, 0.016]], [[0.008, 0.072], [0.012, 0.108]]],
        names=["cavity", "tooth", "catch"],
    )
    close(table.condition(tooth=1).marginal("cavity").prob[1], 0.6)
    close(table.condition(tooth=1, catch=1).marginal("cavity").prob[1], 0.870968)
    close(table.condition(cavity=1).marginal("catch").prob[1], 0.9)
    assert independent(table, "catch", "tooth", given="cavity")


def test_common_cause():
    z, x = np.array([0.7, 0.3]), np.array([[0.56, 0.44], [0.38, 0.62]])
    for y, deviation, information in (
        ([[0.67, 0.33], [0.15, 0.85]], 0.019656, 0.00309684),
        ([[0.77, 0.23], [0.15, 0.85]], 0.023436, 0.00452870),
    ):
        joint = np.einsum("z,zx,zy->xy", z, x, np.array(y))
        found = independent(joint)
        assert not found and found.deviation == pytest.approx(deviation, abs=1e-6)
        close(mutual_information(joint), information)
