"""Which environments are stepped by compiled loops."""

import gymnasium
import numpy as np
import pytest

from pansophy.rl import PPO, QLearning, evaluate_agent, rollout
from pansophy.rl.envs import CartPole, Corridor
from pansophy.rl.experience.compiled_worlds import COMPILED_WORLDS, compiled_world


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


@pytest.mark.parametrize("name", COMPILED_WORLDS)
def test_an_environment_that_was_played_still_has_its_twin(name):
    env = gymnasium.make(name)
    env.reset(seed=0)
    env.step(env.action_space.sample())
    assert compiled_world(env) is not None


CHANGES = {
    "CartPole-v1": {"force_mag": 0.0},
    "MountainCar-v0": {"force": 0.05},
    "Acrobot-v1": {"AVAIL_TORQUE": [-5.0, 0.0, 5.0]},
    "Pendulum-v1": {"g": 0.0, "max_torque": 0.0},
    "CliffWalking-v1": {"something_new": 1},
}


@pytest.mark.parametrize("name", CHANGES)
def test_changed_attributes_take_away_the_twin(name):
    env = gymnasium.make(name)
    for attribute, value in CHANGES[name].items():
        setattr(env.unwrapped, attribute, value)
    assert compiled_world(env) is None


class Constant:
    """The same action always, by `act` or by `act_batch`."""

    def __init__(self, action, batch):
        self.action = action
        if batch:
            self.act_batch = lambda X, rng: np.array([action] * len(X))

    def act(self, observation, rng):
        return self.action


@pytest.mark.parametrize("name", ["CartPole-v1", "MountainCar-v0", "Pendulum-v1"])
def test_one_changed_environment_has_one_evaluation(name):
    """Gymnasium's own steps are the oracle; the agent's methods do not matter."""
    env = gymnasium.make(name)
    for attribute, value in CHANGES[name].items():
        setattr(env.unwrapped, attribute, value)
    action = env.action_space.high if name == "Pendulum-v1" else 0
    one = evaluate_agent(Constant(action, batch=True), env, 3)
    two = evaluate_agent(Constant(action, batch=False), env, 3)
    np.testing.assert_array_equal(one.returns, two.returns)
    if name == "CartPole-v1":  # no force: the pole falls by itself, slowly
        assert one.returns.min() > 12


def test_agents_learn_in_the_changed_world():
    env = gymnasium.make("CartPole-v1")
    env.unwrapped.force_mag = 0.0
    agent = PPO(6000, random_state=0).fit(env)
    # no action does anything: no training helps, all returns are those of falling
    fallen = rollout(env, Constant(0, batch=False), n_episodes=60, random_state=1)
    low, high = fallen.returns.min() / 2, 2 * fallen.returns.max()
    assert low < agent.history_["return"].min()
    assert agent.history_["return"].max() < high


class Reversed(CartPole):
    """Steps that pay the opposite."""

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return observation, -reward, *rest


class PaidCorridor(Corridor):
    """Every step pays 5."""

    def step(self, action):
        observation, _, *rest = super().step(action)
        return observation, 5.0, *rest


def test_subclasses_and_replaced_methods_are_stepped_themselves():
    assert compiled_world(Reversed()) is None
    assert evaluate_agent(Constant(0, batch=True), Reversed(), 3).returns.max() < 0
    replaced = CartPole()
    replaced.step = lambda action: (np.zeros(4, np.float32), 3.0, True, False, {})
    assert compiled_world(replaced) is None
    wrapped = gymnasium.make("CartPole-v1")
    wrapped.step = lambda action: (np.zeros(4, np.float32), 3.0, True, False, {})
    assert compiled_world(wrapped) is None
    paid = QLearning(200, random_state=0).fit(PaidCorridor(3, max_steps=9))
    assert (paid.history_["return"] == 5.0 * paid.history_["length"]).all()
