"""Sequential minimal optimisation of the SVM dual."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.optim import quadratic_program, smo
from pansophy.optim.constraints._smo import optimize_pairs
from pansophy.optim.constraints.smo import (
    RowCache,
    classifier_dual,
    kkt_ends,
    kkt_violation,
    solve_dual,
)
from tests.oracles import svm as oracle

X5 = np.array([-2.0, -1, 1, 2, -1.5])


Y5 = np.array([-1.0, -1, 1, 1, 1])


def machine(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    off = X[:, None] - X[None]
    return np.exp(-0.5 * (off**2).sum(axis=2)), y


@pytest.mark.parametrize(
    ("C", "a", "w", "bias"),
    [
        (1.0, [0.388889, 1, 0.388889, 0, 1], 2 / 3, 1 / 3),
        (10.0, [1.888889, 10, 1.888889, 0, 10], 2 / 3, 1 / 3),
        (0.1, [0.1, 0.1, 0.1, 0, 0.1], 0.25, 0.625),  # any bias from .5 to .75
    ],
)
def test_worked_machine(C, a, w, bias):
    run = smo(np.outer(X5, X5), Y5, C, tol=1e-12)
    np.testing.assert_allclose(run.state.position, a, atol=1e-6)
    assert (run.state.position * Y5) @ X5 == pytest.approx(w)
    assert run.state.bias(Y5, C) == pytest.approx(bias)
    Q = np.outer(X5 * Y5, X5 * Y5)
    same = quadratic_program(Q, -np.ones(5), A=Y5, b=[0.0], lower=0.0, upper=C)
    np.testing.assert_allclose(same.state.position, a, atol=1e-6)
    assert same.objective == pytest.approx(run.objective, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.3, 1.0, 20.0]))
def test_smo_agrees_with_the_general_programme(seed, C):
    K, y = machine(25, seed)
    run = smo(K, y, C, tol=1e-10, working=8, max_iter=2000)
    same = quadratic_program(
        K * np.outer(y, y), -np.ones(25), A=y, b=[0.0], lower=0.0, upper=C
    )
    assert run.converged and same.converged
    assert run.objective == pytest.approx(same.objective, abs=1e-7)
    assert run.objective == pytest.approx(oracle.smo_dual(K, y, run.state.position))
    assert abs(run.state.position @ y) < 1e-9
    assert (np.diff(run.history["objective"]) <= 1e-12).all()


def test_smo_from_rows_on_demand():
    K, y = machine(300, 0)
    seen = []
    rows = lambda i, c: seen.append(len(i) * len(c)) or K[np.ix_(i, c)]
    whole = smo(K, y, 1.0, tol=1e-9, working=32)
    parts = smo(rows, y, 1.0, tol=1e-9, working=32)
    np.testing.assert_allclose(whole.state.position, parts.state.position, atol=1e-7)
    assert sum(seen) <= 300 * 300  # each row once: the cache holds them all
    small = RowCache(lambda i, c: K[np.ix_(i, c)], 300, limit=70 * 300 * 8)
    again = smo(small, y, 1.0, tol=1e-9, working=32)
    np.testing.assert_allclose(whole.state.position, again.state.position, atol=1e-7)
    assert small.buffer.nbytes <= 70 * 300 * 8
    ahead = smo(K, y, 1.0, tol=1e-6, working=32, max_iter=20)
    assert ahead.reason == "max_iter"
    assert ahead.state.steps == 20
    on = smo(K, y, 1.0, tol=1e-6, working=32, start=ahead.state)
    assert on.objective == pytest.approx(whole.objective, abs=1e-6)


def shrunk_run(shrinking, n=900, cache=70):
    """A run whose cache is so small that rows are left out, if they may be."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    off = X[:, None] - X[None]
    K = np.exp(-0.3 * (off**2).sum(axis=2))
    rows = RowCache(lambda i, c: K[np.ix_(i, c)], n, limit=cache * n * 8)
    widths = []
    restrict = rows.restrict
    rows.restrict = lambda kept: widths.append(len(kept)) or restrict(kept)
    problem = classifier_dual(y, np.full(n, 5.0))
    run = solve_dual(problem, rows, working=64, tol=1e-4, shrinking=shrinking)
    return K, problem, run, widths


def test_rows_that_two_variables_share_are_cached_once():
    """Both variables of a row may be in a working set, as those of a regressor are."""
    K = np.random.default_rng(0).normal(size=(20, 20))
    rows = RowCache(lambda i, c: K[np.ix_(i, c)], 20)
    for index in ([3, 3, 5], [5, 7, 7, 3], np.arange(20), [19, 3, 3]):
        slots = rows.slots_of(np.array(index))
        np.testing.assert_array_equal(rows.buffer[slots], K[index])
    assert rows.computed == 20
    assert not rows.evicted


def test_the_gradient_of_all_rows_is_rebuilt_after_shrinking():
    K, problem, run, widths = shrunk_run(True)
    assert widths and min(widths) < 800
    s = run.state
    assert run.reason == "tolerance"
    np.testing.assert_allclose(s.products, K @ s.beta, atol=1e-9)
    ends = kkt_ends(problem.target - K @ s.beta, s.beta, problem)
    assert kkt_violation(ends) <= 1e-4  # on all rows
    _, _, plain, none = shrunk_run(False)
    assert not none
    assert run.objective == pytest.approx(plain.objective, rel=1e-7)
    assert run.objective == pytest.approx(
        0.5 * s.beta @ K @ s.beta - problem.target @ s.beta, rel=1e-10
    )


def test_an_interrupted_run_can_go_on():
    K, y = machine(400, 4)
    calls = []

    def rows(i, c):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return K[np.ix_(i, c)]

    run = smo(rows, y, 10.0, working=64)
    assert run.reason == "interrupted"
    a = run.state.position
    assert abs(a @ y) < 1e-9
    assert (a >= 0).all()
    assert (a <= 10).all()
    on = smo(K, y, 10.0, start=run.state)
    assert on.converged
    assert on.objective == pytest.approx(smo(K, y, 10.0).objective, rel=1e-9)


def test_bias_without_free_vectors_is_the_middle():
    """Six points and a tiny C: every multiplier is at a bound."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 2))
    y = np.array([1.0, 1, 1, -1, -1, -1])
    K = X @ X.T
    run = smo(K, y, 1e-3)
    assert set(run.state.position.round(12)) <= {0.0, 1e-3}
    f = K @ (y * run.state.position)
    loss = lambda b: np.maximum(0, 1 - y * (f + b)).sum()
    b = run.state.bias(y, 1e-3)
    grid = np.linspace(b - 2, b + 2, 4001)
    values = np.array([loss(g) for g in grid])
    best = grid[values <= values.min() + 1e-9]  # any of these is optimal
    assert loss(b) <= values.min() + 1e-9
    assert b == pytest.approx((best[0] + best[-1]) / 2, abs=2e-3)


def test_pair_steps_as_the_slow_loop():
    rng = np.random.default_rng(1)
    for split in (30, 12):
        X = rng.normal(size=(30, 2))
        K = X @ X.T + np.eye(30)
        low = -rng.uniform(size=30)
        high = rng.uniform(size=30)
        score = rng.normal(size=30)
        beta = np.zeros(30)
        slow = oracle.pair_steps(K, low, high, split, beta, score, 7)
        fast_beta = beta.copy()
        fast_score = score.copy()
        n = optimize_pairs(K, low, high, split, fast_beta, fast_score, 1e-9, 7)
        assert n == 7
        np.testing.assert_allclose(fast_beta, slow[0], atol=1e-12)
        np.testing.assert_allclose(fast_score, slow[1], atol=1e-12)


def test_smo_as_scikit_learn():
    from sklearn.svm import SVC

    K, y = machine(300, 1)
    C = np.where(y > 0, 2.0, 0.5)
    run = smo(K, y, C, tol=1e-8)
    theirs = SVC(kernel="precomputed", tol=1e-8, class_weight={1: 2.0, -1: 0.5})
    theirs.fit(K, y)
    f = K @ (run.state.position * y) + run.state.bias(y, C)
    np.testing.assert_allclose(f, theirs.decision_function(K), atol=1e-6)


def test_smo_refuses_other_labels():
    with pytest.raises(ValueError, match=r"\+1 and -1"):
        smo(np.eye(3), [0, 1, 1])


def test_tiny_costs_as_the_programme_of_scipy():
    """Six points, all multipliers at bounds: the dual by SciPy, any bias between."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(5)
    X = rng.normal(size=(6, 2))
    y = np.array([1.0, -1, 1, -1, 1, -1])
    K = X @ X.T
    C = 1e-2
    Q = K * np.outer(y, y)
    found = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.full(6, C / 2),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, C)] * 6,
        constraints={"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y},
        method="SLSQP",
        options={"ftol": 1e-15},
    )
    run = smo(K, y, C, tol=1e-10)
    np.testing.assert_allclose(run.state.position, found.x, atol=1e-8)
    np.testing.assert_allclose(run.state.position, C)  # no free vector
    # y_i (f_i + b) <= 1 where a_i = C: the bias may be anywhere between
    f = K @ (y * run.state.position)
    least = (-1 - f)[y < 0].max()
    most = (1 - f)[y > 0].min()
    assert least < most
    assert run.state.bias(y, C) == pytest.approx((least + most) / 2, abs=1e-9)


def test_a_run_that_no_longer_gets_better_ends_with_its_best_state(monkeypatch):
    """Scores that are noise: no tolerance below them is ever met."""
    module = sys.modules["pansophy.optim.constraints.smo"]
    monkeypatch.setattr(module, "STALL_ITERATIONS", 30)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    K = np.exp(-((X[:, None] - X) ** 2).sum(-1))
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    problem = module.classifier_dual(y, np.full(60, 10.0))
    solver = module.DualSolver(
        problem, module.RowCache(K), tol=1e-3, max_steps=1 << 60, working=None,
        shrinking=False, limit=-np.inf,
    )  # fmt: skip
    exact = solver.state_at
    solver.state_at = lambda *args: exact(*args)._replace(
        violation=exact(*args).violation + 0.5 + 0.1 * rng.random(),
        stalled=False,
    )
    result = solver.run()
    assert result.reason == "max_iter" and result.n_iter < 2000
    # a state replaces the best one if it is better by a hundredth
    assert 0.99 * result.state.violation <= result.history["violation"].min()
