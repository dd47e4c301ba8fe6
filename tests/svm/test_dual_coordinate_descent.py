"""Dual coordinate descent: passes of the compiled loops as the slow ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.svm import dual_coordinate_descent, svm_problem
from tests.oracles import svm as oracle


@pytest.mark.parametrize("eps", [0.0, 0.2])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_coordinate_loops_against_the_oracle(eps, squared, sparse):
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(25, 4)), rng.normal(size=25)
    X[3] = 0.0
    rows = sp.csr_array(X) if sparse else X
    C = rng.uniform(0.5, 2, size=25)
    m = svm_problem.regression_problem(
        rows, t, C, squared=squared, scale=1.5, epsilon=eps
    )
    table, (epochs, arrays) = (
        dual_coordinate_descent.row_table(m),
        dual_coordinate_descent.loop_and_rows(m),
    )
    beta, w = np.zeros(25), np.zeros(5)
    order = np.arange(25)
    for _ in range(3):
        want = beta.copy()
        active, seed = np.arange(25), np.array([7], dtype=np.uint64)
        epochs(
            *(*arrays, 1.5, eps, table, w, active, 25, np.full(2, np.inf), seed),
            *(0.0, 1),
        )
        order = active
        parts = [a[order] for a in (t, m.low, m.high, m.curve)]
        want[order] = oracle.coordinate_pass(X[order], 1.5, *parts, eps, beta[order])
        beta = table[:, 5].copy()
        np.testing.assert_allclose(beta, want, atol=1e-12)
