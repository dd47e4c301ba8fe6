"""Rollouts of a policy."""

import numpy as np

from pansophy.rl import (
    Policy,
    as_mdp,
    evaluate_policy,
    rollout,
)
from pansophy.rl.envs import Corridor


def test_policy_played_is_policy_evaluated():
    """Mean return of 4000 episodes within 4.5 standard errors of the linear solve."""
    env = Corridor(4, slip=0.3, reward=5.0)
    policy = np.full((4, 2), [0.25, 0.75])
    steps = evaluate_policy(
        as_mdp({s: {a: [(p, k, 1.0, e) for p, k, _, e in o] for a, o in row.items()}
             for s, row in env.P.items()}), policy, gamma=1.0,
    )[0]  # fmt: skip
    played = rollout(env, Policy(policy), n_episodes=4000, random_state=0)
    assert (played.returns == 5).all()
    error = played.lengths.std() / np.sqrt(4000)
    assert abs(played.lengths.mean() - steps) < 4.5 * error
