"""Linear support vector classifiers: worked numbers, KKT, scikit-learn, edges."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import svm as peer
from sklearn.exceptions import ConvergenceWarning

from pansophy.params import ParameterError
from pansophy.svm import (
    LinearSVC,
)
from tests.svm.samples import linear_classes


def test_intercept_in_the_norm():
    """Four points, hard margin with the bias penalised: (0, 1), bias -1, value 1."""
    X, y = np.array([[2.0, 2], [3, 3], [0, 0], [1, 0]]), [1, 1, 0, 0]
    for how in (True, False):
        model = LinearSVC(loss="hinge", C=10.0, dual=how, tol=1e-7, max_iter=100_000)
        model.fit(X, y)
        np.testing.assert_allclose(model.coef_, [[0, 1]], atol=1e-6)
        np.testing.assert_allclose(model.intercept_, [-1], atol=1e-6)


def test_free_intercept_by_scaling():
    """x=-2,-1,1,2,-1.5, t=-,-,+,+,+, C=1: w=2/3, w0=1/3, slacks (0,2/3,0,0,5/3)."""
    X, y = np.array([[-2.0], [-1], [1], [2], [-1.5]]), np.array([-1, -1, 1, 1, 1])
    model = LinearSVC(loss="hinge", intercept_scaling=1e4, tol=1e-9).fit(X, y)
    f = model.decision_function(X)
    np.testing.assert_allclose(model.coef_, [[2 / 3]], atol=1e-6)
    np.testing.assert_allclose(model.intercept_, [1 / 3], atol=1e-6)
    slacks = np.maximum(0, 1 - y * f)
    np.testing.assert_allclose(slacks, [0, 2 / 3, 0, 0, 5 / 3], atol=1e-6)
    assert ((slacks > 1) == (y * f < 0)).all()


def test_soft_margin_worked_set():
    """With (2.5, 2)- and lambda .1: theta (-1/6, 5/6), bias -1, value .41944444."""
    X = np.array([[2.0, 2], [3, 3], [0, 0], [1, 0], [2.5, 2]])
    y = np.array([1, 1, -1, -1, -1])
    model = LinearSVC(loss="hinge", C=2.0, intercept_scaling=1e4, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, [[-1 / 6, 5 / 6]], atol=1e-6)
    np.testing.assert_allclose(model.intercept_, [-1], atol=1e-6)
    slacks = np.maximum(0, 1 - y * model.decision_function(X))
    np.testing.assert_allclose(slacks, [2 / 3, 0, 0, 0, 1.25], atol=1e-6)
    w = model.coef_[0]
    assert 0.1 * (w @ w) / 2 + slacks.mean() == pytest.approx(0.41944444, abs=1e-7)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 1: 0.5}])
def test_as_scikit_learn(k, loss, class_weight):
    X, y = linear_classes(k=k)
    w = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float)
    how = {"loss": loss, "C": 0.5, "class_weight": class_weight}
    how |= {"intercept_scaling": 2.0, "random_state": 0}
    theirs = peer.LinearSVC(**how, dual=True, tol=1e-9, max_iter=200_000)
    theirs.fit(X, y, sample_weight=w)
    for rows in (X, sp.csr_matrix(X)):
        for solver in (True, False, "auto"):
            ours = LinearSVC(**how, dual=solver, tol=1e-8, max_iter=50_000)
            ours.fit(rows, y, sample_weight=w)
            np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-5)
            np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-5)
            assert ours.dual_gap_.shape == (1 if k == 2 else k,)
            assert (ours.dual_gap_ < 1e-4).all()


@pytest.mark.parametrize("shape", [(300, 5), (30, 200)])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_every_solver_reaches_the_optimum(shape, loss):
    X, y = linear_classes(*shape)
    exact = LinearSVC(loss=loss, dual=False, tol=1e-9).fit(X, y)
    assert exact.dual_gap_[0] < 1e-9
    by_rows = LinearSVC(loss=loss, dual=True, tol=1e-9, max_iter=50_000).fit(X, y)
    np.testing.assert_allclose(by_rows.coef_, exact.coef_, atol=1e-6)
    sparse = LinearSVC(loss=loss, dual=True, tol=1e-9, max_iter=50_000)
    sparse.fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, exact.coef_, atol=1e-6)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["hinge", "squared_hinge"]))
def test_weights_are_repetitions(seed, loss):
    X, y = linear_classes(40, 3, seed=seed)
    w = np.random.default_rng(seed).integers(0, 4, size=len(y))
    if len(np.unique(y[w > 0])) < 2:
        return
    one = LinearSVC(loss=loss).fit(X, y, sample_weight=w)
    two = LinearSVC(loss=loss).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-6, atol=1e-8)


def test_seed_threads_and_labels():
    X, y = linear_classes(120, 6, k=3)
    fit = lambda labels: LinearSVC(dual=True, random_state=3, loss="hinge", C=0.1).fit(
        X, labels
    )
    a, b = fit(y), fit(y)
    assert (a.coef_ == b.coef_).all()
    named = fit(np.array(["a", "b", "c"])[y])
    assert (named.coef_ == a.coef_).all()
    assert (named.predict(X) == np.array(["a", "b", "c"])[a.predict(X)]).all()


def test_float32_and_torch():
    X, y = linear_classes(200, 6)
    for loss in ("hinge", "squared_hinge"):
        want = LinearSVC(loss=loss).fit(X, y)
        got = LinearSVC(loss=loss).fit(X.astype(np.float32), y)
        assert got.coef_.dtype == np.float32
        np.testing.assert_allclose(got.coef_, want.coef_, atol=2e-3)
    torch = pytest.importorskip("torch")
    for loss in ("hinge", "squared_hinge"):
        want = LinearSVC(loss=loss).fit(X, y)
        got = LinearSVC(loss=loss).fit(torch.asarray(X), torch.asarray(y))
        np.testing.assert_allclose(got.coef_.numpy(), want.coef_, atol=1e-6)
    with pytest.raises(ValueError, match="dual=True"):
        LinearSVC(dual=True).fit(torch.asarray(X), torch.asarray(y))


def test_refusals():
    X, y = linear_classes(30, 3)
    with pytest.raises(ParameterError, match="squared_hinge"):
        LinearSVC(penalty="l1", dual=True).fit(X, y)
    with pytest.raises(ParameterError, match="intercept_scaling"):
        LinearSVC(intercept_scaling=0.0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        LinearSVC(dual=True, max_iter=1, C=100.0).fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        LinearSVC().fit(X, np.zeros(30))
