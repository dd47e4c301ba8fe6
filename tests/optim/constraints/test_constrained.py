"""Constrained minimisation and Newton's method on the Lagrangian."""

import numpy as np
import pytest

from pansophy import optim


def test_worked_lagrange_example():
    f, plane = lambda x: float(x @ x), lambda x: x.sum() - 1
    for start in (np.zeros(2), np.array([5.0, -9.0])):
        run = optim.lagrange_newton(f, start, [plane])
        np.testing.assert_allclose(run.state.position, [0.5, 0.5], atol=1e-7)
        assert run.objective == pytest.approx(0.5)
        assert run.state.prices[0] == pytest.approx(1, abs=1e-7)
        # gradients are parallel: grad f = p grad h
        np.testing.assert_allclose(2 * run.state.position, [1, 1], atol=1e-6)
    slack = optim.lagrange_newton(f, start, [lambda x: x.sum() - 1.001])
    rate = (slack.objective - 0.5) / 0.001
    assert rate == pytest.approx(1, abs=1e-2)  # the multiplier is a price


def test_lagrange_on_curves_and_saddles():
    # the point of the circle lowest along a line; a saddle objective on a line
    run = optim.lagrange_newton(
        lambda x: float(x[0] + x[1]), [1.0, 0.2], [lambda x: x @ x - 2]
    )
    np.testing.assert_allclose(run.state.position, [-1, -1], atol=1e-6)
    run = optim.lagrange_newton(
        lambda x: float(x[0] * x[1]), [2.0, 0.5], [lambda x: x[0] - x[1]]
    )
    np.testing.assert_allclose(run.state.position, [0, 0], atol=1e-6)
    with pytest.raises(ValueError, match="equalities"):
        optim.lagrange_newton(
            lambda x: x @ x, [1.0], [optim.inequality_constraint(lambda x: x)]
        )


P = np.array([[2.0, 2], [3, 3], [0, 0], [1, 0]])


S = np.array([1.0, 1, -1, -1])


A = -np.c_[P * S[:, None], S]


WIDTH = lambda w: float(w[:2] @ w[:2]) / 2


DOWN = lambda w: np.array([w[0], w[1], 0.0])


MARGIN = optim.inequality_constraint(lambda w: 1 + A @ w, lambda w: A)


@pytest.mark.parametrize("method", ["slsqp", "trust-constr"])
def test_hard_margin_primal_equals_dual(method):
    run = optim.constrained(WIDTH, np.zeros(3), [MARGIN], gradient=DOWN, method=method)
    assert run.converged
    np.testing.assert_allclose(run.state.position, [0.4, 0.8, -1.4], atol=1e-8)
    np.testing.assert_allclose(run.state.prices[1], [0.4, 0, 0, 0.4], atol=1e-7)
    assert run.objective == pytest.approx(0.4, abs=1e-9)
    assert run.state.kkt.worst < 1e-8
    q = optim.dual_function(WIDTH, [MARGIN], np.zeros(3), gradient=DOWN)
    assert q(a=run.state.prices[1].round(9)) == pytest.approx(0.4, abs=1e-8)


def test_unconstrained_optimum_returned_when_feasible():
    f = lambda x: float((x - 1) @ (x - 1))
    run = optim.constrained(
        f, np.zeros(2), [optim.inequality_constraint(lambda x: x @ x - 9)]
    )
    np.testing.assert_allclose(run.state.position, [1, 1], atol=1e-7)
    np.testing.assert_allclose(run.state.prices[1], [0], atol=1e-7)


def test_bounds_equalities_and_inequalities_together():
    f = lambda x: float((x[0] - 3) ** 2 + (x[1] - 2) ** 2 + (x[2] + 1) ** 2)
    rules = [
        optim.equality_constraint(lambda x: x.sum() - 2),
        optim.inequality_constraint(lambda x: x[0] - 1.5),
    ]
    run = optim.minimize(f, np.zeros(3), constraints=rules, bounds=(0, None))
    np.testing.assert_allclose(run.state.position, [1.5, 0.5, 0], atol=1e-7)
    assert run.converged and run.state.kkt.worst < 1e-8
    p, a = run.state.prices
    assert p[0] == pytest.approx(-3, abs=1e-6) and np.all(a >= 0)
    assert "stationarity" in str(run.state.kkt)


def test_infeasible_is_not_called_convergence():
    rules = [
        optim.equality_constraint(lambda x: x[0] - 1),
        optim.equality_constraint(lambda x: x[0] - 2),
    ]
    run = optim.constrained(lambda x: float(x @ x), [0.0], rules)
    assert not run.converged and run.state.kkt.feasibility > 0.1
    with pytest.raises(ValueError, match="method"):
        optim.constrained(lambda x: float(x @ x), [0.0], rules, method="other")
