"""All critical points, and the closed form of convex problems."""

import numpy as np
import pytest

from pansophy import teaching


def kinds(points):
    return [point.kind for point in points]


def test_all_critical_points_of_one_variable():
    f = lambda x: x[0] ** 4 - 8 * x[0] ** 2 + x[0]
    points = teaching.critical_points(f, [(-4, 4)])
    roots = np.sort(np.roots([4, 0, -16, 1]).real)
    found = np.sort([point.position[0] for point in points])
    np.testing.assert_allclose(found, roots, atol=1e-6)
    assert kinds(points) == ["minimum", "minimum", "maximum"]
    best = points[0]
    assert best.slope < 1e-6
    assert best.objective == pytest.approx(min(f([r]) for r in roots))


def test_a_touching_zero_of_the_gradient_is_found():
    cubic = teaching.critical_points(
        lambda x: x[0] ** 3, [(-1, 2)], gradient=lambda x: 3 * x**2
    )
    assert len(cubic) == 1 and cubic[0].kind == "degenerate"
    assert cubic[0].position[0] == pytest.approx(0, abs=1e-4)


def test_minima_maxima_and_saddles_of_two_variables():
    # Himmelblau's function: four minima, four saddle points, one maximum
    f = lambda x: (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2
    g = lambda x: np.array(
        [
            4 * x[0] * (x[0] ** 2 + x[1] - 11) + 2 * (x[0] + x[1] ** 2 - 7),
            2 * (x[0] ** 2 + x[1] - 11) + 4 * x[1] * (x[0] + x[1] ** 2 - 7),
        ]
    )
    points = teaching.critical_points(f, [(-6, 6), (-6, 6)], gradient=g)
    assert kinds(points) == ["minimum"] * 4 + ["saddle"] * 4 + ["maximum"]
    assert all(point.slope < 1e-6 for point in points)
    assert teaching.critical_points(lambda x: x[0] + x[1], [(-1, 1), (-1, 1)]) == []
    with pytest.raises(ValueError, match="finite"):
        teaching.critical_points(f, [(-6, np.inf), (-6, 6)])


def test_convex_problems_are_solved_in_closed_form_where_there_is_one(rng):
    A, b = rng.normal(size=(30, 4)), rng.normal(size=30)
    f = lambda w: (float(np.sum((A @ w - b) ** 2)), 2 * A.T @ (A @ w - b))
    best = np.linalg.lstsq(A, b, rcond=None)[0]
    closed = teaching.solve_convex(f, np.zeros(4))
    assert closed.state.solver == "closed" and closed.state.slope < 1e-9
    other = teaching.solve_convex(f, np.ones(4), solver="iterative")
    assert other.state.solver == "iterative"
    for run in (closed, other):
        np.testing.assert_allclose(run.state.position, best, atol=1e-6)
    curved = lambda w: (
        float(np.sum(np.logaddexp(0, A @ w)) + w @ w / 2),
        A.T @ (1 / (1 + np.exp(-A @ w))) + w,
    )
    run = teaching.solve_convex(curved, np.zeros(4))
    assert run.state.solver == "iterative" and run.state.slope < 1e-6
    with pytest.raises(ValueError, match="not quadratic"):
        teaching.solve_convex(curved, np.zeros(4), solver="closed")
    with pytest.raises(ValueError, match="no minimum"):
        teaching.solve_convex(lambda x: x[0] ** 2 - x[1] ** 2, np.zeros(2))
    with pytest.raises(ValueError, match="no minimum"):
        teaching.solve_convex(lambda x: x[0] + 0 * x[1], np.zeros(2))
    with pytest.raises(ValueError, match="solver must be"):
        teaching.solve_convex(f, np.zeros(4), solver="exact")
