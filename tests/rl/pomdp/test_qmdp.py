"""QMDP and the fast informed bound enclose the exact values from above."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.rl import (
    as_pomdp,
    belief_value_iteration,
    fast_informed_bound,
    qmdp,
    tiger_problem,
)


def test_bounds_are_in_order(rng):
    """V* <= FIB <= QMDP at every belief; equal where states are seen."""
    models = [tiger_problem()]
    for _ in range(3):
        T, Z = rng.dirichlet(np.ones(2), (2, 2)), rng.dirichlet(np.ones(2), (2, 2))
        models.append(as_pomdp(T, Z, rng.normal(size=(2, 2))))
    beliefs = np.column_stack([np.linspace(0, 1, 21), np.linspace(1, 0, 21)])
    for model in models:
        exact = belief_value_iteration(model, 0.9, tol=1e-4).policy.value(beliefs)
        fib = fast_informed_bound(model, 0.9).value(beliefs)
        upper = qmdp(model, 0.9).value(beliefs)
        assert (exact <= fib + 1e-3).all() and (fib <= upper + 1e-6).all()
    seen = as_pomdp(models[1].T, np.eye(2), models[1].r)
    corners = np.eye(2)
    np.testing.assert_allclose(
        fast_informed_bound(seen, 0.9).value(corners),
        qmdp(seen, 0.9).value(corners),
        atol=1e-6,
    )


def test_the_tiger_by_hand():
    """QMDP: with the state known next, opening pays 10 a step: 10 / (1 - 0.95)."""
    bound = qmdp(tiger_problem(), 0.95)
    np.testing.assert_allclose(bound.vectors[0], -1 + 0.95 * 200, atol=1e-6)
    np.testing.assert_allclose(bound.vectors[2], [200, 90], atol=1e-6)
    assert bound.action([0.5, 0.5]) == 0  # it listens, but only once
    assert bound.action([0.95, 0.05]) == 2


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="below 1"):
        qmdp(tiger_problem(), 1.0)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        fast_informed_bound(tiger_problem(), 0.95, max_iter=2)
