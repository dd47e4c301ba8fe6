"""Ridge-penalised least squares, closed and iterative."""

import numpy as np
import pytest

from pansophy import optim


def test_solve_closed_and_iterative(rng):
    import scipy.sparse as sp

    from pansophy.optim.smooth.least_squares import closed_or_iterative

    X, y = rng.normal(size=(60, 8)), rng.normal(size=60)
    for alpha in (0.0, 2.0):
        a = optim.solve_least_squares(X, y, alpha=alpha, solver="closed")
        b = optim.solve_least_squares(X, y, alpha=alpha, solver="iterative")
        s = optim.solve_least_squares(
            sp.csr_matrix(X), y, alpha=alpha, solver="iterative"
        )
        assert (a.state.solver, b.state.solver) == ("closed", "iterative")
        assert max(a.state.slope, b.state.slope) < 1e-8
        np.testing.assert_allclose(a.state.position, b.state.position, atol=1e-9)
        np.testing.assert_allclose(s.state.position, b.state.position, atol=1e-9)
        assert a.objective == pytest.approx(b.objective)
        assert b.n_iter <= 9
    assert optim.solve_least_squares(
        X, np.stack([y, -y], axis=1)
    ).state.position.shape == (8, 2)
    assert (
        closed_or_iterative(1000, 20) == "closed"
        and closed_or_iterative(10**6, 10**5) == "iterative"
    )
    assert closed_or_iterative(10**5, 10**5, stored=10**6) == "iterative"
    assert optim.solve_least_squares(X, y).state.solver == "closed"
    with pytest.raises(ValueError, match="solver"):
        optim.solve_least_squares(X, y, solver="other")
