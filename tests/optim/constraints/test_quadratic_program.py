"""Quadratic programmes by the interior-point method."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.optim import quadratic_program, smo


def test_hard_margin():
    """Primal = dual = .4 with theta (.4, .8), bias -1.4, prices (.4, 0, 0, .4)."""
    X, y = np.array([[2.0, 2], [3, 3], [0, 0], [1, 0]]), np.array([1.0, 1, -1, -1])
    G = -y[:, None] * np.column_stack([X, np.ones(4)])
    run = quadratic_program(np.diag([1.0, 1, 0]), np.zeros(3), G=G, h=-np.ones(4))
    np.testing.assert_allclose(run.state.position, [0.4, 0.8, -1.4], atol=1e-9)
    np.testing.assert_allclose(run.state.inequality, [0.4, 0, 0, 0.4], atol=1e-9)
    assert run.objective == pytest.approx(0.4)
    dual = smo(X @ X.T, y, 1e6, tol=1e-12)
    assert -dual.objective == pytest.approx(0.4)
    np.testing.assert_allclose(dual.state.position, [0.4, 0, 0, 0.4], atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_programme_meets_its_conditions(seed):
    rng = np.random.default_rng(seed)
    n = 6
    B = rng.normal(size=(int(rng.integers(2, 8)), n))
    P, q = B.T @ B, rng.normal(size=n)
    G, h = rng.normal(size=(4, n)), np.abs(rng.normal(size=4))
    A, b = rng.normal(size=(1, n)), np.zeros(1)
    run = quadratic_program(P, q, A=A, b=b, G=G, h=h, lower=-3.0, upper=3.0)
    s = run.state
    assert run.converged
    slope = P @ s.position + q - A.T @ s.equality + G.T @ s.inequality
    np.testing.assert_allclose(slope - s.lower + s.upper, 0, atol=1e-7)
    assert np.abs(A @ s.position).max() < 1e-8
    assert (h - G @ s.position).min() > -1e-8 and np.abs(s.position).max() < 3 + 1e-8
    assert min(v.min() for v in (s.inequality, s.lower, s.upper)) >= -1e-12
    assert abs(s.inequality @ (h - G @ s.position)) < 1e-6


def test_programme_without_constraints_and_equality_only():
    P, q = np.array([[2.0, 0], [0, 4]]), np.array([-2.0, -4])
    np.testing.assert_allclose(quadratic_program(P, q).state.position, [1, 1])
    run = quadratic_program(P, q, A=[[1.0, 1.0]], b=[1.0])
    np.testing.assert_allclose(run.state.position, [1 / 3, 2 / 3])
    step = quadratic_program(P, q, A=[[1.0, 1.0]], b=[1.001])
    assert run.state.equality[0] == pytest.approx(
        (step.objective - run.objective) / 0.001, abs=1e-2
    )


def test_programme_refusals():
    with pytest.raises(ValueError, match="go together"):
        quadratic_program(np.eye(2), [0.0, 0.0], A=[[1.0, 1.0]])
    with pytest.raises(ValueError, match="shape"):
        quadratic_program(np.eye(3), [0.0, 0.0])
    with pytest.raises(ValueError, match="symmetric"):
        quadratic_program([[1.0, 1.0], [0.0, 1.0]], [0.0, 0.0])
    with pytest.raises(ValueError, match="lower exceeds upper"):
        quadratic_program(np.eye(2), [0.0, 0.0], lower=1.0, upper=[2.0, 0.0])
    stuck = quadratic_program(np.eye(1), [0.0], G=[[1.0], [-1.0]], h=[-1.0, -1.0])
    assert not stuck.converged
