"""Environments that give less than Gymnasium's contract get one clear sentence."""

import warnings

import gymnasium
import numpy as np
import pytest

from pansophy.rl import (
    A2C,
    DQN,
    PPO,
    SAC,
    TD3,
    LinearQ,
    QLearning,
    evaluate_agent,
    gather,
    rollout,
)
from pansophy.rl.envs import check_environment

BOX = gymnasium.spaces.Box(-1, 1, (2,))


class Faulty(gymnasium.Env):
    """Episodes of 12 steps with one fault, at step 10 where that says something."""

    observation_space = BOX

    def __init__(self, fault, continuous=False):
        self.fault = fault
        real = gymnasium.spaces.Box(-1.0, 1.0, (1,))
        self.action_space = real if continuous else gymnasium.spaces.Discrete(2)

    def seen(self):
        return np.full(2, 0.5, np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.seen(), {}

    def step(self, action):
        self.t += 1
        late = self.t == 10
        observation, reward = self.seen(), 1.0
        if late and self.fault == "shape":
            observation = np.zeros(3, np.float32)
        elif late and self.fault == "nan seen":
            observation = np.full(2, np.nan, np.float32)
        elif late and not isinstance(self.fault, str):
            reward = self.fault
        return observation, reward, self.t == 12, False, {}


class OldStep(Faulty):
    def step(self, action):
        return self.seen(), 1.0, False, {}


class NoInfo(Faulty):
    def reset(self, *, seed=None, options=None):
        self.t = 0
        return self.seen()


class NoSeed(Faulty):
    def reset(self):
        self.t = 0
        return self.seen(), {}


class NoSpaces:
    def reset(self, *, seed=None, options=None):
        return np.zeros(2), {}

    def step(self, action):
        return np.zeros(2), 1.0, True, False, {}


class Always:
    def act(self, observation, rng):
        return 0


AGENTS = {
    "ppo": lambda: PPO(200, n_envs=2, horizon=8, random_state=0),
    "a2c": lambda: A2C(200, n_envs=2, random_state=0),
    "dqn": lambda: DQN(200, learning_starts=10, random_state=0),
    "linear": lambda: LinearQ(n_steps=200, random_state=0),
}
REAL = {
    "sac": lambda: SAC(100, learning_starts=5, random_state=0),
    "td3": lambda: TD3(100, learning_starts=5, random_state=0),
}


@pytest.mark.parametrize("reward", [np.nan, None, np.inf, np.ones(1)])
@pytest.mark.parametrize("name", [*AGENTS, *REAL])
def test_a_reward_that_is_no_number_is_named_with_its_step(name, reward):
    env = Faulty(reward, continuous=name in REAL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"reward of step 10 .*check_environment"):
            (AGENTS | REAL)[name]().fit(env)


def test_other_loops_name_it_too():
    always = Always()
    for play in (
        lambda env: rollout(env, always, n_episodes=1, random_state=0),
        lambda env: evaluate_agent(always, env, 1),
        lambda env: gather(env, always, 20, random_state=0),
    ):
        with pytest.raises(ValueError, match=r"reward of step 10 .*nan, no finite"):
            play(Faulty(np.nan))
    with pytest.raises(ValueError, match="too great for nets"):
        AGENTS["dqn"]().fit(Faulty(1e200))


@pytest.mark.parametrize("name", [*AGENTS, *REAL])
def test_observations_that_are_not_finite_are_named(name):
    env = Faulty("nan seen", continuous=name in REAL)
    with pytest.raises(ValueError, match=r"observation.*step \d+ .*NaN"):
        (AGENTS | REAL)[name]().fit(env)


CONTRACT = {
    OldStep: r"step of OldStep returned 4 things \(the form of Gym before",
    NoInfo: r"reset of NoInfo does not return \(observation, info\)",
    NoSeed: "NoSeed takes no seed",
}


@pytest.mark.parametrize("kind", CONTRACT)
@pytest.mark.parametrize("name", AGENTS)
def test_broken_contracts_are_named(kind, name):
    with pytest.raises(TypeError, match=CONTRACT[kind] + ".*check_environment"):
        AGENTS[name]().fit(kind("none"))
    with pytest.raises(TypeError, match=CONTRACT[kind]):
        evaluate_agent(Always(), kind("none"), 1)


def test_shapes_and_spaces_are_named():
    for name in ("ppo", "dqn"):
        with pytest.raises(ValueError, match=r"after step 10 .* \(3,\), its space"):
            AGENTS[name]().fit(Faulty("shape"))
        with pytest.raises(TypeError, match="NoSpaces has no observation_space"):
            AGENTS[name]().fit(NoSpaces())
        empty = Faulty("none")
        empty.observation_space = gymnasium.spaces.Box(-1, 1, (0,))
        empty.seen = lambda: np.zeros(0, np.float32)
        with pytest.raises(ValueError, match="hold no number"):
            AGENTS[name]().fit(empty)
        foreign = type("DummyVecEnv", (), {"num_envs": 2})()
        with pytest.raises(TypeError, match="no vector environment of Gymnasium"):
            AGENTS[name]().fit(foreign)
    for agent in (QLearning(50), LinearQ(n_steps=50)):
        with pytest.raises(TypeError, match=r"NoSpaces"):
            agent.fit(NoSpaces())


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (OldStep, "step does not return five things"),
        (NoInfo, "reset returns no info"),
        (NoSeed, "reset takes no seed"),
    ],
)
def test_the_checker_finds_them_and_does_not_fall_over(kind, problem):
    assert problem in [found.kind for found in check_environment(kind("none"))]


def test_the_checker_finds_rewards_that_are_none_or_arrays():
    for reward in (None, np.ones(1)):
        kinds = [found.kind for found in check_environment(Faulty(reward))]
        assert kinds == ["reward is no finite number"]
