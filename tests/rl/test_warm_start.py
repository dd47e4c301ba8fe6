"""A fit in parts with warm_start is the fit in one go, bit for bit."""

import pickle
import warnings

import gymnasium
import numpy as np
import pytest

import pansophy
from pansophy.rl import A2C, DQN, PPO, REINFORCE, SAC, TD3
from pansophy.rl.deep.replay import ReplayBuffer
from pansophy.rl.envs import CartPole

SMALL = {"hidden_layer_sizes": (8, 8), "random_state": 0}
REPLAY = {"learning_starts": 150, "batch_size": 16}
BATTERY = {
    "ppo": (PPO, {"horizon": 16, "anneal": False}, "CartPole-v1"),
    "ppo scaled": (
        PPO,
        {
            "horizon": 16,
            "anneal": False,
            "normalize_rewards": True,
            "normalize_observations": True,
        },
        "Pendulum-v1",
    ),
    "ppo gru": (PPO, {"horizon": 16, "anneal": False, "memory": "gru"}, "CartPole-v1"),
    "a2c": (A2C, {"horizon": 16, "anneal": False}, "CartPole-v1"),
    "reinforce": (REINFORCE, {"horizon": 16, "anneal": False}, "CartPole-v1"),
    "dqn": (DQN, {"target_interval": 70, **REPLAY}, "CartPole-v1"),
    "dqn n-step": (
        DQN,
        {
            "n_step": 3,
            "priority_exponent": 0.6,
            "importance_exponent": 1.0,
            "ema_decay": 0.9,
            **REPLAY,
        },
        "CartPole-v1",
    ),
    "sac": (SAC, REPLAY, "Pendulum-v1"),
    "td3": (TD3, REPLAY, "Pendulum-v1"),
}


def all_weights(agent):
    return np.concatenate([p.numpy().ravel() for p in agent.net_.parameters()])


def fit_parts(agent, env, part, total):
    returns = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the first part has learnt nothing
        for _ in range(total // part):
            agent.set_params(n_steps=part, warm_start=True).fit(env)
            returns.append(agent.history_["return"])
    return np.concatenate(returns)


@pytest.mark.parametrize("name", BATTERY)
def test_parts_equal_the_whole(name):
    kind, options, world = BATTERY[name]
    whole = kind(512, **SMALL, **options).fit(world)
    parts = kind(**SMALL, **options)
    returns = fit_parts(parts, world, 128, 512)
    np.testing.assert_array_equal(all_weights(whole), all_weights(parts))
    np.testing.assert_array_equal(whole.history_["return"], returns)
    assert parts.n_steps_ == whole.n_steps_ == 512


@pytest.mark.parametrize("name", ["ppo", "dqn"])
def test_parts_equal_the_whole_in_a_users_environment(name):
    kind, options, _ = BATTERY[name]
    limited = lambda: gymnasium.wrappers.TimeLimit(CartPole(max_steps=0), 37)
    whole = kind(512, **SMALL, **options).fit(limited())
    parts = kind(**SMALL, **options)
    fit_parts(parts, limited(), 128, 512)
    np.testing.assert_array_equal(all_weights(whole), all_weights(parts))


def test_the_buffer_is_kept_so_that_learning_goes_on_at_once():
    agent = SAC(220, learning_starts=200, warm_start=True, **SMALL).fit("Pendulum-v1")
    before = all_weights(agent)
    agent.set_params(n_steps=10).fit("Pendulum-v1")
    assert not np.array_equal(before, all_weights(agent))
    assert len(agent._paused_run.learner.buffer) == 230


def test_an_environment_that_was_used_meanwhile_is_reset():
    env = gymnasium.wrappers.TimeLimit(CartPole(max_steps=0), 37)
    agent = DQN(128, n_envs=1, warm_start=True, **SMALL, **REPLAY)
    with pytest.warns(UserWarning, match="has learnt nothing"):
        agent.fit(env)
    held = agent._paused_run
    assert held.is_of(env)
    env.reset(seed=5)
    assert not held.is_of(env)
    agent.fit(env)
    buffer = agent._paused_run.learner.buffer
    assert len(buffer) == 256
    # the step before the reset is no predecessor of the one after
    assert buffer.columns["done"][127]
    env.unwrapped.max_steps = 5  # other settings: other environments, the same buffer
    agent.fit(env)
    assert len(agent._paused_run.learner.buffer) == 384


def test_other_parameters_go_on_from_the_nets():
    agent = PPO(128, horizon=16, warm_start=True, **SMALL).fit("CartPole-v1")
    old = agent._paused_run.learner
    agent.set_params(learning_rate=1e-5).fit("CartPole-v1")
    new = agent._paused_run.learner
    assert new is not old and new.agent.learning_rate == 1e-5
    assert agent.n_steps_ == 256


def test_saved_agents_leave_their_environments_behind(tmp_path):
    agent = PPO(128, horizon=16, warm_start=True, **SMALL).fit("CartPole-v1")
    pansophy.save(agent, tmp_path / "agent.pansophy")
    for other in (
        pickle.loads(pickle.dumps(agent)),
        pansophy.load(tmp_path / "agent.pansophy"),
    ):
        assert not hasattr(other, "_paused_run")
        np.testing.assert_array_equal(all_weights(other), all_weights(agent))
        other.fit("CartPole-v1")
        assert other.n_steps_ == 256
    assert not hasattr(PPO(64, horizon=8, **SMALL).fit("CartPole-v1"), "_paused_run")


def test_a_buffer_can_be_cut(rng):
    from pansophy.rl import Policy, gather
    from pansophy.rl.envs import Corridor

    buffer = ReplayBuffer(8, gamma=0.5, n_steps=3)
    buffer.end_episodes()  # nothing is held
    steps = gather(Corridor(9), Policy([0] * 9), 2, random_state=0)
    buffer.extend(steps)
    buffer.end_episodes()
    buffer.extend(steps)
    batch = buffer.batch(np.array([0, 1, 2]), np.ones(3))
    # two steps, one step and two steps: never over the cut
    np.testing.assert_array_equal(batch.discount, [0.25, 0.5, 0.25])
