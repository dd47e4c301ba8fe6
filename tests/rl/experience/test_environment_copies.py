"""Copies of environments keep what the user changed."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils import EzPickle

from pansophy.rl import PPO, evaluate_every
from pansophy.rl.experience.environment_copies import (
    copy_environment,
    copy_environments,
)


class Push(gymnasium.Env):
    """Pays what `force` is; one step."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self):
        self.force = 10.0
        self.table = np.arange(3)
        self.own = np.random.default_rng(3)
        self.old = np.random.RandomState(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), self.force, True, False, {}


class Rebuilt(Push, EzPickle):
    """Its copies are made by the constructor."""

    def __init__(self):
        EzPickle.__init__(self)
        Push.__init__(self)


class Simulator(Push):
    """Holds something that cannot be copied."""

    def __init__(self):
        super().__init__()
        self.engine = (step for step in range(3))


class Doubled(gymnasium.Wrapper):
    """A user's own wrapper."""

    factor = 2.0

    def step(self, action):
        observation, reward, *rest = self.env.step(action)
        return observation, self.factor * reward, *rest


class Shifted(gymnasium.RewardWrapper):
    def reward(self, reward):
        return reward + 1.0


@pytest.fixture(scope="module", autouse=True)
def registered():
    for kind in (Push, Rebuilt, Simulator):
        gymnasium.register(f"{kind.__name__}-v7", kind)
    yield
    for kind in (Push, Rebuilt, Simulator):
        del gymnasium.registry[f"{kind.__name__}-v7"]


@pytest.mark.parametrize("name", ["Push-v7", "Rebuilt-v7", "Simulator-v7"])
def test_changes_come_along(name):
    env = gymnasium.make(name)
    env.unwrapped.force = 0.5
    env.unwrapped.table[1] = 9
    made = copy_environments(env, 4)
    assert made[0] is env
    assert [one.unwrapped.force for one in made] == [0.5] * 4
    assert all(one.unwrapped.table[1] == 9 for one in made)
    assert made[1].unwrapped.table is not env.unwrapped.table
    agent = PPO(64, n_envs=4, horizon=4, random_state=0).fit(env)
    assert (agent.history_["return"] == 0.5).all()
    evaluate_every(PPO(32, horizon=4, random_state=0), env, 16, n_episodes=2)


@pytest.mark.parametrize("wrapper", [Doubled, Shifted])
@pytest.mark.parametrize("inner", [Push, lambda: gymnasium.make("Push-v7")])
def test_own_wrappers_are_copied(wrapper, inner):
    env = wrapper(inner())
    env.factor = 3.0
    agent = PPO(64, n_envs=4, horizon=4, random_state=0).fit(env)
    expected = 30.0 if wrapper is Doubled else 11.0
    assert (agent.history_["return"] == expected).all()


def test_generators_of_copies_are_their_own():
    made = copy_environments(Push(), 3)
    drawn = [float(one.own.random()) for one in made]
    older = [float(one.old.random_sample()) for one in made]
    assert len(set(drawn)) == len(set(older)) == 3
    assert drawn[0] == np.random.default_rng(3).random()
    assert older[0] == np.random.RandomState(3).random_sample()


def test_what_cannot_be_copied_gets_one_sentence():
    with pytest.raises(ValueError, match=r"Simulator cannot be copied .* n_envs=1"):
        copy_environment(Simulator())
    wrapped = Doubled(gymnasium.make("Simulator-v7"))  # no name stands for it
    with pytest.raises(ValueError, match=r"Doubled cannot be copied .* n_envs=1"):
        copy_environment(wrapped)
    replaced = Push()
    replaced.step = lambda action: (np.zeros(1, np.float32), 0.0, True, False, {})
    with pytest.raises(ValueError, match="its step was replaced"):
        copy_environment(replaced)
