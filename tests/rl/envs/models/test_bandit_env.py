"""Bandits as environments: one state, rewards of the arms, episodes cut off."""

import numpy as np

from pansophy.rl import Bandit
from pansophy.rl.envs import BanditEnv


def test_rewards_have_the_means_of_the_arms():
    env = BanditEnv(Bandit([0.0, 3.0]), max_steps=400)
    assert env.observation_space.n == 1 and env.action_space.n == 2
    state, _ = env.reset(seed=0)
    assert state == 0
    paid = [[], []]
    for i in range(400):
        state, reward, ended, cut, _ = env.step(i % 2)
        paid[i % 2].append(reward)
        assert state == 0 and not ended and cut == (i == 399)
    np.testing.assert_allclose(np.mean(paid, axis=1), [0, 3], atol=0.3)


def test_the_same_seed_pays_the_same():
    env = BanditEnv(Bandit([0.3, 0.7], noise="bernoulli"))
    runs = []
    for _ in range(2):
        env.reset(seed=7)
        runs.append([env.step(1)[1] for _ in range(30)])
    assert runs[0] == runs[1] and set(runs[0]) == {0.0, 1.0}
