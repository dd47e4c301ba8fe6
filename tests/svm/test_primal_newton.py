"""Primal Newton: optimality, conjugate gradients, a start on fewer rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.svm import LinearSVC, primal_newton, svm_problem
from tests.oracles import svm as oracle
from tests.svm.samples import linear_classes


def test_newton_by_conjugate_gradients(monkeypatch):
    X, y = linear_classes(150, 40)
    for loss in ("hinge", "squared_hinge"):
        want = LinearSVC(loss=loss, dual=False).fit(X, y)
        with monkeypatch.context() as m:
            m.setattr(primal_newton, "MAX_FACTORED", 5)
            got = LinearSVC(loss=loss, dual=False, tol=1e-6).fit(sp.csr_array(X), y)
        np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-5)


def test_optimality_conditions():
    """w = A^T beta, and each beta at the end its margin calls for."""
    X, y = linear_classes(400, 6)
    sign = np.where(y == 1, 1.0, -1.0)
    m = svm_problem.classification_problem(
        X, sign, np.full(400, 0.3), squared=False, scale=1.0
    )
    run = primal_newton.minimise_primal(m, tol=1e-10)
    s = run.state
    beta, A = s.multipliers, np.column_stack([X, np.ones(400)])
    np.testing.assert_allclose(A.T @ beta, s.best, atol=1e-8)
    margin, alpha = sign * (A @ s.best), sign * beta
    assert (alpha >= 0).all() and (alpha <= 0.3).all()
    assert (margin[alpha == 0] >= 1 - 1e-8).all()
    assert (margin[alpha == 0.3] <= 1 + 1e-8).all()
    free = (alpha > 1e-9) & (alpha < 0.3 - 1e-9)
    assert 0 < free.sum() <= 7
    np.testing.assert_allclose(margin[free], 1, atol=1e-7)
    value = oracle.objective(X, sign, s.best[:-1], s.best[-1], np.full(400, 0.3))
    assert value == pytest.approx(s.objective, rel=1e-12)


def test_start_on_fewer_rows_changes_nothing(monkeypatch):
    X, y = linear_classes(3000, 5)
    fast = LinearSVC(loss="hinge", C=0.1).fit(X, y)
    monkeypatch.setattr(primal_newton, "ROWS_PER_COLUMN", 10**6)
    plain = LinearSVC(loss="hinge", C=0.1).fit(X, y)
    np.testing.assert_allclose(fast.coef_, plain.coef_, rtol=1e-6)
