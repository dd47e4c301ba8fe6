"""Variances, quantiles and proximities of forests, against slow versions."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification, make_friedman1

from pansophy.ensemble import (
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from pansophy.params import ParameterError
from tests.oracles import forest as oracle


@pytest.fixture(scope="module")
def classes():
    return make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)


@pytest.fixture(scope="module")
def numbers():
    return make_friedman1(200, noise=0.5, random_state=0)


def test_gaussian_predictive_distribution(numbers):
    X, y = numbers
    model = RandomForestRegressor(30, min_samples_leaf=5, random_state=0).fit(X, y)
    each = np.stack([m.predict(X) for m in model.estimators_])
    mean, variance = model.predict_dist(X, within=False)
    np.testing.assert_allclose(mean, each.mean(axis=0))
    np.testing.assert_allclose(variance, each.var(axis=0), atol=1e-12)
    leaf = [m.tree_.impurity[m.apply(X)] for m in model.estimators_]
    _, total = model.predict_dist(X)
    np.testing.assert_allclose(total, variance + np.mean(leaf, axis=0), rtol=1e-9)
    again, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(std**2, total)
    np.testing.assert_allclose(again, model.predict(X))
    # the Gaussian covers held-out targets about as often as it says
    Z, t = make_friedman1(400, noise=0.5, random_state=1)
    m, s = model.predict(Z, return_std=True)
    assert 0.85 < np.mean(np.abs(t - m) < 1.96 * s) <= 1.0


def test_quantiles_equal_a_slow_one(numbers):
    X, y = numbers
    X = X.astype(np.float32)
    model = RandomForestRegressor(
        15, min_samples_leaf=4, random_state=0, keep_targets=True
    ).fit(X, y)
    W = oracle.weights(model.estimators_, model.estimators_samples_, X, X[:40])
    q = [0.9, 0.05, 0.5]
    slow = [[oracle.quantile(y, w, level) for level in q] for w in W]
    np.testing.assert_array_equal(model.predict_quantiles(X[:40], q), slow)
    np.testing.assert_allclose(W @ y, model.predict(X[:40]), rtol=1e-9)
    assert model.predict_quantiles(X[:40], 0.5).shape == (40,)
    with pytest.raises(ValueError, match="from 0 to 1"):
        model.predict_quantiles(X, 1.5)
    with pytest.raises(ParameterError, match="keep_targets=True"):
        RandomForestRegressor(2).fit(X, y).predict_quantiles(X)


def test_jackknife_equals_a_slow_one(numbers):
    X, y = numbers
    model = RandomForestRegressor(300, max_depth=3, random_state=0).fit(X[:50], y[:50])
    args = model.estimators_, model.estimators_samples_, 50, X[50:60]
    slow = oracle.infinitesimal_jackknife(*args)
    np.testing.assert_allclose(model.predict_variance(X[50:60]), slow, rtol=1e-9)
    slow = oracle.jackknife_after_bootstrap(*args)
    fast = model.predict_variance(X[50:60], method="bootstrap")
    np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-12)
    with pytest.raises(ParameterError, match="method must be"):
        model.predict_variance(X, method="delta")
    with pytest.raises(ParameterError, match="bootstrap=True"):
        ExtraTreesRegressor(3).fit(X, y).predict_variance(X)


def test_proximity(classes):
    X, y = classes
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, y)
    slow = oracle.proximity(model.estimators_, X, X[:30])
    np.testing.assert_allclose(model.proximity(X, X[:30]), slow)
    sparse = model.proximity(X, X[:30], dense_output=False)
    assert sp.issparse(sparse)
    np.testing.assert_allclose(sparse.toarray(), slow)
    own = model.proximity(X)
    np.testing.assert_array_equal(np.diag(own), 1.0)
    same = y[:, None] == y[None]
    assert own[same].mean() > 1.5 * own[~same].mean()


@pytest.mark.parametrize("forest", [RandomForestRegressor, ExtraTreesRegressor])
def test_quantiles_of_weighted_rows_without_bootstrap(forest, numbers):
    """Each row counts with its own weight in its leaf."""
    X, y = numbers
    X = X.astype(np.float32)
    w = np.random.default_rng(1).choice([0.25, 1.0, 8.0], len(y))
    model = forest(
        5, min_samples_leaf=10, random_state=0, keep_targets=True, bootstrap=False
    ).fit(X, y, sample_weight=w)
    same = np.stack([m.apply(X)[:, None] == m.apply(X[:40]) for m in model.estimators_])
    shares = same * w[:, None]
    shares = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    q = [0.1, 0.5, 0.9]
    slow = [[oracle.quantile(y, share, level) for level in q] for share in shares.T]
    np.testing.assert_array_equal(model.predict_quantiles(X[:40], q), slow)
    np.testing.assert_allclose(shares.T @ y, model.predict(X[:40]), rtol=1e-6)
