"""Linear values: LMS reaches least squares, successors, greedy actions."""

import numpy as np
import pytest

from pansophy.rl import (
    LinearFeatures,
    LinearValue,
    OneHotFeatures,
    Policy,
    evaluate_policy,
    rollout,
)
from pansophy.rl.envs import Corridor, TabularEnv


def test_passes_reach_least_squares(rng):
    X = rng.normal(size=(30, 2))
    y = X @ [2.0, -1.0] + 3 + 0.1 * rng.normal(size=30)
    phi = np.column_stack([np.ones(30), X])
    exact = np.linalg.lstsq(phi, y, rcond=None)[0]
    model = LinearValue(
        LinearFeatures(2), n_passes=3000, decay=0.8, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(model.theta_, exact, atol=2e-3)
    np.testing.assert_allclose(model.predict(X), phi @ model.theta_)


def test_first_step_by_hand():
    """theta = alpha (y - 0) phi after one row, alpha relative to |phi|^2 = 5."""
    model = LinearValue(LinearFeatures(1), learning_rate=1.0, n_passes=1, decay=0.0)
    np.testing.assert_allclose(model.fit([[2.0]], [10.0]).theta_, [2, 4])


def test_successor_values():
    """Rewards and values of successors lead to the linear solve; limits are no ends."""
    env = Corridor(4, slip=0.3)
    policy = np.full((4, 2), [0.3, 0.7])
    exact = evaluate_policy(env, policy, gamma=0.9)
    run = rollout(env, Policy(policy), n_episodes=150, keep=True, random_state=0)
    model = LinearValue(OneHotFeatures(4), gamma=0.9, n_passes=15, random_state=0)
    model.fit_transitions(run.transitions)
    np.testing.assert_allclose(model.predict(range(4)), exact, atol=0.12)
    assert model.greedy_action([0, 2, 1]) == 1
    endless = TabularEnv({0: {0: [(1.0, 0, 1.0, False)]}}, max_steps=10)
    run = rollout(endless, Policy([0]), n_steps=200, keep=True, random_state=0)
    model = LinearValue(
        OneHotFeatures(1), gamma=0.9, n_passes=20, decay=0.0, random_state=0
    )
    model.fit_transitions(run.transitions)
    assert model.predict([0])[0] == pytest.approx(10)


def test_errors_say_what_is_wrong():
    for call, what in (
        (lambda m: m.fit([[0.0]], [1.0, 2.0]), "one number for each"),
        (lambda m: m.fit([[0.0]], [np.nan]), "NaN"),
        (lambda m: m.fit_transitions([]), "no transitions"),
    ):
        with pytest.raises(ValueError, match=what):
            call(LinearValue(LinearFeatures(1)))
    with pytest.warns(RuntimeWarning), pytest.raises(ValueError, match="diverged"):
        LinearValue(LinearFeatures(1), learning_rate=1e5, decay=0.0).fit(
            [[1.0], [2.0]], [1.0, 5.0]
        )
