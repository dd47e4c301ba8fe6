"""Which environments are stepped by compiled loops."""

import gymnasium
import pytest

from pansophy.rl.compiled_worlds import COMPILED_WORLDS, compiled_world
from pansophy.rl.envs import CartPole


@pytest.mark.parametrize("name", COMPILED_WORLDS)
def test_names_and_plain_environments_have_twins(name):
    env = gymnasium.make(name)
    for given in (name, env):
        twin = compiled_world(given)
        assert twin is not None
        assert twin.max_steps == (env.spec.max_episode_steps or 0)
        assert twin.observation_space.shape == env.observation_space.shape
        assert twin.action_space == env.action_space


def test_changed_environments_have_none():
    env = gymnasium.make("CartPole-v1")
    assert compiled_world(gymnasium.wrappers.TransformReward(env, lambda r: -r)) is None
    assert compiled_world(gymnasium.make("Pendulum-v1", g=1.0)) is None
    assert compiled_world("Taxi-v3") is None
    slippery = gymnasium.make("CliffWalking-v1", is_slippery=True)
    assert compiled_world(slippery) is None
    short = gymnasium.make("CartPole-v1", max_episode_steps=7)
    assert compiled_world(short).max_steps == 7
    own = CartPole()
    assert compiled_world(own) is own
