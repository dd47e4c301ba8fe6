"""What the neural agents share: copies of environments, spaces, going on, acting."""

import gymnasium
import numpy as np
import pytest
import torch

from pansophy.rl import DQN, PPO
from pansophy.rl.deep.abstract_agent import (
    detached_copy,
    raw_observation_space,
    vector_environments,
)
from pansophy.rl.deep.small_nets import he_mlp
from pansophy.rl.envs import CartPole, Corridor, Pendulum, ProbeWorld, VectorWorld
from pansophy.rl.experience.environment_copies import copy_environments

SMALL = {"hidden_layer_sizes": (4,), "random_state": 0}


class Uncopyable(ProbeWorld):
    def __deepcopy__(self, memo):
        raise RuntimeError("holds a window")


def test_copies_of_every_kind_of_environment():
    made = copy_environments("CartPole-v1", 3)
    assert len(made) == 3 and len({id(env.unwrapped) for env in made}) == 3
    own = ProbeWorld("both")
    one, two = copy_environments(own, 2)
    assert one is own and two is not own and two.probe == "both"
    assert copy_environments(own, 1) == [own]
    registered = gymnasium.make("CartPole-v1")
    first, other = copy_environments(registered, 2)
    assert first is registered and other.unwrapped is not registered.unwrapped
    assert len(copy_environments(lambda: ProbeWorld("both"), 2)) == 2


def test_what_is_no_environment_is_refused():
    with pytest.raises(TypeError, match="a function that makes one, got int"):
        copy_environments(3, 2)
    with pytest.raises(ValueError, match=r"Uncopyable cannot be copied .* n_envs=1"):
        copy_environments(Uncopyable("both"), 2)
    assert copy_environments(Uncopyable("both"), 1)


def test_worlds_with_a_compiled_twin_become_one():
    for env in ("CartPole-v1", gymnasium.make("CartPole-v1"), CartPole()):
        assert isinstance(vector_environments(env, 4), VectorWorld)
    watched = gymnasium.make("CartPole-v1", sutton_barto_reward=True)
    assert not isinstance(vector_environments(watched, 2), VectorWorld)
    many = VectorWorld(CartPole(), 5)
    assert vector_environments(many, 2) is many


class Described(gymnasium.Env):
    """Observations are dictionaries."""

    observation_space = gymnasium.spaces.Dict(
        a=gymnasium.spaces.Discrete(2), b=gymnasium.spaces.Box(-1, 1, (2,))
    )
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return {"a": 1, "b": np.array([0.5, -0.5], np.float32)}, {}

    def step(self, action):
        return self.reset()[0], 1.0, True, False, {}


def test_dictionaries_are_seen_as_rows():
    envs = vector_environments(Described(), 2)
    seen, _ = envs.reset(seed=0)
    np.testing.assert_allclose(seen, [[0.0, 1.0, 0.5, -0.5]] * 2)
    assert raw_observation_space(envs).spaces.keys() == {"a", "b"}
    for env in (Described(), Described):  # or a function that makes one
        agent = PPO(32, n_envs=2, horizon=4, **SMALL).fit(env)
        assert agent.act({"a": 0, "b": np.zeros(2)}) in (0, 1)  # the user's own form


def test_a_vector_environment_has_its_own_number():
    agent = PPO(60, n_envs=64, horizon=4, **SMALL).fit(VectorWorld(CartPole(), 3))
    assert agent.n_iter_ == 60


def test_going_on_needs_the_same_spaces():
    agent = DQN(40, n_envs=1, learning_starts=10, warm_start=True, **SMALL)
    agent.fit(Corridor(3, max_steps=9))
    first = agent.net_
    agent.fit(Corridor(3, max_steps=9))
    assert agent.n_steps_ == 80 and agent.n_iter_ == 40 and agent.net_ is not first
    with pytest.raises(ValueError, match="fitted to other spaces"):
        agent.fit(Corridor(4, max_steps=9))
    agent.set_params(warm_start=False).fit(Corridor(4, max_steps=9))
    assert agent.n_steps_ == 40


def test_actions_are_the_environments_own():
    agent = PPO(32, n_envs=2, horizon=4, **SMALL).fit(Corridor(3, max_steps=9))
    one = agent.act(0)
    assert isinstance(one, int)
    np.testing.assert_array_equal(agent.predict([0, 0]), [one, one])
    np.testing.assert_array_equal(agent.act_batch([0, 0]), [one, one])
    only = np.array([[False, True]])
    assert agent.predict([0], only)[0] == agent.act(0, mask=only[0]) == 1
    assert agent.value([0, 1, 2]).shape == (3,)


def test_bad_observations_and_parameters_are_named():
    agent = PPO(32, n_envs=2, horizon=4, **SMALL).fit(CartPole())
    with pytest.raises(ValueError, match=r"must have the shape \(4,\), got \(3,\)"):
        agent.predict(np.zeros((2, 3)))
    discrete = PPO(32, n_envs=2, horizon=4, **SMALL).fit(Corridor(3, max_steps=9))
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="NaN or an infinite number"):
            agent.act([bad, 0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="outside the environment's space"):
        discrete.predict([3])
    with pytest.raises(ValueError, match="no whole number"):
        discrete.predict([0.5])
    for mask, what in (
        ([[True]], r"must have the shape \(1, 2\)"),
        ([[False, False]], "forbids every action"),
    ):
        with pytest.raises(ValueError, match=what):
            discrete.predict([0], mask)
    turner = PPO(32, n_envs=2, horizon=4, **SMALL).fit(Pendulum())
    with pytest.raises(ValueError, match="for discrete actions"):
        turner.act([1.0, 0.0, 0.0], mask=[True])
    for options, name in (
        ({"hidden_layer_sizes": (0,)}, "hidden_layer_sizes"),
        ({"gamma": 1.5}, "gamma"),
        ({"device": 3}, "device"),
    ):
        with pytest.raises(ValueError, match=name):
            PPO(32, **options).fit(CartPole())
    with pytest.raises(ValueError, match="not fitted"):
        PPO(32).predict(np.zeros((1, 4)))


def test_a_detached_copy_shares_nothing(rng):
    net = he_mlp((2, 3), rng, "relu")
    for p in net.parameters():
        p.grad = torch.ones_like(p)
    made = detached_copy(net)
    assert all(p.grad is None and not p.requires_grad for p in made.parameters())
    assert all((p.grad == 1).all() for p in net.parameters())
    with torch.no_grad():
        net.weights[0].fill_(5.0)
    assert not (made.weights[0] == 5.0).any()


class NumberWorld(gymnasium.Env):
    """One step; its action is a number without axes."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    action_space = gymnasium.spaces.Box(-3.0, 5.0, ())

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), -abs(float(action) - 2.5), True, False, {}


def test_a_real_action_without_axes_is_not_cut_to_a_whole_number():
    agent = PPO(64, n_envs=2, horizon=8, **SMALL).fit(NumberWorld)
    action = agent.act(np.zeros(1))
    assert action.shape == () and action.dtype == np.float32
    assert float(action) == agent.predict(np.zeros((1, 1)))[0] != int(action)
