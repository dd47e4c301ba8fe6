"""Linear machines as one problem: its losses, and the choice of the solver."""

import numpy as np
import scipy.sparse as sp

from pansophy.losses import epsilon_insensitive
from pansophy.svm import LinearSVC, svm_problem
from tests.svm.samples import linear_classes


def test_margin_losses_on_a_grid():
    """Values 3, 2, 1, .5, 0, 0 at z = -2, -1, 0, .5, 1, 2."""
    z = np.array([-2, -1, 0, 0.5, 1, 2.0])
    C, one = np.ones(6), np.ones(6)
    m = svm_problem.classification_problem(z[:, None], one, C, squared=False, scale=0.0)
    e = svm_problem.svm_residuals(m, np.ones(1))
    values = svm_problem.svm_losses(e, m.low, m.high, m.curve, 0.0)
    np.testing.assert_allclose(values, [3, 2, 1, 0.5, 0, 0])
    m = svm_problem.classification_problem(z[:, None], one, C, squared=True, scale=0.0)
    values = svm_problem.svm_losses(e, m.low, m.high, m.curve, 0.0)
    np.testing.assert_allclose(values, [9, 4, 1, 0.25, 0, 0])


def test_hand_over_to_newton(monkeypatch):
    from pansophy.svm import svm_problem

    X, y = linear_classes(150, 40)
    want = LinearSVC(dual=False).fit(X, y)
    monkeypatch.setattr(svm_problem, "NEWTON_SIDE", 5)
    monkeypatch.setattr(svm_problem, "MAX_DUAL_PASSES", 3)
    got = LinearSVC(tol=1e-8).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-7)


def test_tube_losses_are_those_of_losses():
    y = np.array([-1, -0.5, -0.2, 0, 0.5, 0.7, 2])
    zero = np.zeros((7, 1))
    m = svm_problem.regression_problem(
        zero, y, np.ones(7), squared=False, scale=0.0, epsilon=0.5
    )
    values = svm_problem.svm_losses(y, m.low, m.high, m.curve, 0.5)
    np.testing.assert_allclose(values, [0.5, 0, 0, 0, 0, 0.2, 1.5])
    np.testing.assert_allclose(values, epsilon_insensitive(0.5).value(y, zero[:, 0]))
