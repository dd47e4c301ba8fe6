"""L1-penalised machines: scikit-learn, many columns, the gap, a linear programme."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn import svm as peer

from pansophy.svm import LinearSVC, l1_proximal_newton
from tests.svm.samples import linear_classes


def test_l1_as_scikit_learn_and_its_zeros():
    X, y = linear_classes(200, 12, k=3)
    theirs = peer.LinearSVC(penalty="l1", C=0.05, dual=False, tol=1e-9, max_iter=10**6)
    theirs.set_params(random_state=0).fit(X, y)
    for rows in (X, sp.csr_matrix(X)):
        ours = LinearSVC(penalty="l1", C=0.05, tol=1e-9).fit(rows, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
        assert ((ours.coef_ == 0) == (theirs.coef_ == 0)).all()
        assert (ours.dual_gap_ < 1e-4).all()
    none = LinearSVC(penalty="l1", C=1e-5).fit(X, y)
    assert (none.coef_ == 0).all()


def test_l1_on_many_columns(monkeypatch):
    X, y = linear_classes(150, 30)
    want = LinearSVC(penalty="l1", C=0.1, tol=1e-9).fit(X, y)
    monkeypatch.setattr(l1_proximal_newton, "GRAM_COLUMNS", 3)
    got = LinearSVC(penalty="l1", C=0.1, tol=1e-9).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-7)


@pytest.mark.parametrize("shape", [(300, 10), (200, 700)])
def test_l1_gap_is_tight(shape):
    X, y = linear_classes(*shape)
    model = LinearSVC(penalty="l1", C=0.1).fit(X, y)
    fine = LinearSVC(penalty="l1", C=0.1, tol=1e-9).fit(X, y)
    at = lambda m: m.history_["objective"][-1]
    assert at(model) - at(fine) <= model.dual_gap_[0] <= 1e-4 * at(fine)
    assert 0 <= fine.dual_gap_[0] <= 1e-9 * at(fine)


def test_l1_limit_is_a_linear_programme():
    """With a cost that nothing can beat, the least |w|_1 that separates: an LP."""
    X = np.array([[2.0, 2, 1], [3, 3, 0], [0, 0, 1], [1, 0, 0]])
    y = np.array([1, 1, -1, -1.0])
    A = y[:, None] * np.column_stack([X, np.ones(4)])
    best = linprog(np.ones(8), A_ub=-np.hstack([A, -A]), b_ub=-np.ones(4)).fun
    model = LinearSVC(penalty="l1", C=1e4, tol=1e-8).fit(X, y)
    size = np.abs(model.coef_).sum() + abs(model.intercept_[0])
    assert size == pytest.approx(best, rel=5e-5)
