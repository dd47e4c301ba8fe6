"""Probabilistic PCA and factor analysis: closed form, EM, missing values, sampling."""

import numpy as np
import pytest
import sklearn.decomposition as peer
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from pansophy.decomposition import PCA, FactorAnalysis, ProbabilisticPCA
from pansophy.decomposition.factor_analysis import rotate_factors
from pansophy.decomposition.latent_factor_model import FactorParams, factor_posterior


def made(n=400, d=6, k=2, seed=0, noise=None):
    rng = np.random.default_rng(seed)
    noise = rng.uniform(0.3, 1.0, d) if noise is None else noise
    W = rng.standard_normal((k, d))
    return rng.standard_normal((n, k)) @ W + rng.standard_normal((n, d)) * noise + 2


def with_holes(X, share=0.2, seed=1):
    H = X.copy()
    H[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return H


def eigenvalues(values):
    """Rows whose covariance (divided by n) has these eigenvalues exactly."""
    root = np.diag(np.sqrt(len(values) * np.asarray(values)))
    return np.vstack([root, -root])


def test_worked_example():
    model = ProbabilisticPCA(1).fit(eigenvalues([4.0, 1.0, 0.5]))
    assert model.noise_variance_ == pytest.approx(0.75)
    assert np.linalg.norm(model.components_) == pytest.approx(1.802776, abs=1e-6)


@pytest.mark.parametrize("shape", [(400, 6), (20, 40)], ids=str)
def test_em_reaches_the_closed_form(shape):
    X = made(*shape)
    exact = ProbabilisticPCA(2).fit(X)
    turns = ProbabilisticPCA(2, method="em", tol=1e-13, max_iter=20_000, random_state=0)
    turns.fit(X)
    assert turns.noise_variance_ == pytest.approx(exact.noise_variance_, rel=1e-5)
    np.testing.assert_allclose(turns.components_, exact.components_, atol=1e-3)
    assert turns.loglike_ == pytest.approx(exact.loglike_, abs=1e-8)
    assert (np.diff(turns.history_["objective"]) <= 1e-10).all()


def test_closed_form_is_the_top_of_the_likelihood(rng):
    X = made()
    model = ProbabilisticPCA(2).fit(X)
    assert model.score(X) == pytest.approx(model.loglike_)
    right = multivariate_normal(model.mean_, model.get_covariance()).logpdf(X)
    np.testing.assert_allclose(model.score_samples(X), right)
    best = model.score(X)
    for _ in range(20):
        other = ProbabilisticPCA(2).fit(X)
        other.components_ = other.components_ + 0.05 * rng.standard_normal((2, 6))
        assert other.score(X) < best
    for factor in (0.9, 1.1):
        other = ProbabilisticPCA(2).fit(X)
        other.noise_variance_ *= factor
        assert other.score(X) < best
    np.testing.assert_allclose(
        model.get_precision() @ model.get_covariance(), np.eye(6), atol=1e-10
    )


def test_without_noise_it_is_pca():
    X = made(noise=np.full(6, 1e-5))
    model, pca = ProbabilisticPCA(2).fit(X), PCA(2).fit(X)
    assert model.noise_variance_ < 1e-9
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(back, pca.inverse_transform(pca.transform(X)), atol=1e-6)
    scale = np.sqrt(pca.explained_variance_ * 399 / 400)
    np.testing.assert_allclose(model.transform(X), pca.transform(X) / scale, atol=1e-5)


@pytest.mark.parametrize("cls", [ProbabilisticPCA, FactorAnalysis])
def test_samples_have_the_model_covariance(cls):
    model = cls(2, random_state=0).fit(made())
    rows = model.sample(200_000)
    np.testing.assert_allclose(np.cov(rows.T), model.get_covariance(), atol=0.06)
    np.testing.assert_allclose(rows.mean(axis=0), model.mean_, atol=0.03)


@pytest.mark.parametrize("cls", [ProbabilisticPCA, FactorAnalysis])
def test_missing_values(cls):
    X = made(n=800)
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


@pytest.mark.parametrize("method", ["lapack", "randomized"])
@pytest.mark.parametrize("shape", [(300, 12), (15, 30)], ids=str)
def test_factor_analysis_matches_scikit_learn(method, shape):
    X = made(*shape, k=3)
    options = {"svd_method": method, "tol": 1e-8, "max_iter": 30}
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = FactorAnalysis(3, **options).fit(X)
        right = peer.FactorAnalysis(3, **options).fit(X)
    np.testing.assert_allclose(
        ours.loglike_, right.loglike_[: len(ours.loglike_)], rtol=1e-5
    )
    assert (np.diff(ours.loglike_) >= -1e-6).all()
    np.testing.assert_allclose(
        ours.get_covariance(), right.get_covariance(), rtol=0.02, atol=0.02
    )
    np.testing.assert_allclose(
        ours.get_precision() @ ours.get_covariance(), np.eye(shape[1]), atol=1e-6
    )


@pytest.mark.parametrize("kind", ["varimax", "quartimax"])
def test_rotation(kind):
    X = made(500, 8, 3)
    plain = FactorAnalysis(3).fit(X)
    turned = FactorAnalysis(3, rotation=kind).fit(X)
    np.testing.assert_allclose(
        plain.get_covariance(), turned.get_covariance(), rtol=1e-8, atol=1e-8
    )
    g = 1.0 if kind == "varimax" else 0.0

    def simple(W):
        return np.sum(W**4) - g / W.shape[1] * np.sum(np.sum(W**2, axis=1) ** 2)

    best = simple(turned.components_)
    rng = np.random.default_rng(0)
    for _ in range(100):
        Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        assert simple(Q @ plain.components_) <= best + 1e-6
    np.testing.assert_allclose(rotate_factors(np.eye(2), kind), np.eye(2), atol=1e-12)


def test_bad_requests():
    X = made(30)
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
