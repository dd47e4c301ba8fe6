"""L1-penalised machines with the hinge loss: an independent program, weights, zeros."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from pansophy.svm import LinearSVC
from tests.oracles import svm as oracle
from tests.svm.samples import linear_classes


def l1_hinge_optimum(X, y, C):
    """The least |w|_1 + |b| + C^T slacks, with bounds t >= |w| as rows of their own."""
    n, d = X.shape
    A = y[:, None] * np.column_stack([X, np.ones(n)])
    d = d + 1
    eye, none = np.eye(d), np.zeros((d, n))
    rows = np.block(
        [[-A, np.zeros((n, d)), -np.eye(n)], [eye, -eye, none], [-eye, -eye, none]]
    )
    free = [(None, None)] * (2 * d) + [(0, None)] * n
    costs = np.concatenate([np.zeros(d), np.ones(d), C])
    limits = np.append(-np.ones(n), np.zeros(2 * d))
    return linprog(costs, A_ub=rows, b_ub=limits, bounds=free, method="highs-ipm").fun


@pytest.mark.parametrize("shape", [(120, 4), (40, 60)])
@pytest.mark.parametrize("C", [0.01, 0.3, 20.0])
def test_both_programs_reach_the_optimum(shape, C):
    X, y = linear_classes(*shape)
    signs = np.where(y == 1, 1.0, -1.0)
    costs = np.full(len(y), C)
    best = l1_hinge_optimum(X, signs, costs)
    for dual in (True, False, "auto"):
        for rows in (X, sp.csr_matrix(X)):
            model = LinearSVC("l1", loss="hinge", C=C, dual=dual).fit(rows, y)
            value = oracle.objective(
                X, signs, model.coef_[0], model.intercept_[0], costs, l1=True
            )
            assert value == pytest.approx(best, rel=1e-7)
            assert model.history_["objective"][-1] == pytest.approx(value)
            assert 0 <= model.dual_gap_[0] <= 1e-7 * best


def test_worked_set():
    """(2, 0), (0, 2) and their negatives: w = (1/2, 1/2), no slack, |w|_1 = 1."""
    X = np.array([[2.0, 0], [0, 2], [-2, 0], [0, -2]])
    model = LinearSVC("l1", loss="hinge", fit_intercept=False).fit(X, [1, 1, 0, 0])
    np.testing.assert_allclose(model.coef_, [[0.5, 0.5]], atol=1e-12)
    assert model.history_["objective"][-1] == pytest.approx(1)
    assert model.intercept_ == 0


def test_all_coefficients_are_zero_up_to_the_least_cost_that_pays():
    """Equal classes: w = 0 exactly while C max_j |sum_i y_i x_ij| is at most 1."""
    X, y = linear_classes(60, 5)
    X, y = np.vstack([X, X[::-1]]), np.append(y, 1 - y[::-1])
    X[60:] *= 0.5  # the classes have equal numbers of rows: the intercept has slope 0
    pays = 1 / np.abs(np.where(y == 1, 1, -1) @ X).max()
    below = LinearSVC("l1", loss="hinge", C=0.999 * pays).fit(X, y)
    assert (below.coef_ == 0).all() and (below.intercept_ == 0).all()
    above = LinearSVC("l1", loss="hinge", C=1.001 * pays).fit(X, y)
    assert (above.coef_ != 0).sum() == 1


def test_weights_are_repetitions_and_classes_one_against_rest():
    rng = np.random.default_rng(0)
    X, y = linear_classes(60, 4, k=3)
    w = rng.integers(0, 4, 60)
    options = {"loss": "hinge", "C": 0.3}
    weighted = LinearSVC("l1", **options).fit(X, y, sample_weight=w)
    repeated = LinearSVC("l1", **options).fit(np.repeat(X, w, 0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-9)
    for c in range(3):
        one = LinearSVC("l1", **options).fit(X, y == c, sample_weight=w)
        np.testing.assert_allclose(one.coef_[0], weighted.coef_[c], atol=1e-9)


def test_few_pivots_warn_and_leave_a_true_gap():
    X, y = linear_classes(200, 20, seed=1)
    y = np.where(np.random.default_rng(1).random(200) < 0.3, 1 - y, y)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = LinearSVC("l1", loss="hinge", dual=False, max_iter=1).fit(X, y)
    best = l1_hinge_optimum(X, np.where(y == 1, 1.0, -1.0), np.ones(200))
    assert model.history_["objective"][-1] - best <= model.dual_gap_[0] * (1 + 1e-9)
