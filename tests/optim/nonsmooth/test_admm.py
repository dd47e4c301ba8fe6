"""ADMM: lasso and least absolute deviations by their proximal operators."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from pansophy import optim, penalties
from pansophy.optim.nonsmooth.admm import admm, normal_factor


@pytest.mark.parametrize("sparse", [False, True])
def test_lasso_with_a_free_intercept(sparse, rng):
    X, y = rng.normal(size=(40, 5)), rng.normal(size=40) + 3
    A = np.column_stack([X, np.ones(40)])
    g = penalties.l1(4.0)
    loss = lambda f: float((f - y) @ (f - y)) / 2
    run = admm(
        sp.csr_array(A) if sparse else A,
        5,
        lambda f, s: (f + s * y) / (1 + s),
        lambda z, s: g.prox(z, s),
        lambda f, z: loss(f) + g.value(z),
        tol=1e-9,
    )
    x = run.state.position
    C = X - X.mean(axis=0)
    best = optim.coordinate_descent(C, y - y.mean(), g).state.position
    np.testing.assert_allclose(x[:5], best, atol=1e-6)
    assert x[5] == pytest.approx(y.mean() - X.mean(axis=0) @ best, abs=1e-6)


def test_factor_of_all_but_the_intercept(rng):
    A = rng.normal(size=(9, 3))
    H = A.T @ A + np.diag([1.0, 1.0, 0.0])
    factor = normal_factor(A, 2)
    b = rng.normal(size=3)
    np.testing.assert_allclose(scipy.linalg.cho_solve(factor, b), np.linalg.solve(H, b))
