"""Least-squares machines: worked numbers and the optimality conditions."""

import warnings

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning

from pansophy.kernel_model import (
    KernelLogisticRegression,
    KernelPerceptron,
    LSSVMClassifier,
    LSSVMRegressor,
)
from pansophy.kernel_ridge import KernelRidge
from pansophy.kernels import RBF

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
SIGNS = np.array([-1, 1, 1, -1])


def test_worked_numbers_of_xor():
    model = LSSVMClassifier(C=10.0, gamma=1.0).fit(XOR, SIGNS)
    np.testing.assert_allclose(model.alpha_, 2.001696, rtol=0, atol=5e-7)
    assert model.intercept_[0] == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(
        model.decision_function(XOR), 0.799830 * SIGNS, rtol=0, atol=5e-7
    )
    # the regression form has y times these
    regression = LSSVMRegressor(C=10.0, gamma=1.0).fit(XOR, SIGNS)
    np.testing.assert_allclose(
        regression.dual_coef_, SIGNS * 2.001696, rtol=0, atol=5e-7
    )


def test_coefficients_are_errors_and_sum_to_zero(rng):
    X = rng.standard_normal((40, 3))
    y = X[:, 0] + rng.standard_normal(40)
    w = rng.integers(0, 3, 40).astype(float)
    model = LSSVMRegressor(C=3.0).fit(X, y, sample_weight=w)
    errors = y - model.predict(X)
    np.testing.assert_allclose(model.dual_coef_, 3.0 * w * errors, atol=1e-10)
    assert model.dual_coef_.sum() == pytest.approx(0, abs=1e-10)


def test_it_is_kernel_ridge_with_a_free_bias(rng):
    X, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    model = LSSVMRegressor(C=4.0).fit(X, y)
    K = RBF(gamma=0.5)(X)
    a = np.linalg.solve(K + np.eye(30) / 4, y - model.intercept_)
    np.testing.assert_allclose(model.dual_coef_, a, atol=1e-10)


def test_three_classes_and_precomputed(rng):
    X = rng.standard_normal((90, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = LSSVMClassifier(C=100.0, gamma=0.5).fit(X, y)
    assert model.score(X, y) > 0.9 and model.decision_function(X).shape == (90, 3)
    K = RBF(gamma=0.5)(X)
    given = LSSVMClassifier(C=100.0, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(
        given.decision_function(K), model.decision_function(X), atol=1e-8
    )
    one = LSSVMClassifier(C=100.0, gamma=0.5).fit(X, y == "b")
    np.testing.assert_allclose(
        one.decision_function(X), model.decision_function(X)[:, 1], atol=1e-8
    )


def test_kernels_that_are_not_positive_definite(rng):
    """The system has a solution as a rule, though it is no minimum."""
    A = rng.standard_normal((20, 20))
    K, y = A + A.T, rng.standard_normal(20)
    with pytest.warns(LinAlgWarning, match="not positive semi-definite"):
        model = LSSVMRegressor(C=2.0, kernel="precomputed").fit(K, y)
    errors = y - model.predict(K)
    np.testing.assert_allclose(model.dual_coef_, 2.0 * errors, atol=1e-8)


def test_a_gamma_that_the_kernel_does_not_have_is_told():
    """The notes call the strength of the penalty gamma; here it is C."""
    X, y = XOR, SIGNS
    models = [
        LSSVMClassifier(gamma=2, kernel="linear"),
        LSSVMRegressor(gamma=2, kernel=RBF(1.0)),
        KernelLogisticRegression(gamma=2, kernel="linear"),
        KernelPerceptron(gamma=2, kernel="cosine", max_iter=1),
    ]
    for model in models:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model.fit(X, y)
        told = [
            str(w.message) for w in said if "gamma=2 has no effect" in str(w.message)
        ]
        assert len(told) == 1, model
    LSSVMClassifier(gamma=2, kernel="laplacian").fit(X, y)
    KernelRidge(gamma=2, kernel="linear").fit(X, y)  # as in scikit-learn
