"""Schedules of learning rates."""

import numpy as np

from pansophy.rl import (
    QLearning,
    VisitDecay,
)
from pansophy.rl.envs import Corridor
from pansophy.rl.experience.rollout import Transition


def test_rates_by_visits_are_running_means():
    # rewards 1, 0, 2, 5 give 1, .5, 1, 2
    agent = QLearning(gamma=0.0, learning_rate=VisitDecay()).learner(Corridor(1))
    means = []
    for reward in (1.0, 0.0, 2.0, 5.0):
        agent.update(Transition(0, 1, reward, 0, True, False))
        means.append(agent.Q[0][1])
    np.testing.assert_allclose(means, [1, 0.5, 1, 2])
