"""GeneralizedLeastSquares: worked numbers, statsmodels, whitened rows."""

import numpy as np
import pytest

from pansophy.linear_model import (
    GeneralizedLeastSquares,
    LinearRegression,
)


def problem(rng, n=50, d=3):
    X = rng.standard_normal((n, d)) + 2
    return X, X @ rng.standard_normal(d) + 1 + rng.standard_normal(n)


def covariance(rng, n):
    A = rng.standard_normal((n, n))
    return A @ A.T / n + 0.1 * np.eye(n)


def test_worked_example_of_unequal_variances():
    X, y = np.array([[1.0, 1], [2, 1], [3, 1], [4, 1]]), np.array([2.0, 3, 5, 4])
    R = np.array([1, 1, 4, 0.25])
    model = GeneralizedLeastSquares(fit_intercept=False)
    for given_as in (R, np.diag(R)):
        model.fit(X, y, covariance=given_as)
        np.testing.assert_allclose(model.coef_, [0.615385, 1.615385], atol=1e-6)
    weighted = LinearRegression(fit_intercept=False).fit(X, y, sample_weight=1 / R)
    np.testing.assert_allclose(model.coef_, weighted.coef_)
    np.testing.assert_allclose(model.fit(X, y).coef_, [0.8, 1.5])
    np.testing.assert_allclose(model.fit(X, y, np.full(4, 7.0)).coef_, [0.8, 1.5])


@pytest.mark.parametrize("kind", ["matrix", "diagonal", "none"])
@pytest.mark.parametrize("intercept", [True, False])
def test_same_as_statsmodels(kind, intercept, rng):
    sm = pytest.importorskip("statsmodels.api")
    X, y = problem(rng)
    R = {"matrix": covariance(rng, 50), "diagonal": rng.uniform(0.2, 4, 50)}.get(kind)
    ours = GeneralizedLeastSquares(fit_intercept=intercept).fit(X, y, R)
    A = sm.add_constant(X) if intercept else X
    theirs = sm.GLS(y, A, sigma=R).fit()
    s = ours.summary()
    np.testing.assert_allclose(s["coef"], theirs.params, rtol=1e-9)
    np.testing.assert_allclose(s["std error"], theirs.bse, rtol=1e-9)
    assert s["log-likelihood"] == pytest.approx(theirs.llf, rel=1e-9)
    assert s["AIC"] == pytest.approx(theirs.aic, rel=1e-9)
    assert s["R2"] == pytest.approx(theirs.rsquared, rel=1e-9)
    assert s["F"] == pytest.approx(float(theirs.fvalue), rel=1e-8)


def test_it_is_least_squares_on_whitened_rows(rng):
    X, y = problem(rng)
    R = covariance(rng, 50)
    W = np.linalg.inv(np.linalg.cholesky(R))
    A = W @ np.column_stack([np.ones(50), X])
    right = LinearRegression(fit_intercept=False).fit(A, W @ y)
    both = GeneralizedLeastSquares().fit(X, np.column_stack([y, -y]), R)
    np.testing.assert_allclose(both.intercept_, [right.coef_[0], -right.coef_[0]])
    np.testing.assert_allclose(both.coef_[0], right.coef_[1:], rtol=1e-9)
    assert both.summary()["t"].shape == (4, 2)


def test_bad_covariances_are_refused(rng):
    X, y = problem(rng)
    fit = lambda R: GeneralizedLeastSquares().fit(X, y, R)
    with pytest.raises(ValueError, match=r"shape \(50, 50\) or \(50,\)"):
        fit(np.eye(3))
    with pytest.raises(ValueError, match="not positive definite"):
        fit(np.ones((50, 50)))
    with pytest.raises(ValueError, match="symmetric"):
        fit(np.triu(np.ones((50, 50))))
    with pytest.raises(ValueError, match="above 0"):
        fit(np.zeros(50))
    with pytest.raises(ValueError, match="NaN"):
        fit(np.full(50, np.nan))
    with pytest.warns(np.exceptions.RankWarning, match="x3"):
        model = GeneralizedLeastSquares().fit(np.column_stack([X, np.ones(50)]), y)
    with pytest.raises(ValueError, match="rank 3 with 4 columns"):
        model.summary()
