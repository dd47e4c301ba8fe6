"""The linear programme of quantiles: reduced rows, interior points."""

import numpy as np

from pansophy.linear_model.glm import quantile_program
from pansophy.linear_model.glm.quantile import pinball_program
from tests.linear_model.small_problems import heavy_tailed_rows


def test_many_rows_are_reduced_to_the_same_vertex(rng, monkeypatch):
    X, y = heavy_tailed_rows(rng, 40_000, 4)
    w = rng.integers(1, 4, size=len(y)).astype(float)
    P = pinball_program(X, y, w, 0.3, 0.001, intercept=True)
    reduced = quantile_program.solve_reduced(
        P, quantile_program.first_sample_size(*X.shape), max_iter=100, tol=1e-8
    )
    monkeypatch.setattr(quantile_program, "REDUCTION_ROWS", 10**9)
    whole = quantile_program.solve_pinball(P)
    assert reduced.exact and whole.exact
    np.testing.assert_allclose(reduced.x, whole.x, atol=1e-10)


def test_interior_point_alone_is_close(rng):
    X, y = heavy_tailed_rows(rng, 500, 6)
    P = pinball_program(X, y, None, 0.6, 0.01, intercept=True)
    run = quantile_program.interior_point(P)
    exact = quantile_program.solve_pinball(P)
    best = P.value(P.y - P.matvec(exact.x))
    assert best <= run.state.objective <= best * (1 + 1e-7)
    assert np.all(np.diff(run.history["gap"]) < 0)
    # u satisfies A^T u = 0 within its limits
    u = run.state.a + P.l
    np.testing.assert_allclose(P.rmatvec(u), 0, atol=1e-7)
    assert np.all((run.state.a > 0) & (run.state.s > 0))
