"""Kernel perceptron: as the linear one, what its kernel separates."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.kernel_model import KernelPerceptron, perceptron_objective
from pansophy.linear_model import Perceptron


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
