"""MountainCar, step by step against Gymnasium's."""

import gymnasium
import numpy as np

from pansophy.rl.envs import MountainCar


def test_equal_to_gymnasium_step_by_step():
    env, peer = MountainCar(), gymnasium.make("MountainCar-v0")
    env.action_space.seed(0)
    for episode in range(3):
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


def test_a_car_that_rocks_reaches_the_goal():
    """Pushing along the speed solves it in about 120 steps; the wall stops the car."""
    env = MountainCar()
    observation, _ = env.reset(seed=0)
    total, terminated = 0.0, False
    while not terminated:
        action = 2 if observation[1] >= 0 else 0
        observation, reward, terminated, truncated, _ = env.step(action)
        assert not truncated
        total += reward
    assert observation[0] >= 0.5 and -160 < total < -80
    env.state[:, 0] = -1.19, -0.05
    observation, *_ = env.step(0)
    np.testing.assert_array_equal(observation, np.array([-1.2, 0.0], np.float32))
