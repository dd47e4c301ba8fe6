"""Kernel logistic regression: as the linear one, its optimum, texts."""

import numpy as np
import pytest
import scipy.optimize

from pansophy import kernels
from pansophy.kernel_model import (
    KernelLogisticRegression,
)
from pansophy.kernels import RBF
from pansophy.linear_model import LogisticRegression


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
