"""The joint multi-class machine: worked numbers, solvers, weights, its gap."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm as peer
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

from pansophy.losses import multiclass_hinge
from pansophy.params import ParameterError
from pansophy.svm import LinearSVC
from tests.oracles import svm as oracle
from tests.svm.samples import linear_classes


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_joint_as_scikit_learn(fit_intercept):
    X, y = linear_classes(120, 5, k=4)
    how = {"multi_class": "crammer_singer", "C": 0.02, "fit_intercept": fit_intercept}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its count of iterations knows no limit
        theirs = peer.LinearSVC(**how, tol=1e-8, random_state=0).fit(X, y)
    for rows in (X, sp.csr_matrix(X)):
        ours = LinearSVC(**how, tol=1e-8).fit(rows, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
        assert ours.dual_gap_[0] < 1e-9
        np.testing.assert_allclose(ours.coef_.sum(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("C", [0.05, 1.0])
def test_joint_weights_are_repetitions(C):
    X, y = linear_classes(80, 4, k=4)
    w = np.random.default_rng(1).integers(0, 4, size=len(y))
    how = {"multi_class": "crammer_singer", "C": C, "tol": 1e-9}
    one = LinearSVC(**how).fit(X, y, sample_weight=w)
    two = LinearSVC(**how).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(one.intercept_, two.intercept_, rtol=1e-6, atol=1e-8)


def test_joint_passes_the_checks_of_scikit_learn():
    check_estimator(LinearSVC(multi_class="crammer_singer"), on_fail="raise")


def test_joint_penalty_is_l2():
    X, y = linear_classes(30, 3, k=3)
    with pytest.raises(ParameterError, match="penalty='l2'"):
        LinearSVC(multi_class="crammer_singer", penalty="l1").fit(X, y)


def test_gap_is_that_of_the_coefficients():
    """Coordinate descent that stops early: P - D of what is handed out."""
    X, y = linear_classes(200, 8, k=3)
    for options in ({}, {"multi_class": "crammer_singer"}):
        how = {"loss": "hinge", "C": 5.0, "random_state": 0} | options
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            rough = LinearSVC(**how, dual=True, max_iter=30).fit(X, y)
        fine = LinearSVC(**how, tol=1e-9).fit(X, y)

        def value(m, joint=bool(options)):
            F = X @ m.coef_.T + m.intercept_
            size = (m.coef_**2).sum() + (m.intercept_**2).sum()
            if joint:
                return size / 2 + 5 * multiclass_hinge.value(y, F).sum()
            sign = np.where(y[:, None] == np.arange(3), 1, -1)
            return size / 2 + 5 * np.maximum(0, 1 - sign * F).sum()

        off = value(rough) - value(fine)
        assert 0 < off <= rough.dual_gap_.sum()
        assert rough.history_["objective"][-1] == pytest.approx(value(rough))


def test_joint_of_two_classes_is_the_binary_machine():
    """P(w1, w2) with w2 = -w1 = v/2 is |v|^2/4 + hinge(v): the binary one at 2 C."""
    X, y = linear_classes(100, 4)
    both = LinearSVC(multi_class="crammer_singer", C=0.2, tol=1e-9).fit(X, y)
    binary = LinearSVC(loss="hinge", C=0.4, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(both.coef_, binary.coef_, atol=1e-8)


def test_joint_projection():
    from pansophy.svm._crammer_singer import project_onto_simplices

    rng = np.random.default_rng(0)
    G, q = rng.normal(size=(2, 30, 5))
    C, rho, p = rng.uniform(0.2, 2, size=30), 0.7, np.empty((30, 5))
    own, psi, off = project_onto_simplices(G, C, q, rho, p)
    np.testing.assert_allclose(p.sum(axis=1), C)
    assert (p >= 0).all()
    for _ in range(50):  # nearest: no other point of the simplex is on that side
        other = C[:, None] * rng.dirichlet(np.ones(5), size=30)
        away = np.sum((q + G / rho - p) * (other - p), axis=1)
        assert (away <= 1e-12).all()
    assert own == pytest.approx(np.sum(p * G)) and off == pytest.approx(
        np.sum((p - q) ** 2)
    )
    assert psi == pytest.approx(C @ G.max(axis=1))


def test_joint_row_step_against_bisection():
    from pansophy.svm._crammer_singer import row_multiplier_change

    rng = np.random.default_rng(0)
    for _ in range(50):
        k, C, q = 5, rng.uniform(0.2, 2), rng.uniform(0.5, 3)
        own = int(rng.integers(k))
        alpha = oracle.simplex_step(np.zeros(k), rng.normal(size=k), own, q, C)
        G = 2 * rng.normal(size=k)
        change = alpha.copy()
        row_multiplier_change(change, G.copy(), own, q, C, np.empty(k))
        want = oracle.simplex_step(alpha, G, own, q, C)
        np.testing.assert_allclose(alpha + change, want, atol=1e-9)
