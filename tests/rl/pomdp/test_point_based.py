"""Point-based value iteration stays below the exact values and comes close."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.rl import (
    BeliefAgent,
    as_pomdp,
    belief_value_iteration,
    point_based_value_iteration,
    rollout,
    tiger_problem,
)
from pansophy.rl.envs import Tiger
from pansophy.rl.pomdp.point_based import blind_policies


def test_from_below_and_close(rng):
    """Lower bounds everywhere; close where beliefs can be reached from the start."""
    models = [tiger_problem()]
    for _ in range(3):
        T, Z = rng.dirichlet(np.ones(2), (2, 2)), rng.dirichlet(np.ones(3), (2, 2))
        models.append(as_pomdp(T, Z, rng.normal(size=(2, 2))))
    p = np.linspace(0, 1, 51)
    beliefs = np.column_stack([p, 1 - p])
    for model in models:
        exact = belief_value_iteration(model, 0.9, tol=1e-5).policy
        found = point_based_value_iteration(model, 0.9, tol=1e-6, random_state=0)
        assert (found.policy.value(beliefs) <= exact.value(beliefs) + 1e-4).all()
        start = float(exact.value(model.start))
        assert found.low == pytest.approx(start, abs=0.02 * max(1, abs(start)))
        assert found.low <= start + 1e-4 <= found.high + 2e-4
        blind = blind_policies(model, 0.9).value(beliefs)
        assert (blind <= exact.value(beliefs) + 1e-4).all()


def test_a_hundred_states(rng):
    """A noisy place on a ring: states are nearly seen, so values come close to FIB."""
    S = 60
    T = np.zeros((2, S, S))
    for a, way in enumerate((1, -1)):
        T[a, np.arange(S), (np.arange(S) + way) % S] = 0.9
        T[a, np.arange(S), np.arange(S)] = 0.1
    Z = 0.9 * np.eye(S) + 0.05 * (np.roll(np.eye(S), 1, 1) + np.roll(np.eye(S), -1, 1))
    model = as_pomdp(T, Z, (np.arange(S) == 7).astype(float))
    found = point_based_value_iteration(model, 0.9, n_beliefs=200, random_state=0)
    assert found.converged and found.low <= found.high
    assert found.low > 0.6 * found.high


def test_the_policy_earns_its_value():
    tiger = tiger_problem()
    found = point_based_value_iteration(tiger, 0.95, random_state=0)
    agent = BeliefAgent(tiger, found.policy)
    run = rollout(
        Tiger(max_steps=100), agent, n_episodes=150, keep=True, random_state=0
    )
    rewards = np.array([t.reward for t in run.transitions]).reshape(150, 100)
    returns = (rewards * 0.95 ** np.arange(100)).sum(axis=1)
    error = returns.std() / np.sqrt(150)
    assert abs(returns.mean() - 19.37) < 4.5 * error


def test_same_seed_same_policy_and_errors():
    tiger = tiger_problem()
    one, two = (point_based_value_iteration(tiger, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.policy.vectors, two.policy.vectors)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        point_based_value_iteration(tiger, max_iter=2, random_state=0)
    with pytest.raises(
        ValueError, match="n_beliefs must be a whole number of at least 1"
    ):
        point_based_value_iteration(tiger, n_beliefs=0)
