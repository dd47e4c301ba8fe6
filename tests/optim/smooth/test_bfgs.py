"""BFGS and other smooth solvers on the Rosenbrock function."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from pansophy import optim

valley = lambda x: (float(rosen(x)), rosen_der(x))


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
    from pansophy.optim.smooth.bfgs import update_inverse_hessian

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
