"""Gradient, conjugate-gradient and quasi-Newton descent, and steps along lines."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import rosen, rosen_der

from pansophy import optim
from pansophy.optim.gradient import State

valley = lambda x: (float(rosen(x)), rosen_der(x))
X5, y5 = np.array([[0.0, 1], [1, 1], [2, 1]]), np.array([1.0, 3, 5])
LINE = lambda w: (float((X5 @ w - y5) @ (X5 @ w - y5)), 2 * X5.T @ (X5 @ w - y5))
START = np.array([7.0, -3.0])


@given(st.integers(0, 10**6), st.floats(1e-4, 1e4))
def test_strong_wolfe_conditions_hold(seed, eta):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=4)
    value, g = valley(x)
    direction = -g + 0.3 * np.linalg.norm(g) * rng.normal(size=4) / 4
    fall = float(g @ direction)
    for c in (0.1, 0.9):
        start = State(x, value, g, 1.0)
        if fall >= 0:
            return
        new = optim.strong_wolfe(valley, start, direction, eta, curvature=c)
        assert new.objective <= value + 1e-4 * new.eta * fall
        assert abs(new.gradient @ direction) <= c * abs(fall) + 1e-12
        np.testing.assert_allclose(new.position, x + new.eta * direction)


def test_strong_wolfe_at_the_edge():
    up = optim.strong_wolfe(valley, State(np.ones(2), *valley(np.ones(2)), 1.0), -START)
    assert up.eta == 0  # at the minimum there is no way down
    wall = lambda x: (
        (float(-np.log(1 - x[0]) - 5 * x[0]), np.array([1 / (1 - x[0]) - 5]))
        if x[0] < 1
        else (np.inf, np.array([np.nan]))
    )
    s = State(np.zeros(1), *wall(np.zeros(1)), 1.0)
    new = optim.strong_wolfe(wall, s, np.ones(1), 100.0, curvature=0.1)
    assert new.position[0] == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("d", [2, 12])
def test_curved_valley(d):
    x = np.tile([-1.2, 1.0], d // 2)
    for run in (
        optim.bfgs(valley, x),
        optim.conjugate_gradient(valley, x, max_iter=5000),
        optim.conjugate_gradient(valley, x, beta="pr", max_iter=5000),
        optim.lbfgs(valley, x),
    ):
        assert run.converged
        assert np.abs(valley(run.state.position)[1]).max() < 1e-4
        np.testing.assert_allclose(run.state.position, np.ones(d), atol=1e-4)
    few = optim.bfgs(valley, np.ones(d))
    assert few.converged and few.n_iter == 0


def test_bfgs_update_keeps_the_secant_equation(rng):
    from pansophy.optim.bfgs import update_inverse_hessian

    A = rng.normal(size=(5, 5))
    A = A @ A.T + np.eye(5)
    B = None
    for _ in range(12):
        s = rng.normal(size=5)
        B = update_inverse_hessian(B, s, A @ s)
        np.testing.assert_allclose(B @ (A @ s), s, atol=1e-9)
        np.testing.assert_allclose(B, B.T)
        assert np.linalg.eigvalsh(B)[0] > 0
    assert (
        update_inverse_hessian(B, s, -s) is B
    )  # a pair that would spoil it is left out


@pytest.mark.parametrize("beta", ["hz", "pr"])
def test_conjugate_gradients_end_in_d_steps(beta, rng):
    for d in (3, 8):
        A = rng.normal(size=(d, d))
        A, b = A @ A.T + np.eye(d), rng.normal(size=d)
        f = lambda x, A=A, b=b: (float(x @ A @ x) / 2 - b @ x, A @ x - b)
        how = {"product": A.__matmul__, "beta": beta, "tol": 1e-8}
        run = optim.conjugate_gradient(f, rng.normal(size=d), **how)
        assert run.converged and run.n_iter <= d
        np.testing.assert_allclose(run.state.position, np.linalg.solve(A, b), atol=1e-7)
    with pytest.raises(ValueError, match="beta"):
        optim.conjugate_gradient(f, np.zeros(d), beta="fr")


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
    state = State(np.array([1.0]), 1.0, np.array([2.0]), 0.2)
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


def test_projections(rng):
    from pansophy import penalties

    ball = penalties.ball(1.0)
    np.testing.assert_allclose(ball.prox(np.array([3.0, 4.0])), [0.6, 0.8])
    np.testing.assert_array_equal(ball.prox(np.array([0.3, 0.4])), [0.3, 0.4])
    plane = penalties.affine(rng.normal(size=(2, 4)), rng.normal(size=2))
    for p in (ball, penalties.box(-1.0, 0.5), penalties.simplex(1.0), plane):
        for _ in range(20):
            x, u = 3 * rng.normal(size=(2, 4))
            a, b = p.prox(x), p.prox(u)
            np.testing.assert_allclose(p.prox(a), a, atol=1e-12)
            assert np.linalg.norm(a - b) <= np.linalg.norm(x - u) + 1e-12
            path = optim.Trajectory()
            goal = lambda w, x=x: (float((w - x) @ (w - x)) / 2, w - x)
            run = optim.projected_gradient(goal, p, u, task=path)
            np.testing.assert_allclose(run.state.position, a, atol=1e-6)
            assert all(p.value(w) == 0 for w in path.positions)
    x, along = rng.normal(size=(2, 3))
    onto = (x @ along) / (along @ along) * along
    assert abs((x - onto) @ along) < 1e-12
