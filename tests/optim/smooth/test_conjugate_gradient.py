"""Conjugate gradients."""

import numpy as np
import pytest

from pansophy import optim


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
