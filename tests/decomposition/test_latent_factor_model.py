"""The linear Gaussian factor model: samples, missing values, marginal densities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from pansophy.decomposition import FactorAnalysis, ProbabilisticPCA
from pansophy.decomposition.latent_factor_model import FactorParams, factor_posterior
from tests.decomposition.factor_rows import factor_rows


def with_holes(X, share=0.2, seed=1):
    H = X.copy()
    H[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return H


@pytest.mark.parametrize("cls", [ProbabilisticPCA, FactorAnalysis])
def test_samples_have_the_model_covariance(cls):
    model = cls(2, random_state=0).fit(factor_rows())
    rows = model.sample(200_000)
    np.testing.assert_allclose(np.cov(rows.T), model.get_covariance(), atol=0.06)
    np.testing.assert_allclose(rows.mean(axis=0), model.mean_, atol=0.03)


@pytest.mark.parametrize("cls", [ProbabilisticPCA, FactorAnalysis])
def test_missing_values(cls):
    X = factor_rows(n=800)
    H = with_holes(X)
    H[5] = np.nan  # a row with nothing tells nothing
    full, holed = cls(2).fit(X), cls(2, random_state=0).fit(H)
    np.testing.assert_allclose(holed.get_covariance(), full.get_covariance(), atol=0.3)
    assert holed.score(X) > full.score(X) - 0.05
    assert (np.diff(holed.history_["objective"]) <= 1e-10).all()
    gap = np.isnan(H)
    filled = holed.impute(H)
    np.testing.assert_array_equal(filled[~gap], H[~gap])
    error = np.sqrt(np.mean((filled - X)[gap] ** 2))
    mean = np.sqrt(np.mean((np.nanmean(H, axis=0) - X)[gap] ** 2))
    assert error < 0.75 * mean
    np.testing.assert_allclose(filled[5], holed.mean_)
    np.testing.assert_allclose(holed.transform(H)[5], 0, atol=1e-12)
    assert holed.score_samples(H)[5] == 0


@given(st.integers(0, 9999))
def test_what_was_seen_has_the_marginal_density(seed):
    rng = np.random.default_rng(seed)
    W, m, psi = (
        rng.standard_normal((2, 4)),
        rng.standard_normal(4),
        rng.uniform(0.1, 2, 4),
    )
    x = rng.standard_normal(4)
    seen = rng.random(4) < 0.6
    C = W.T @ W + np.diag(psi)
    row = np.where(seen, x, np.nan)[None]
    Z, M, loglik = factor_posterior(np.vstack([row, x[None]]), FactorParams(W, m, psi))
    if seen.any():
        right = multivariate_normal(m[seen], C[np.ix_(seen, seen)]).logpdf(x[seen])
        gain = W[:, seen] @ np.linalg.inv(C[np.ix_(seen, seen)])
        np.testing.assert_allclose(Z[0], gain @ (x - m)[seen], atol=1e-9)
        np.testing.assert_allclose(M[0], np.eye(2) - gain @ W[:, seen].T, atol=1e-9)
    else:
        right = 0.0
    assert loglik[0] == pytest.approx(right)


def test_bad_requests():
    X = factor_rows(30)
    with pytest.raises(ValueError, match="at most min"):
        ProbabilisticPCA(7).fit(X)
    with pytest.raises(ValueError, match="without missing"):
        ProbabilisticPCA(2, method="closed_form").fit(with_holes(X))
    with pytest.raises(ValueError, match="at most n_features"):
        FactorAnalysis(7).fit(X)
    with pytest.raises(ValueError, match="noise_variance_init"):
        FactorAnalysis(2, noise_variance_init=[1.0, 2.0]).fit(X)
    X[:, 3] = np.nan
    for cls in (ProbabilisticPCA, FactorAnalysis):
        with pytest.raises(ValueError, match="column 3"):
            cls(2).fit(X)
