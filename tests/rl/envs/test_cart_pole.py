"""Cart pole, step by step against Gymnasium's."""

import gymnasium
import numpy as np

from pansophy.rl.envs import CartPole, VectorWorld


def test_equal_to_gymnasium_step_by_step(rng):
    env, peer = CartPole(), gymnasium.make("CartPole-v1")
    for episode in range(30):
        ours, _ = env.reset(seed=episode)
        np.testing.assert_array_equal(ours, peer.reset(seed=episode)[0])
        done = False
        while not done:
            action = int(rng.integers(2))
            after, reward, terminated, truncated, _ = env.step(action)
            expected = peer.step(action)
            np.testing.assert_allclose(
                env.state[:, 0], peer.unwrapped.state, rtol=1e-12, atol=1e-15
            )
            np.testing.assert_allclose(after, expected[0], rtol=2e-7)
            assert (reward, terminated) == expected[1:3]
            done = terminated or truncated


def test_time_limit_is_no_end():
    """A pole that is balanced by hand for 500 steps is cut off, not terminated."""
    envs = VectorWorld(CartPole(), 3)
    observation, _ = envs.reset(seed=0)
    for t in range(500):
        x, v, theta, omega = observation.T
        action = (0.1 * x + 0.3 * v + 3 * theta + omega > 0).astype(int)
        observation, _, terminated, truncated, info = envs.step(action)
        assert not terminated.any() and truncated.all() == (t == 499)
    assert (np.abs(info["final_obs"]) != np.abs(observation)).any()
    assert np.abs(observation).max() <= 0.05  # the next episode has begun
