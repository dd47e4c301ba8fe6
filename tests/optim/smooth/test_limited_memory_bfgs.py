"""L-BFGS behind our driver: limits, interruption, bounds."""

import numpy as np
import pytest

from pansophy import optim
from pansophy.optim.smooth.limited_memory_bfgs import Rounded


def test_lbfgs_can_be_interrupted_and_limited():
    calls = []

    def f(x):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        curve = np.array([1.0, 100.0])
        return float(x @ (curve * x)), 2 * curve * x

    run = optim.lbfgs(f, np.array([3.0, 1.0]))
    assert run.interrupted and np.isfinite(run.objective)
    g = lambda x: (float(np.sum((x[1:] - x[:-1] ** 2) ** 2)), optim.numeric_gradient(
        lambda u: np.sum((u[1:] - u[:-1] ** 2) ** 2), x))  # fmt: skip
    assert optim.lbfgs(g, np.full(6, 2.0), max_iter=2).reason == "max_iter"


def test_bounds_and_preconditioner():
    H = np.diag([1.0, 1e6])
    bowl = lambda x: (float((x - 1) @ H @ (x - 1)) / 2, H @ (x - 1))
    found = optim.lbfgs(bowl, np.zeros(2), bounds=[(0, 0.5), (None, None)])
    np.testing.assert_allclose(found.state.position, [0.5, 1], atol=1e-6)
    plain = optim.lbfgs(bowl, np.array([5.0, -3.0]), tol=1e-8)
    rounded = optim.lbfgs(bowl, np.array([5.0, -3.0]), tol=1e-8, root=np.sqrt(H))
    np.testing.assert_allclose(rounded.state.position, 1, atol=1e-8)
    assert rounded.n_iter < plain.n_iter  # a sphere in its coordinates
    with pytest.raises(ValueError, match="bounds or a root, not both"):
        optim.lbfgs(bowl, np.zeros(2), bounds=[(0, 1)] * 2, root=H)


def test_coordinates_of_blocks_go_there_and_back(rng):
    L = np.tril(rng.normal(size=(3, 3))) + 3 * np.eye(3)
    view = Rounded(lambda x: (float(x @ x) / 2, x), L)
    x = rng.normal(size=6)
    np.testing.assert_allclose(view.outer(view.inner(x)), x)
    z = view.inner(x)
    value, gradient = view(z)
    assert value == pytest.approx(x @ x / 2)
    assert view.slope(z) == pytest.approx(np.abs(x).max())
    step = 1e-6 * np.eye(6)
    slope = [(view(z + s)[0] - view(z - s)[0]) / 2e-6 for s in step]
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-8)
