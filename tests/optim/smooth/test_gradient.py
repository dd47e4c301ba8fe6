"""Gradient descent with its step rules, and the subgradient method."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from pansophy import optim
from pansophy.optim.smooth.gradient import GradientState

valley = lambda x: (float(rosen(x)), rosen_der(x))


X5, y5 = np.array([[0.0, 1], [1, 1], [2, 1]]), np.array([1.0, 3, 5])


LINE = lambda w: (float((X5 @ w - y5) @ (X5 @ w - y5)), 2 * X5.T @ (X5 @ w - y5))


START = np.array([7.0, -3.0])


def test_monotone_below_one_over_l():
    L = 14.324555
    values = []
    for start in (START, np.zeros(2)):
        rule = optim.constant_step(1 / L)
        run = optim.gradient_descent(LINE, start, rule, max_iter=3000)
        assert np.all(np.diff(run.history["objective"]) <= 0)
        np.testing.assert_allclose(run.state.position, [2, 1], atol=1e-5)
        values.append(run.objective)
    assert values[0] == pytest.approx(values[1], abs=1e-9)


def test_normalised_steps_have_one_length():
    path = optim.Trajectory(START)
    rule = optim.normalized_step(0.3)
    optim.gradient_descent(LINE, START, rule, max_iter=12, task=path)
    steps = np.linalg.norm(np.diff(path.positions, axis=0), axis=1)
    np.testing.assert_allclose(steps, 0.3)
    falling = optim.normalized_step(lambda t: 0.5 / (t + 1))
    path = optim.Trajectory(START)
    optim.gradient_descent(LINE, START, falling, max_iter=3, task=path)
    steps = np.linalg.norm(np.diff(path.positions, axis=0), axis=1)
    np.testing.assert_allclose(steps, [0.5, 0.25, 0.5 / 3])


@pytest.mark.parametrize(("a", "b", "x", "hits"), [
    (1, 1, (3, 4), True), (1, 5, (3, 4), False), (1, 5, (0, 4), True)])  # fmt: skip
def test_steepest_line_through_the_origin(a, b, x, hits):
    # one exact step from (x, y) on a x^2 + b y^2 ends at 0 only if a = b or x y = 0
    curve = np.array([a, b], dtype=float)
    f = lambda u: (float(u @ (curve * u)), 2 * curve * u)
    x = np.array(x, dtype=float)
    np.testing.assert_allclose(f(x)[1], [2 * a * x[0], 2 * b * x[1]])
    run = optim.gradient_descent(f, x, optim.exact_line_search(), max_iter=1)
    assert (np.linalg.norm(run.state.position) < 1e-6) == hits


def test_decaying_steps():
    rule = optim.decaying_step(optim.schedules.inverse_time_decay(0.1, 1.0))
    run = optim.gradient_descent(LINE, START, rule, max_iter=3000, tol=1e-3)
    np.testing.assert_allclose(run.state.position, [2, 1], atol=1e-2)
    x = START.copy()
    for t in range(4):
        x = x - 0.05 * 0.9**t * LINE(x)[1]
    rule = optim.decaying_step(optim.schedules.exponential_decay(0.05))
    run = optim.gradient_descent(LINE, START, rule, max_iter=4, tol=0)
    np.testing.assert_allclose(run.state.position, x)


def test_exact_search_makes_gradients_orthogonal():
    w0 = np.zeros(2)
    run = optim.gradient_descent(
        LINE, w0, optim.exact_line_search(0.1), max_iter=1, tol=0
    )
    assert abs(LINE(w0)[1] @ run.state.gradient) < 1e-5
    X, y = np.array([[1.0, 1], [2, 1], [3, 1]]), np.array([1.0, 2, 2])
    g = 2 * X.T @ (X @ w0 - y)
    np.testing.assert_allclose(g, [-22, -10])
    assert g @ g / (2 * (X @ g) @ (X @ g)) == pytest.approx(0.03005352, abs=1e-8)


def test_line_search_rules_never_raise_f(rng):
    for rule in (
        optim.backtracking_search(50.0),
        optim.wolfe_search(3.0),
        optim.bold_driver(1.0),
    ):
        run = optim.gradient_descent(valley, np.array([-1.2, 1.0]), rule, max_iter=400)
        values = np.append(valley(np.array([-1.2, 1.0]))[0], run.history["objective"])
        assert np.all(np.diff(values) <= 1e-12)
    etas = []
    bold = optim.bold_driver(0.2, grow=1.5, shrink=0.5)
    f = lambda x: (float(x @ x), 2 * x)
    state = GradientState(np.array([1.0]), 1.0, np.array([2.0]), 0.2)
    for _ in range(8):
        new = bold.move(f, state)
        fell = new.objective < state.objective
        assert new.eta == pytest.approx(state.eta * (1.5 if fell else 0.5))
        etas.append(fell)
        state = new
    assert True in etas and False in etas


def test_stall_is_not_called_convergence():
    lies = lambda x: (float(x @ x), -2 * x)  # no way down along -g
    for run in (
        optim.gradient_descent(lies, np.ones(2), optim.wolfe_search(), max_iter=50),
        optim.bfgs(lies, np.ones(2), max_iter=50),
        optim.conjugate_gradient(lies, np.ones(2), max_iter=50),
    ):
        assert run.reason == "stalled" and not run.converged and run.n_iter <= 2
        np.testing.assert_allclose(np.abs(run.state.position), 1.0, atol=1e-9)


def test_subgradient_on_kinks(rng):
    f = lambda x: (float(np.sum(np.abs(x))), np.sign(x))
    for _ in range(50):
        x, u = rng.normal(size=3), rng.normal(size=3)
        value, g = f(x)
        assert f(u)[0] >= value + g @ (u - x) - 1e-12
    run = optim.subgradient(f, np.array([1.0, -2.0, 0.5]), 0.7, max_iter=500)
    trace, best = run.history["value"], run.history["objective"]
    assert np.any(np.diff(trace) > 0) and np.all(np.diff(best) <= 0)
    assert run.objective <= trace.min() and run.objective < 0.1
    from pansophy import penalties

    far = lambda x: (float(np.sum(np.abs(x - 3))), np.sign(x - 3))
    held = penalties.ball(1.0)
    run = optim.subgradient(far, np.zeros(2), constraint=held, max_iter=500)
    np.testing.assert_allclose(run.state.position, [0.5**0.5] * 2, atol=0.02)


def test_exact_line_search_number():
    X, y = np.array([[1.0, 1], [2, 1], [3, 1]]), np.array([1.0, 2, 2])
    f = lambda w: (float((X @ w - y) @ (X @ w - y)), 2 * X.T @ (X @ w - y))
    run = optim.gradient_descent(
        f, np.zeros(2), optim.exact_line_search(0.1), max_iter=1, tol=0
    )
    step = -run.state.position / f(np.zeros(2))[1]
    np.testing.assert_allclose(step, 0.03005352, atol=1e-8)


def test_step_rules():
    f = lambda x: (float(x @ x), 2 * x)
    run = optim.gradient_descent(
        f, np.array([3.0, 4.0]), optim.normalized_step(0.5), max_iter=3
    )
    np.testing.assert_allclose(run.state.position, [2.1, 2.8])
    falls = optim.gradient_descent(
        f, np.array([3.0, 4.0]), optim.backtracking_search(100.0)
    )
    assert np.all(np.diff(falls.history["objective"]) <= 0)
    bold = optim.bold_driver(5.0)
    state = optim.gradient_descent(f, np.ones(2), bold, max_iter=1, tol=0).state
    np.testing.assert_array_equal(state.position, [1, 1])  # a rise is undone
    assert state.eta == 2.5
