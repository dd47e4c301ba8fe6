"""Systems by a factor in single precision: digits, ill-conditioned, singular."""

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning

from pansophy.core.linalg import mixed_precision
from pansophy.core.linalg.linalg import NotPositiveDefiniteError


@pytest.fixture
def system(rng):
    A = rng.standard_normal((60, 60))
    return A @ A.T, rng.uniform(1, 2, 60), rng.standard_normal((60, 5))


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_refinement_has_the_digits_of_double_precision(system, columns):
    K, shift, B = system
    B = B[:, :columns]
    for s in (1.5, shift):
        right = np.linalg.solve(K + np.diag(np.broadcast_to(s, 60)), B)
        found = mixed_precision.refined_solution(K, s, B, 1e-12)
        np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(mixed_precision.solve_shifted(K, s, B), right)


def test_only_the_lower_triangle_is_read_and_nothing_is_changed(system, monkeypatch):
    K, _, B = system
    lower = np.where(np.tri(60, dtype=bool), K, np.nan)
    kept = lower.copy()
    monkeypatch.setattr(mixed_precision, "ENOUGH", 10)
    found = mixed_precision.solve_shifted(lower, 1.0, B)
    np.testing.assert_allclose(found, np.linalg.solve(K + np.eye(60), B))
    np.testing.assert_array_equal(lower, kept)


def test_what_single_precision_cannot_do_is_done_in_double(rng, monkeypatch):
    monkeypatch.setattr(mixed_precision, "ENOUGH", 10)
    Q = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    K = (Q * np.logspace(0, -10, 40)) @ Q.T
    assert mixed_precision.refined_solution(K, 0.0, Q[:, :1], 1e-12) is None
    x = mixed_precision.solve_shifted(K, 0.0, Q[:, :1])
    np.testing.assert_allclose(K @ x, Q[:, :1], atol=1e-9)
    assert mixed_precision.refined_solution(0 * K, 0.0, Q[:, :1], 1e-12) is None


def test_singular_systems_are_refused_or_solved_by_least_squares():
    K, B = np.ones((3, 3)), np.array([[1.0], [2.0], [3.0]])
    with pytest.raises(NotPositiveDefiniteError):
        mixed_precision.solve_shifted(K, 0.0, B)
    with pytest.warns(LinAlgWarning, match="least-squares"):
        x = mixed_precision.solve_shifted_or_least_squares(K, 0.0, B)
    np.testing.assert_allclose(x, np.full((3, 1), 2 / 3))
