"""Square-root information: any grouping of rows, priors as rows, forgetting."""

import numpy as np
import pytest

from pansophy.linear_model.least_squares import square_root_information as sri


@pytest.mark.parametrize("intercept", [True, False])
def test_rows_in_parts_are_all_rows(intercept, rng):
    X, y = rng.normal(size=(40, 3)) + 5, rng.normal(size=40)
    w = rng.uniform(0.5, 2, 40)
    info = sri.empty_information(3, intercept)
    for cut in (slice(0, 2), slice(2, 25), slice(25, 40)):
        info = sri.add_information(info, X[cut], y[cut], w[cut])
    A = np.column_stack([np.ones(40), X])[:, 0 if intercept else 1 :]
    theta, rest = np.linalg.lstsq(A * w[:, None] ** 0.5, y * w**0.5)[:2]
    coef, b, rank = sri.solve_information(info)
    np.testing.assert_allclose(coef, theta[-3:], atol=1e-10)
    assert b == pytest.approx(theta[0] if intercept else 0.0) and rank == 3
    assert info.residual_ss == pytest.approx(rest[0])
    assert info.weight == pytest.approx(w.sum())
    V = np.linalg.inv((A.T * w) @ A)
    np.testing.assert_allclose(sri.coefficient_covariance(info), V[-3:, -3:])
    right = np.einsum("ij,jk,ik->i", A, V, A)
    np.testing.assert_allclose(sri.prediction_variance(info, X), right)
    draws = sri.draw_coefficients(info, np.full(20_000, 0.5), rng)
    np.testing.assert_allclose(draws.mean(axis=0), theta, atol=0.05)
    np.testing.assert_allclose(np.cov(draws.T), V / 4, atol=0.02)


def test_a_prior_is_rows_more(rng):
    X, y = rng.normal(size=(10, 2)), rng.normal(size=10)
    prior = sri.prior_information(np.array([2.0, 1.0]), np.array([1.0, -1.0]), False)
    info = sri.add_information(prior, X, y)
    P = np.diag([4.0, 1.0])
    right = np.linalg.solve(X.T @ X + P, X.T @ y + P @ [1.0, -1.0])
    np.testing.assert_allclose(sri.solve_information(info)[0], right)


def test_forgetting_weighs_rows_by_age(rng):
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    info = sri.empty_information(2, True)
    for i in range(12):
        info = sri.add_information(info, X[i : i + 1], y[i : i + 1], forgetting=0.8)
    fade = 0.8 ** np.arange(11, -1, -1.0)
    whole = sri.add_information(sri.empty_information(2, True), X, y, fade)
    np.testing.assert_allclose(
        sri.solve_information(info)[0], sri.solve_information(whole)[0]
    )
    assert info.weight == pytest.approx(fade.sum())


def test_rows_that_do_not_determine_the_coefficients(rng):
    x = rng.normal(size=(9, 1))
    info = sri.add_information(sri.empty_information(2, True), np.hstack([x, 2 * x]),
                               3 * x[:, 0] + 1)  # fmt: skip
    coef, b, rank = sri.solve_information(info)
    np.testing.assert_allclose(coef, [0.6, 1.2])  # the smallest with a + 2 b = 3
    assert rank == 1 and b == pytest.approx(1)
    with pytest.raises(ValueError, match="Model: the rows and the prior do not"):
        sri.check_determined(info, "Model")
    with pytest.raises(ValueError, match="NaN, infinity"):
        sri.add_information(info, np.full((1, 2), np.nan), np.ones(1))
