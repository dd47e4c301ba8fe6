"""MountainCar, step by step against Gymnasium's."""

import numpy as np

from pansophy.rl.envs import MountainCar
from tests.rl.envs.gymnasium_steps import assert_equal_steps


def test_equal_to_gymnasium_step_by_step():
    assert_equal_steps(MountainCar(), "MountainCar-v0")


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
