"""Our environments step by step beside Gymnasium's."""

import gymnasium
import numpy as np


def assert_equal_steps(env, name, episodes=3):
    """The same observations, rewards and ends, from the same seeds and actions."""
    peer = gymnasium.make(name)
    env.action_space.seed(0)
    for episode in range(episodes):
        ours, _ = env.reset(seed=episode)
        np.testing.assert_allclose(ours, peer.reset(seed=episode)[0], rtol=2e-7)
        done = False
        while not done:
            action = env.action_space.sample()
            after, reward, terminated, truncated, _ = env.step(action)
            expected = peer.step(action)
            np.testing.assert_allclose(
                env.state[:, 0], peer.unwrapped.state, rtol=1e-9, atol=1e-11
            )
            np.testing.assert_allclose(after, expected[0], rtol=2e-6, atol=2e-7)
            np.testing.assert_allclose(reward, expected[1], rtol=1e-9)
            assert (terminated, truncated) == expected[2:4]
            env.state[:, 0] = peer.unwrapped.state  # chaos must not add up
            done = terminated or truncated
