"""Negative binomial regression against statsmodels."""

import numpy as np
import pytest

from pansophy.linear_model import NegativeBinomialRegressor, PoissonRegressor


def overdispersed_counts(n=600, seed=0, shape=2.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    mu = np.exp(0.5 + X @ [0.5, -0.3])
    return X, rng.poisson(mu * rng.gamma(shape, 1 / shape, n)), mu


def test_as_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    X, y, _ = overdispersed_counts()
    ours = NegativeBinomialRegressor().fit(X, y)
    theirs = sm.NegativeBinomial(y, sm.add_constant(X))
    found = theirs.fit(disp=0, method="newton", maxiter=200, warn_convergence=False)
    params = [ours.intercept_, *ours.coef_, ours.overdispersion_]
    assert params == pytest.approx(found.params, abs=1e-4)


def test_counts_without_overdispersion_are_poisson():
    X, _, mu = overdispersed_counts()
    y = np.random.default_rng(1).binomial(20, np.minimum(mu / 20, 1))
    ours = NegativeBinomialRegressor().fit(X, y)
    assert ours.overdispersion_ < 1e-4
    plain = PoissonRegressor(alpha=0.0, tol=1e-8).fit(X, y)
    assert ours.coef_ == pytest.approx(plain.coef_, abs=1e-4)


def test_weights_are_repeated_rows_and_overdispersion_may_be_given():
    X, y, _ = overdispersed_counts(200)
    w = np.random.default_rng(2).integers(0, 3, 200)
    a = NegativeBinomialRegressor().fit(X, y, sample_weight=w)
    b = NegativeBinomialRegressor().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert a.coef_ == pytest.approx(b.coef_, abs=1e-6)
    assert a.overdispersion_ == pytest.approx(b.overdispersion_, abs=1e-5)
    assert NegativeBinomialRegressor(0.3).fit(X, y).overdispersion_ == 0.3
