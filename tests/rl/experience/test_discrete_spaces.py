"""Discrete spaces of several parts."""

import gymnasium
import numpy as np
import pytest

from pansophy.rl import (
    QLearning,
    rollout,
)
from pansophy.rl.experience.discrete_spaces import observation_encoder, space_sizes


def test_other_discrete_spaces_go_through_the_environment():
    model = QLearning(n_steps=3000, random_state=0)
    model.fit(gymnasium.make("Blackjack-v1"))  # a tuple of three numbers
    assert model.Q_.shape == (32 * 11 * 2, 2) and model.visits_.sum() == 3000
    assert model.act((20, 10, 0)) == model.policy_[(20 * 11 + 10) * 2]
    played = rollout(gymnasium.make("Blackjack-v1"), model, n_episodes=20)
    assert len(played.returns) == 20

    class Shifted(gymnasium.Env):
        observation_space = gymnasium.spaces.MultiDiscrete([2, 3])
        action_space = gymnasium.spaces.Discrete(2, start=5)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return np.array([0, 0]), {}

        def step(self, action):
            assert action in (5, 6)
            return np.array([1, 2]), float(action == 6), True, False, {}

    model.set_params(n_steps=200).fit(Shifted())
    assert model.Q_.shape == (6, 2) and model.policy_[0] == 1
    np.testing.assert_array_equal(model.predict([[0, 0], (0, 0)]), [6, 6])
    with pytest.raises(ValueError, match="outside the environment"):
        model.act((5, 2))

    class Several(Shifted):
        observation_space = gymnasium.spaces.Tuple(
            [gymnasium.spaces.MultiBinary(2), gymnasium.spaces.Discrete(3, start=-1)]
        )
        action_space = gymnasium.spaces.MultiDiscrete([2, 2])

    with pytest.raises(ValueError, match="one action at a time"):
        model.fit(Several())
    sizes, starts = space_sizes(Several.observation_space)
    codes = [
        observation_encoder(sizes, starts)((np.array([a, b]), c))
        for a in (0, 1)
        for b in (0, 1)
        for c in (-1, 0, 1)
    ]
    assert codes == list(range(12))
    with pytest.raises(ValueError, match="discrete spaces"):
        model.fit(gymnasium.make("CartPole-v1"))


def test_values_outside_a_space_are_refused():
    encode = observation_encoder([3], [1])
    for value in (1, np.int64(1), np.array(1), np.array([1]), 1.0):
        assert encode(value) == 0
    for value in (0, 4, -1, 1.5, "a", None, [1, 2]):
        with pytest.raises(ValueError, match="outside the environment's space"):
            encode(value)
