"""Kernel perceptron, kernel logistic regression and Falkon against their twins."""

import numpy as np
import pytest
import scipy.optimize
from sklearn.exceptions import ConvergenceWarning

from pansophy import kernels
from pansophy.kernel_model import (
    FalkonClassifier,
    FalkonRegressor,
    KernelLogisticRegression,
    KernelPerceptron,
    feature_newton,
    perceptron_objective,
    representer,
    rkhs_norm,
)
from pansophy.kernel_ridge import KernelRidge
from pansophy.kernels import RBF, Linear
from pansophy.linear_model import LogisticRegression, Perceptron


@pytest.fixture
def table(rng):
    X = rng.standard_normal((80, 2))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


# --- perceptron -------------------------------------------------------------------


def test_linear_kernel_follows_the_perceptron(rng):
    X = rng.standard_normal((50, 3))
    y = (X @ [1.0, -2.0, 0.5] > 0).astype(int)
    ours = KernelPerceptron(kernel="linear", eta0=0.5).fit(X, y)
    twin = Perceptron(fit_intercept=False, shuffle=False, eta0=0.5, tol=None).fit(X, y)
    np.testing.assert_allclose(X.T @ ours.dual_coef_, twin.coef_[0], atol=1e-10)
    assert ours.mistakes_.sum() == twin.n_mistakes_
    np.testing.assert_allclose(np.abs(ours.dual_coef_), 0.5 * ours.mistakes_)
    signs = np.where(y == 1, 1, -1)
    K = X @ X.T
    assert perceptron_objective(K, signs, ours.dual_coef_) == 0
    w = X.T @ np.ones(50)
    right = np.maximum(0, -signs * (X @ w)).sum()
    assert perceptron_objective(K, signs, np.ones(50)) == pytest.approx(right)
    assert set(np.flatnonzero(ours.dual_coef_)) == set(ours.support_)


def test_perceptron_separates_what_its_kernel_can(table):
    X, y = table
    model = KernelPerceptron(kernel="poly", degree=2).fit(X, y)
    assert model.score(X, y) == 1
    with pytest.warns(ConvergenceWarning):
        KernelPerceptron(kernel="linear", max_iter=5).fit(X, y)
    three = y + (X[:, 0] > 1)
    with pytest.warns(ConvergenceWarning):
        many = KernelPerceptron(gamma=2.0, max_iter=2).fit(X, three)
    assert many.decision_function(X).shape == (80, 3)


# --- logistic regression ----------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_linear_kernel_is_logistic_regression(classes, intercept, rng):
    X = rng.standard_normal((60, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.standard_normal(60), [-0.5, 0.5])
    y = y if classes == 3 else (y > 0).astype(int)
    w = rng.integers(0, 3, 60).astype(float)
    options = {"C": 2.0, "fit_intercept": intercept}
    ours = KernelLogisticRegression(kernel="linear", **options)
    twin = LogisticRegression(tol=1e-10, max_iter=500, **options)
    ours.fit(X, y, sample_weight=w)
    twin.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.predict_proba(X), twin.predict_proba(X), atol=1e-6)


def test_gaussian_kernel_reaches_the_optimum(table):
    X, y = table
    model = KernelLogisticRegression(C=5.0, gamma=0.7).fit(X, y)
    K = RBF(gamma=0.7)(X)

    def objective(z):
        a, f = z[:-1], K @ z[:-1] + z[-1]
        p = 1 / (1 + np.exp(-f))
        value = 0.5 * a @ K @ a + 5 * np.sum(np.logaddexp(0, f) - y * f)
        return value, np.append(K @ (a + 5 * (p - y)), 5 * np.sum(p - y))

    z = np.append(model.dual_coef_, model.intercept_)
    value, slope = objective(z)
    assert np.abs(slope).max() < 1e-6
    best = scipy.optimize.minimize(
        objective, np.zeros(81), jac=True, method="BFGS", options={"gtol": 1e-9}
    )
    assert value == pytest.approx(best.fun, rel=1e-8)
    assert model.dual_coef_.sum() == pytest.approx(0, abs=1e-6)
    np.testing.assert_array_equal(
        model.predict(X), model.predict_proba(X).argmax(axis=1)
    )


def test_xor_gets_probabilities():
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    model = KernelLogisticRegression(C=100.0, gamma=2.0).fit(X, [0, 1, 1, 0])
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(p, [1 - p[1], p[1], p[1], 1 - p[1]], atol=1e-8)
    assert p[1] > 0.9


def test_texts_are_classified():
    words = ["banana", "ananas", "bandana", "pear", "peach", "peanut"]
    y = ["b", "b", "b", "p", "p", "p"]
    k = kernels.Spectrum(2)
    model = KernelLogisticRegression(C=10.0, kernel=k).fit(words, y)
    assert model.predict(["banandana", "pea"]).tolist() == ["b", "p"]
    given = KernelLogisticRegression(C=10.0, kernel="precomputed").fit(k(words), y)
    np.testing.assert_allclose(
        given.predict_proba(k(["pea"], words)), model.predict_proba(["pea"]), atol=1e-8
    )


# --- Falkon -----------------------------------------------------------------------


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


def test_tiles_instead_of_the_matrix(rng, monkeypatch):
    X, y = rng.standard_normal((100, 2)), rng.standard_normal(100)
    options = {"n_components": 20, "random_state": 0, "tol": 1e-12}
    kept = FalkonRegressor(0.1, **options).fit(X, y).predict(X)
    monkeypatch.setattr(feature_newton, "CACHED", 0)
    np.testing.assert_allclose(
        FalkonRegressor(0.1, **options).fit(X, y).predict(X), kept, atol=1e-8
    )


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
    with pytest.raises(ValueError, match="precomputed"):
        FalkonRegressor(kernel="precomputed").fit(X[:2], y[:2])
    with pytest.raises(ValueError, match="one output"):
        FalkonRegressor(loss="huber").fit(X, np.column_stack([y, y]))


# --- representer form -------------------------------------------------------------


def test_representer_form_and_norm(rng):
    X = rng.standard_normal((20, 3))
    a = rng.standard_normal(20)
    w = X.T @ a
    f = representer(Linear(), X, a, intercept=0.5)
    q = rng.standard_normal((6, 3))
    np.testing.assert_allclose(f(q), q @ w + 0.5)
    assert f.norm == pytest.approx(np.linalg.norm(w))
    K = RBF()(X)
    assert rkhs_norm(RBF(), X, a) ** 2 == pytest.approx(a @ K @ a)
    g = representer(RBF(), X, a)
    bound = g.norm * np.sqrt(RBF().diag(q))  # |f(x)| <= |f| sqrt(k(x, x))
    assert (np.abs(g(q)) <= bound + 1e-12).all()
    both = rkhs_norm(RBF(), X, np.column_stack([a, 2 * a]))
    assert both[1] == pytest.approx(2 * both[0])


def test_descent_stays_in_the_span(rng):
    X, y = rng.standard_normal((5, 8)), rng.standard_normal(5)
    w = np.zeros(8)
    for i in rng.integers(0, 5, 200):
        w -= 0.02 * (X[i] @ w - y[i]) * X[i]
    a = np.linalg.lstsq(X.T, w)[0]
    np.testing.assert_allclose(X.T @ a, w, atol=1e-12)


@pytest.mark.parametrize("k", [kernels.Spectrum(2), 2.0 * kernels.Subsequence(2)])
def test_models_of_texts_are_saved(k, tmp_path):
    import pansophy

    words = ["banana", "ananas", "bandana", "pear", "peach", "peanut"]
    model = KernelLogisticRegression(kernel=k).fit(words, [0, 0, 0, 1, 1, 1])
    pansophy.save(model, tmp_path / "model.pan")
    again = pansophy.load(tmp_path / "model.pan")
    np.testing.assert_array_equal(
        again.predict_proba(["panama"]), model.predict_proba(["panama"])
    )
