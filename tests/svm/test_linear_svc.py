"""Linear support vector classifiers: worked numbers, KKT, scikit-learn, edges."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn import svm as peer
from sklearn.exceptions import ConvergenceWarning

from pansophy.params import ParameterError
from pansophy.svm import (
    LinearSVC,
    dual_coordinate_descent,
    l1_proximal_newton,
    primal_newton,
    svm_problem,
)
from tests.oracles import svm as oracle


def problem(n=200, d=8, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.3
    scores = X @ rng.normal(size=(d, k)) + rng.gumbel(size=(n, k))
    return X, np.argmax(scores, axis=1)


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
    X, y = problem(k=k)
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
    X, y = problem(*shape)
    exact = LinearSVC(loss=loss, dual=False, tol=1e-9).fit(X, y)
    assert exact.dual_gap_[0] < 1e-9
    by_rows = LinearSVC(loss=loss, dual=True, tol=1e-9, max_iter=50_000).fit(X, y)
    np.testing.assert_allclose(by_rows.coef_, exact.coef_, atol=1e-6)
    sparse = LinearSVC(loss=loss, dual=True, tol=1e-9, max_iter=50_000)
    sparse.fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, exact.coef_, atol=1e-6)


def test_newton_by_conjugate_gradients(monkeypatch):
    X, y = problem(150, 40)
    for loss in ("hinge", "squared_hinge"):
        want = LinearSVC(loss=loss, dual=False).fit(X, y)
        with monkeypatch.context() as m:
            m.setattr(primal_newton, "MAX_FACTORED", 5)
            got = LinearSVC(loss=loss, dual=False, tol=1e-6).fit(sp.csr_array(X), y)
        np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-5)


def test_hand_over_to_newton(monkeypatch):
    from pansophy.svm import svm_problem

    X, y = problem(150, 40)
    want = LinearSVC(dual=False).fit(X, y)
    monkeypatch.setattr(svm_problem, "NEWTON_SIDE", 5)
    monkeypatch.setattr(svm_problem, "MAX_DUAL_PASSES", 3)
    got = LinearSVC(tol=1e-8).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-7)


def test_optimality_conditions():
    """w = A^T beta, and each beta at the end its margin calls for."""
    X, y = problem(400, 6)
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
    X, y = problem(3000, 5)
    fast = LinearSVC(loss="hinge", C=0.1).fit(X, y)
    monkeypatch.setattr(primal_newton, "ROWS_PER_COLUMN", 10**6)
    plain = LinearSVC(loss="hinge", C=0.1).fit(X, y)
    np.testing.assert_allclose(fast.coef_, plain.coef_, rtol=1e-6)


@pytest.mark.parametrize("eps", [0.0, 0.2])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_coordinate_loops_against_the_oracle(eps, squared, sparse):
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(25, 4)), rng.normal(size=25)
    X[3] = 0.0
    rows = sp.csr_array(X) if sparse else X
    C = rng.uniform(0.5, 2, size=25)
    m = svm_problem.regression_problem(
        rows, t, C, squared=squared, scale=1.5, epsilon=eps
    )
    table, (epochs, arrays) = (
        dual_coordinate_descent.row_table(m),
        dual_coordinate_descent.loop_and_rows(m),
    )
    beta, w = np.zeros(25), np.zeros(5)
    order = np.arange(25)
    for _ in range(3):
        want = beta.copy()
        active, seed = np.arange(25), np.array([7], dtype=np.uint64)
        epochs(
            *(*arrays, 1.5, eps, table, w, active, 25, np.full(2, np.inf), seed),
            *(0.0, 1),
        )
        order = active
        parts = [a[order] for a in (t, m.low, m.high, m.curve)]
        want[order] = oracle.coordinate_pass(X[order], 1.5, *parts, eps, beta[order])
        beta = table[:, 5].copy()
        np.testing.assert_allclose(beta, want, atol=1e-12)


def test_l1_as_scikit_learn_and_its_zeros():
    X, y = problem(200, 12, k=3)
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
    X, y = problem(150, 30)
    want = LinearSVC(penalty="l1", C=0.1, tol=1e-9).fit(X, y)
    monkeypatch.setattr(l1_proximal_newton, "GRAM_COLUMNS", 3)
    got = LinearSVC(penalty="l1", C=0.1, tol=1e-9).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-7)


@pytest.mark.parametrize("shape", [(300, 10), (200, 700)])
def test_l1_gap_is_tight(shape):
    X, y = problem(*shape)
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


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["hinge", "squared_hinge"]))
def test_weights_are_repetitions(seed, loss):
    X, y = problem(40, 3, seed=seed)
    w = np.random.default_rng(seed).integers(0, 4, size=len(y))
    if len(np.unique(y[w > 0])) < 2:
        return
    one = LinearSVC(loss=loss).fit(X, y, sample_weight=w)
    two = LinearSVC(loss=loss).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-6, atol=1e-8)


def test_seed_threads_and_labels():
    X, y = problem(120, 6, k=3)
    fit = lambda labels: LinearSVC(dual=True, random_state=3, loss="hinge", C=0.1).fit(
        X, labels
    )
    a, b = fit(y), fit(y)
    assert (a.coef_ == b.coef_).all()
    named = fit(np.array(["a", "b", "c"])[y])
    assert (named.coef_ == a.coef_).all()
    assert (named.predict(X) == np.array(["a", "b", "c"])[a.predict(X)]).all()


def test_float32_and_torch():
    X, y = problem(200, 6)
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
    X, y = problem(30, 3)
    with pytest.raises(ParameterError, match="squared_hinge"):
        LinearSVC(penalty="l1", loss="hinge").fit(X, y)
    with pytest.raises(ParameterError, match="intercept_scaling"):
        LinearSVC(intercept_scaling=0.0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        LinearSVC(dual=True, max_iter=1, C=100.0).fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        LinearSVC().fit(X, np.zeros(30))
