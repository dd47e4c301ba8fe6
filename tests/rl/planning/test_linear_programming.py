"""Linear programming agrees with the other planners; its visits are visits."""

import numpy as np
import pytest

from pansophy.rl import evaluate_policy, linear_programming, value_iteration
from pansophy.rl.envs import FrozenLake, GridWorld
from tests.oracles.value_iteration import random_mdp


def test_values_are_those_of_value_iteration(rng):
    for S, A in ((2, 2), (12, 3), (30, 2)):
        T, r = random_mdp(rng, S, A, 2)
        exact = value_iteration(T, r, gamma=0.95, tol=1e-11)
        found = linear_programming(T, r, gamma=0.95)
        np.testing.assert_allclose(found.V, exact.V, atol=1e-7)
        np.testing.assert_array_equal(found.policy, exact.policy)
        assert found.bound < 1e-6
    for world in (FrozenLake(), GridWorld(slip=0.1)):
        found = linear_programming(world, gamma=0.99)
        exact = value_iteration(world, gamma=0.99, tol=1e-11)
        np.testing.assert_allclose(found.V, exact.V, atol=1e-7)


def test_visits_earn_the_value(rng):
    """sum d r = c' V*: what is visited is what is earned."""
    T, r = random_mdp(rng, 8, 3, 3)
    start = rng.dirichlet(np.ones(8))
    found = linear_programming(T, r, gamma=0.9, start=start)
    visits = found.history["visits"]
    assert visits.sum() == pytest.approx(10)
    assert (visits * r).sum() == pytest.approx(start @ found.V)
    V = evaluate_policy(T, found.policy, r, gamma=0.9)
    np.testing.assert_allclose(V, found.V, atol=1e-7)


def test_errors_say_what_is_wrong(rng):
    T, r = random_mdp(rng, 3, 2, 2)
    with pytest.raises(ValueError, match="gamma below 1"):
        linear_programming(T, r, gamma=1.0)
    with pytest.raises(ValueError, match="start must hold 3 weights"):
        linear_programming(T, r, gamma=0.9, start=[1.0, -1.0, 0.0])


def test_rewards_of_any_size():
    P, R = random_mdp(np.random.default_rng(1), 6, 3, 4)
    usual = linear_programming(P, R, 0.9)
    for scale in (1e-9, 1e9):
        found = linear_programming(P, R * scale, 0.9)
        np.testing.assert_allclose(found.V, usual.V * scale, rtol=1e-6)
