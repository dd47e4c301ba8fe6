"""Backward induction against brute force, and as an agent."""

import itertools

import numpy as np
import pytest

from pansophy.rl import finite_horizon, rollout, value_iteration
from pansophy.rl.envs import Corridor, TabularEnv
from tests.oracles.value_iteration import random_mdp


def best_by_enumeration(T, r, H, gamma, final):
    """The best value over all tables of time and state."""
    A, S, _ = T.shape
    best = np.full(S, -np.inf)
    for flat in itertools.product(range(A), repeat=S * H):
        V = final
        for actions in np.reshape(flat, (H, S))[::-1]:
            V = r[np.arange(S), actions] + gamma * T[actions, np.arange(S)] @ V
        best = np.maximum(best, V)
    return best


def test_against_every_policy(rng):
    T, r = random_mdp(rng, 2, 2, 2)
    final = rng.normal(size=2)
    found = finite_horizon(T, r, 4, gamma=0.8, final=final)
    expected = best_by_enumeration(T, r, 4, 0.8, final)
    np.testing.assert_allclose(found.V[0], expected)
    np.testing.assert_allclose(found.V[-1], final)


def test_long_horizons_tend_to_the_discounted_values(rng):
    T, r = random_mdp(rng, 6, 3, 2)
    found = finite_horizon(T, r, 300, gamma=0.9)
    np.testing.assert_allclose(
        found.V[0], value_iteration(T, r, gamma=0.9, tol=1e-10).V, atol=1e-9
    )
    np.testing.assert_allclose(found.V[:-1], found.Q.max(axis=2))


def test_the_policy_played_earns_its_value():
    """A corridor that is too long for the time: the agent must know the time."""
    P = {0: {0: [(1.0, 0, 1.0, False)], 1: [(1.0, 1, 0.0, False)]},
         1: {0: [(1.0, 1, 3.0, False)], 1: [(1.0, 1, 3.0, False)]}}  # fmt: skip
    found = finite_horizon(P, horizon=4)
    world = TabularEnv(P, max_steps=4)
    world.table = world.table._replace(start=np.array([1.0, 1.0]))
    run = rollout(world, found.agent(), n_episodes=3, random_state=0)
    np.testing.assert_array_equal(run.returns, found.V[0, 0])
    assert found.V[0, 0] == 9.0
    assert finite_horizon(Corridor(3), horizon=2).V[0].tolist() == [0.0, 1.0, 1.0]


def test_errors_say_what_is_wrong():
    with pytest.raises(
        ValueError, match="horizon must be a whole number of at least 1"
    ):
        finite_horizon(Corridor(3), horizon=0)
    with pytest.raises(ValueError, match="final must hold 3"):
        finite_horizon(Corridor(3), horizon=2, final=[0.0])
    with pytest.raises(ValueError, match="gamma must be"):
        finite_horizon(Corridor(3), horizon=2, gamma=2.0)
