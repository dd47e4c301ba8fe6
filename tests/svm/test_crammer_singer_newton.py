"""Newton for the joint machine: as coordinate descent, high costs."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.losses import multiclass_hinge
from pansophy.svm import LinearSVC, crammer_singer_newton
from tests.svm.samples import linear_classes


def test_joint_by_every_solver(monkeypatch):
    X, y = linear_classes(90, 4, k=3)
    how = {"multi_class": "crammer_singer", "C": 0.3, "max_iter": 10**5}
    want = LinearSVC(**how, tol=1e-9).fit(X, y)
    assert want.dual_gap_[0] < 1e-9
    for rows in (X, sp.csr_matrix(X)):
        for solver, tol in ((True, 1e-9), (False, 1e-9)):
            got = LinearSVC(**how, dual=solver, tol=tol).fit(rows, y)
            np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-6)
        with monkeypatch.context() as m:  # conjugate gradients
            m.setattr(crammer_singer_newton, "MAX_FACTORED", 3)
            got = LinearSVC(**how, dual=False, tol=1e-7).fit(rows, y)
            np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-6)
    for inner in (0, 100):  # steps on few rows, on all
        with monkeypatch.context() as m:
            m.setattr(crammer_singer_newton, "NEAR_ROWS_PER_UNKNOWN", inner)
            got = LinearSVC(**how, tol=1e-9).fit(X, y)
            np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-8)


def test_joint_with_a_high_cost():
    """Where passes over rows would go on for very long."""
    X, y = linear_classes(400, 10, k=5)
    model = LinearSVC(multi_class="crammer_singer", C=10.0, tol=1e-8).fit(X, y)
    F = X @ model.coef_.T + model.intercept_
    size = (model.coef_**2).sum() + (model.intercept_**2).sum()
    value = size / 2 + 10 * multiclass_hinge.value(y, F).sum()
    assert model.dual_gap_[0] <= 1e-10 * value and model.n_iter_ < 100
    assert model.history_["objective"][-1] == pytest.approx(value, rel=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(20):  # no point nearby is lower
        W = model.coef_ + 1e-4 * rng.normal(size=model.coef_.shape)
        b = model.intercept_ + 1e-4 * rng.normal(size=5)
        loss = multiclass_hinge.value(y, X @ W.T + b).sum()
        assert ((W**2).sum() + (b**2).sum()) / 2 + 10 * loss > value
