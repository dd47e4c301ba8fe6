"""SAC: the temperature, prioritised replay, a pendulum that comes up (slow)."""

import gymnasium
import numpy as np
import pytest

from pansophy.rl import SAC, evaluate_agent
from pansophy.rl.envs import Pendulum, ProbeWorld

QUICK = {
    "hidden_layer_sizes": (32,), "batch_size": 64, "learning_starts": 100, "tau": 0.05,
    "learning_rate": 5e-3, "random_state": 0,
}  # fmt: skip


def test_temperature_is_learnt_towards_the_entropy():
    agent = SAC(250, target_entropy=-3.0, **QUICK)
    agent.fit(ProbeWorld("constant", continuous=True))
    low = float(agent.net_.log_alpha)
    agent = SAC(250, target_entropy=3.0, **QUICK)
    agent.fit(ProbeWorld("constant", continuous=True))
    assert low < 0 < float(agent.net_.log_alpha)
    fixed = SAC(130, temperature=0.5, **QUICK)
    fixed.fit(ProbeWorld("constant", continuous=True))
    assert float(fixed.net_.log_alpha) == pytest.approx(np.log(0.5))


def test_n_step_and_priorities():
    agent = SAC(500, n_step=2, priority_exponent=0.6, temperature=0.02, **QUICK)
    agent.fit(ProbeWorld("both", continuous=True))
    best = agent.predict([[-1.0], [1.0]]).ravel()
    np.testing.assert_allclose(best, [-0.5, 0.5], atol=0.2)


def test_actions_fill_the_bounds_of_the_space():
    agent = SAC(150, **QUICK).fit(Pendulum())
    found = agent.predict(np.random.default_rng(0).normal(size=(50, 3)) * 100)
    assert np.abs(found).max() <= 2.0 and found.dtype == np.float32


@pytest.mark.slow
def test_a_pendulum_comes_up():
    agent = SAC(6000, hidden_layer_sizes=(64, 64), learning_rate=1e-3, random_state=0)
    agent.fit(Pendulum())
    assert evaluate_agent(agent, Pendulum(), 20).mean > -250


def test_a_number_whose_bounds_are_equal_stays_there():
    class Fixed(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-1, 1, (1,))
        action_space = gymnasium.spaces.Box(np.float32([-1, 2]), np.float32([1, 2]))

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return np.zeros(1, np.float32), {}

        def step(self, action):
            assert action[1] == 2.0
            return np.zeros(1, np.float32), float(action[0]), True, False, {}

    small = {"hidden_layer_sizes": (8,), "learning_starts": 20, "batch_size": 8}
    agent = SAC(60, random_state=0, **small).fit(Fixed)
    action = agent.act(np.zeros(1))
    assert np.isfinite(action).all() and action[1] == 2.0
