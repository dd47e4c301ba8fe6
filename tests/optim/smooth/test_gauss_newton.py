"""Gauss-Newton and Levenberg-Marquardt."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from pansophy import optim

t = np.linspace(0, 4, 30)


def curve(x):
    return x[0] * np.exp(-x[1] * t) + x[2]


def slopes(x):
    e = np.exp(-x[1] * t)
    return np.stack([e, -x[0] * t * e, np.ones_like(t)], axis=1)


@pytest.mark.parametrize("damping", [None, 1e-3, 1.0])
@pytest.mark.parametrize("jacobian", [slopes, None])
def test_fits_a_curve(damping, jacobian, rng):
    y = curve([3.0, 1.2, 0.5]) + 0.05 * rng.normal(size=len(t))
    r = lambda x: curve(x) - y
    run = optim.gauss_newton(r, [2.0, 0.8, 0.0], jacobian, damping=damping, tol=1e-7)
    best = least_squares(r, [2.0, 0.8, 0.0], slopes, xtol=1e-14, ftol=1e-14, gtol=1e-14)
    assert run.converged
    np.testing.assert_allclose(run.state.position, best.x, atol=1e-6)
    assert run.objective == pytest.approx(best.cost)
    assert np.all(np.diff(run.history["objective"]) <= 0)


def test_linear_residuals_take_one_step(rng):
    X, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    run = optim.gauss_newton(
        lambda w: X @ w - y, np.zeros(4), lambda w: X, damping=None
    )
    assert run.n_iter == 1 and run.converged
    np.testing.assert_allclose(
        run.state.position, np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-12
    )


def test_far_start_and_dependent_columns():
    valley = lambda x: np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])
    run = optim.gauss_newton(valley, [-1.2, 1.0])
    assert run.converged
    np.testing.assert_allclose(run.state.position, [1, 1], atol=1e-7)
    same = lambda x: np.array([x[0] + x[1] - 2, x[0] + x[1] - 2])
    for damping in (None, 1e-3):
        run = optim.gauss_newton(same, [0.0, 0.0], damping=damping)
        np.testing.assert_allclose(run.state.position, [1, 1], atol=1e-6)
