"""Inference of least squares: robust covariances by hand, likelihoods, refusals."""

import numpy as np
import pytest
from scipy import stats

from pansophy.core.linalg.least_squares import least_squares
from pansophy.linear_model import LinearRegression
from pansophy.linear_model.inference import gaussian_log_likelihood, robust_covariance


@pytest.mark.parametrize("cov_type", ["HC0", "HC1", "HC2", "HC3"])
@pytest.mark.parametrize("intercept", [True, False])
def test_robust_covariances_are_the_sandwich(cov_type, intercept, rng):
    X, y = rng.normal(size=(25, 2)) + 3, rng.normal(size=25)
    w = rng.integers(1, 3, 25).astype(float)
    fit = least_squares(X, y[:, None], w, intercept=intercept)
    b = np.broadcast_to(fit.intercept, (1,))
    V = robust_covariance(X, y[:, None], w, fit.coef, b, fit, intercept=intercept,
                          cov_type=cov_type)  # fmt: skip
    A = np.column_stack([np.ones(25), X])[:, 0 if intercept else 1 :]
    bread = np.linalg.inv((A.T * w) @ A)
    r = y - b - X @ fit.coef[:, 0]
    left = 1 - np.einsum("ij,jk,ik->i", A, bread, A)
    N, p = w.sum(), A.shape[1]
    f = {"HC0": 1, "HC1": N / (N - p), "HC2": 1 / left, "HC3": 1 / left**2}[cov_type]
    right = bread @ (A.T * (w * f * r**2)) @ A @ bread
    np.testing.assert_allclose(V[:, :, 0], right, rtol=1e-8)


def test_likelihood_at_the_best_and_at_a_given_variance(rng):
    r = rng.normal(size=30)
    best = gaussian_log_likelihood(r @ r, 30.0)
    assert best == pytest.approx(stats.norm(0, np.sqrt(r @ r / 30)).logpdf(r).sum())
    other = gaussian_log_likelihood(r @ r, 30.0, 4.0)
    assert other == pytest.approx(stats.norm(0, 2).logpdf(r).sum()) and other < best


def test_summaries_without_a_theory_are_refused(rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    with pytest.raises(ValueError, match="positive=True"):
        LinearRegression(positive=True).fit(X, y).summary()
    with pytest.raises(ValueError, match="more rows than the 4 coefficients"):
        LinearRegression().fit(X[:4], y[:4]).summary()
    with pytest.raises(ValueError, match="not those given to fit"):
        LinearRegression().fit(X, y).summary(X, y + X[:, 0], cov_type="HC3")
