"""Asymmetric least-squares machines: the two functions, a symmetric kernel, graphs."""

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning

from pansophy import kernels
from pansophy.kernel_model import AsymmetricLSSVM, LSSVMClassifier
from pansophy.kernels import RBF

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
SIGNS = np.array([-1, 1, 1, -1])


def test_asymmetric_with_a_symmetric_kernel_is_ls_svm():
    model = AsymmetricLSSVM(C=10.0, gamma=1.0).fit(XOR, SIGNS)
    for coefficients in (model.alpha_, model.beta_):
        np.testing.assert_allclose(coefficients[:, 0], 2.001696, rtol=0, atol=5e-7)
    np.testing.assert_allclose(
        model.decision_function(XOR), 0.79983 * SIGNS, rtol=0, atol=5e-7
    )


def test_transposing_swaps_the_two_functions(rng):
    X = rng.standard_normal((30, 2))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(30) > 0, 1, 0)
    k = kernels.Asymmetric(RBF(), X)
    one = AsymmetricLSSVM(C=2.0, kernel=k).fit(X, y)
    other = AsymmetricLSSVM(C=2.0, kernel=lambda A, B: k(B, A).T).fit(X, y)
    q = rng.standard_normal((5, 2))
    np.testing.assert_allclose(one.source_function(q), other.target_function(q))
    np.testing.assert_allclose(one.target_function(q), other.source_function(q))
    assert np.abs(one.source_function(q) - one.target_function(q)).max() > 1e-3
    given = AsymmetricLSSVM(C=2.0, kernel="precomputed").fit(k(X), y)
    np.testing.assert_allclose(
        given.decision_function(k(q, X)), one.source_function(q)[:, 0]
    )


def test_the_conditions_of_the_asymmetric_system(rng):
    X = rng.standard_normal((25, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    k = kernels.Asymmetric(RBF(), X)
    w = rng.integers(0, 3, 25).astype(float)
    model = AsymmetricLSSVM(C=2.0, kernel=k).fit(X, y, sample_weight=w)
    e = 1 - y * model.source_function(X)[:, 0]
    h = 1 - y * model.target_function(X)[:, 0]
    np.testing.assert_allclose(model.alpha_[:, 0], 2 * w * e, atol=1e-10)
    np.testing.assert_allclose(model.beta_[:, 0], 2 * w * h, atol=1e-10)
    assert y @ model.alpha_[:, 0] == pytest.approx(0, abs=1e-9)
    assert y @ model.beta_[:, 0] == pytest.approx(0, abs=1e-9)


def test_directed_graph_nodes_are_classified():
    n = 12  # two rings of nodes, each pointing to the next within its ring
    step = np.kron(np.eye(2), np.roll(np.eye(6), 1, axis=1))
    A = np.linalg.inv(np.eye(n) - 0.8 * step)  # discounted walks from i to j
    nodes, y = np.arange(n)[:, None], np.arange(n) // 6
    hidden = [2, 3, 8, 9]
    train = np.setdiff1d(np.arange(n), hidden)
    model = AsymmetricLSSVM(C=10.0, kernel=kernels.Asymmetric(A)).fit(
        nodes[train], y[train]
    )
    assert (model.predict(nodes[hidden]) == y[hidden]).all()


def test_a_singular_asymmetric_system():
    """H = I and C = 1: the shortest solution has alpha = beta, as LS-SVM has."""
    X = 100.0 * np.arange(4.0)[:, None]
    with pytest.warns(LinAlgWarning, match="singular to rounding"):
        model = AsymmetricLSSVM(C=1.0, gamma=1.0).fit(X, SIGNS)
    twin = LSSVMClassifier(C=1.0, gamma=1.0).fit(X, SIGNS)
    np.testing.assert_allclose(model.alpha_[:, 0], twin.alpha_.ravel(), atol=1e-10)
    np.testing.assert_allclose(model.beta_, model.alpha_, atol=1e-10)
    tiny = AsymmetricLSSVM(C=1e-12, gamma=1.0).fit(X, SIGNS)  # no warning: scaled
    np.testing.assert_allclose(tiny.alpha_[:, 0], 1e-12, rtol=1e-6)
