"""Paths of the lasso: gaps, parity, options, a given Gram matrix."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer

from pansophy.linear_model import ElasticNet, Lasso, enet_path, lasso_path
from tests.linear_model.small_problems import sparse_problem
from tests.oracles import coordinate as oracle


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sp.csc_matrix])
def test_path_gaps_and_parity(make):
    X, y = sparse_problem(60, 300, k=20)
    X, y = X - X.mean(axis=0), y - y.mean()
    alphas, coefs, gaps, counts = lasso_path(
        make(X), y, alphas=30, eps=1e-2, tol=1e-6, return_n_iter=True
    )
    assert np.all(gaps <= 1e-6 * (y @ y) / 60) and np.all(coefs[:, 0] == 0)
    assert len(counts) == 30 and alphas[-1] == pytest.approx(alphas[0] / 100)
    for i in (5, 15, 29):
        assert gaps[i] == pytest.approx(
            oracle.lasso_gap(X, y, coefs[:, i], alphas[i]), abs=1e-10
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, theirs, _ = peer.lasso_path(X, y, alphas=alphas, tol=1e-10, max_iter=50_000)
    # a gap of 1e-6 allows coefficients that are 1e-3 off
    np.testing.assert_allclose(coefs, theirs, atol=2e-3)


def test_path_options():
    X, y = sparse_problem(50, 10)
    alphas = [1.0, 0.5, 0.1]
    base = enet_path(X, y, alphas=alphas, tol=1e-12)[1]
    variants = [
        {"precompute": True},
        {"precompute": X.T @ X},
        {"Xy": X.T @ y},
        {"coef_init": np.ones(10)},
        {"selection": "random", "random_state": 0},
    ]
    for options in variants:
        other = enet_path(X, y, alphas=alphas, tol=1e-12, **options)[1]
        np.testing.assert_allclose(other, base, atol=1e-8)
    with pytest.raises(ValueError, match="not supported for l1_ratio=0"):
        enet_path(X, y, l1_ratio=0)


def test_wide_cold_fits_agree_with_the_path():
    X, y = sparse_problem(200, 600, k=20)
    X, y = X - X.mean(axis=0), y - y.mean()
    for make in (np.ascontiguousarray, np.asfortranarray, sp.csc_matrix):
        alone = Lasso(0.1, tol=1e-10, fit_intercept=False).fit(make(X), y)
        _, coefs, _ = lasso_path(X, y, alphas=[1.0, 0.3, 0.1], tol=1e-10)
        np.testing.assert_allclose(alone.coef_, coefs[:, -1], atol=1e-4)


def test_a_gram_matrix_that_is_given_is_checked(rng):
    X = rng.normal(size=(50, 6)) + 3
    y = X @ rng.normal(size=6) + rng.normal(size=50)
    w = rng.uniform(0.5, 2, size=50)
    centred = X - X.mean(axis=0)
    for make in (ElasticNet, Lasso):
        right = make(alpha=0.01).fit(X, y).coef_
        with pytest.warns(UserWarning, match="recomputing Gram matrix"):
            model = make(alpha=0.01, precompute=X.T @ X).fit(X, y)
        np.testing.assert_allclose(model.coef_, right, rtol=1e-10)
        model = make(alpha=0.01, precompute=centred.T @ centred).fit(X, y)
        np.testing.assert_allclose(model.coef_, right, rtol=1e-8)
        single = (centred.T @ centred).astype(np.float32)
        model = make(alpha=0.01, precompute=single).fit(X, y)
        np.testing.assert_allclose(model.coef_, right, rtol=1e-4)
        for wrong in (np.eye(6), 50 * np.eye(6), centred.T @ centred + np.eye(6)):
            with pytest.raises(ValueError, match="did not pass validation"):
                make(alpha=0.01, precompute=wrong).fit(X, y)
        with pytest.raises(ValueError, match="did not pass validation"):
            make(alpha=0.01, precompute=np.full((6, 6), np.nan)).fit(X, y)
        with pytest.warns(UserWarning, match="X was weighted"):
            model = make(alpha=0.01, precompute=X.T @ X).fit(X, y, sample_weight=w)
        right = make(alpha=0.01).fit(X, y, sample_weight=w).coef_
        np.testing.assert_allclose(model.coef_, right, rtol=1e-8)
        away = X - np.average(X, axis=0, weights=w)
        gram = (away.T * w * 50 / w.sum()) @ away
        model = make(alpha=0.01, precompute=gram).fit(X, y, sample_weight=w)
        np.testing.assert_allclose(model.coef_, right, rtol=1e-8)
    with pytest.raises(ValueError, match="did not pass validation"):
        enet_path(X, y, precompute=np.eye(6))
    with pytest.raises(ValueError, match="precompute must be 'auto'"):
        enet_path(X, y, precompute="maybe")
