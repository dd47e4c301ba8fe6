"""Newton's method: a quadratic at once, indefinite curvature, truncated steps."""

import numpy as np
import pytest

from pansophy import optim
from pansophy.core.linalg.linalg import NotPositiveDefiniteError
from pansophy.optim.smooth.newton import conjugate_steps


def test_newton_solves_a_quadratic_at_once():
    A, b = np.array([[0.0, 1], [1, 1], [2, 1]]), np.array([1.0, 3, 5])
    f = lambda w: (float((A @ w - b) @ (A @ w - b)), 2 * A.T @ (A @ w - b))
    run = optim.newton(f, lambda w: 2 * A.T @ A, np.array([7.0, -3.0]))
    np.testing.assert_allclose(run.state.position, [2, 1], atol=1e-12)
    assert run.n_iter == 1
    same = optim.newton(f, np.array([7.0, -3.0]), lambda w: 2 * A.T @ A)
    np.testing.assert_array_equal(same.state.position, run.state.position)
    product = lambda w: (2 * A.T @ A).__matmul__
    by_cg = [
        optim.newton_cg(f, *order).state.position
        for order in ((product, np.ones(2)), (np.ones(2), product))
    ]
    np.testing.assert_array_equal(*by_cg)
    start = np.array([7.0, -3.0])
    below = optim.gradient_descent(f, start, optim.constant_step(0.1390), max_iter=5000)
    assert below.converged
    above = optim.gradient_descent(f, start, optim.constant_step(0.1402), max_iter=300)
    assert above.objective > f(start)[0]
    for singular in (-np.eye(2), np.zeros((2, 2))):
        with pytest.raises(NotPositiveDefiniteError, match="positive"):
            optim.newton(f, lambda w, H=singular: H, start)


def test_truncated_steps_of_a_quadratic(rng):
    A = rng.normal(size=(6, 6))
    H, g = A @ A.T + np.eye(6), rng.normal(size=6)
    exact = -np.linalg.solve(H, g)
    z = conjugate_steps(H.__matmul__, g, lambda r: np.linalg.solve(H, r))
    np.testing.assert_allclose(z, exact)  # a perfect preconditioner needs one step
    z = conjugate_steps(H.__matmul__, g, lambda r: r)
    model = lambda z: g @ z + z @ H @ z / 2
    assert model(z) < 0.9 * model(exact) < 0


def test_negative_curvature_falls_back_to_the_gradient():
    g = np.array([1.0, 2.0])
    np.testing.assert_array_equal(conjugate_steps(lambda v: -v, g, lambda r: r), -g)


def test_a_kept_factor_reaches_the_same_point(rng):
    """exp(x) + exp(-2 x) + x^2 has one minimum; Hessians are counted."""
    seen = []

    def hessian(x):
        seen.append(1)
        return np.diag(np.exp(x) + 4 * np.exp(-2 * x) + 2)

    f = lambda x: (
        float(np.sum(np.exp(x) + np.exp(-2 * x) + x**2)),
        np.exp(x) - 2 * np.exp(-2 * x) + 2 * x,
    )
    points, counts = [], []
    for keep in (0.0, 0.9):
        seen.clear()
        run = optim.newton(f, hessian, np.array([1.0, -1.0]), keep=keep, tol=1e-10)
        points.append(run.state.position)
        counts.append(len(seen))
    np.testing.assert_allclose(*points, atol=1e-9)
    assert counts[1] < counts[0]
