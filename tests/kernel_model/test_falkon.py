"""Falkon: with all rows as its exact twins, optimality, few centres, refusals."""

import numpy as np
import pytest

from pansophy.kernel_model import (
    FalkonClassifier,
    FalkonRegressor,
    KernelLogisticRegression,
)
from pansophy.kernel_ridge import KernelRidge
from pansophy.kernels import RBF


def test_with_all_rows_it_is_kernel_ridge(rng):
    X = rng.standard_normal((70, 2))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
    w = rng.integers(0, 3, 70).astype(float)
    ours = FalkonRegressor(0.1, gamma=0.5, fit_intercept=False, tol=1e-12)
    twin = KernelRidge(0.1, kernel="rbf", gamma=0.5)
    for target, weights in ((Y, None), (Y[:, 0], w)):
        ours.fit(X, target, sample_weight=weights)
        twin.fit(X, target, sample_weight=weights)
        np.testing.assert_allclose(ours.predict(X), twin.predict(X), atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_with_all_rows_it_is_kernel_logistic_regression(classes, rng):
    X = rng.standard_normal((60, 2))
    y = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])
    y = y if classes == 3 else (y > 0).astype(int)
    ours = FalkonClassifier(0.5, gamma=0.5).fit(X, y)
    twin = KernelLogisticRegression(C=2.0, gamma=0.5).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), twin.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("loss", ["huber", "poisson", "gamma", "squared_hinge"])
def test_any_smooth_loss_reaches_its_optimum(loss, rng):
    from pansophy.losses import get_loss

    X = rng.standard_normal((80, 2))
    f = np.sin(X[:, 0])
    y = {
        "huber": f + rng.standard_t(2, 80),
        "poisson": rng.poisson(np.exp(f)).astype(float),
        "gamma": rng.gamma(2.0, np.exp(f) / 2),
        "squared_hinge": np.where(f > 0, 1.0, -1.0),
    }[loss]
    model = FalkonRegressor(
        0.3, n_components=15, loss=loss, random_state=0, tol=1e-10
    ).fit(X, y)
    member = get_loss(loss)
    Z, c = model.X_fit_, model.dual_coef_
    K, Kz = RBF(gamma=0.5)(X, Z), RBF(gamma=0.5)(Z)
    g = member.gradient(y, K @ c + model.intercept_)
    assert np.abs(K.T @ g + 0.3 * Kz @ c).max() < 1e-5
    assert abs(g.sum()) < 1e-5
    assert (model.predict(X) > 0).all() or loss in ("huber", "squared_hinge")


def test_few_steps_and_few_centres_suffice(rng):
    X = rng.random((3000, 2)) * 4
    f = np.sin(X[:, 0]) * np.cos(X[:, 1])
    y = f + 0.1 * rng.standard_normal(3000)
    model = FalkonRegressor(0.1, n_components=100, gamma=1.0, random_state=0).fit(X, y)
    assert model.n_iter_ < 70
    assert np.mean((model.predict(X) - f) ** 2) < 0.002


def test_losses_of_classifiers_and_refusals(table):
    X, y = table
    for loss in ("squared_hinge", "modified_huber", "squared_error"):
        model = FalkonClassifier(0.01, loss=loss, gamma=1.0).fit(X, y)
        assert model.score(X, y) > 0.9
        with pytest.raises(AttributeError, match="logistic"):
            model.predict_proba(X)
    for loss, words in (("hinge", "smooth"), ("absolute", "smooth")):
        with pytest.raises(ValueError, match=words):
            FalkonRegressor(loss=loss).fit(X, y)
    with pytest.raises(ValueError, match="targets of the kind 'nonnegative'"):
        FalkonRegressor(loss="poisson").fit(X, y - 1)
    with pytest.raises(ValueError, match="targets of the kind 'fraction'"):
        FalkonRegressor(loss="logistic").fit(X, 1.5 * y)
    with pytest.raises(ValueError, match="precomputed"):
        FalkonRegressor(kernel="precomputed").fit(X[:2], y[:2])
    with pytest.raises(ValueError, match="one output"):
        FalkonRegressor(loss="huber").fit(X, np.column_stack([y, y]))
