"""The environment checker finds what it is for."""

import gymnasium
import numpy as np
import pytest

from pansophy.rl.envs import CartPole, check_environment


class Broken(gymnasium.Env):
    """A world with one fault."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, fault):
        self.fault = fault
        self.t = 0
        if fault == "unbounded actions":
            self.action_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,))

    def seen(self):
        value = 0.5
        if self.fault == "observation outside its space":
            value = 2.0
        if self.fault == "observation is not finite":
            value = np.nan
        if self.fault == "same seed, different episode":
            value = np.random.default_rng().random()
        masks = {
            "mask forbids every action": np.zeros(2),
            "mask does not fit the actions": np.ones(3),
        }
        info = {"action_mask": masks[self.fault]} if self.fault in masks else {}
        return np.array([value], np.float32), info

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.seen()

    def step(self, action):
        self.t += 1
        observation, info = self.seen()
        reward = np.nan if self.fault == "reward is no finite number" else 0.0
        end = self.t == 5 and self.fault != "no episode ended"
        end = int(end) if self.fault == "end is no flag" else end
        return observation, reward, end, False, info


FAULTS = [
    "observation outside its space",
    "observation is not finite",
    "same seed, different episode",
    "reward is no finite number",
    "end is no flag",
    "no episode ended",
    "unbounded actions",
    "mask forbids every action",
    "mask does not fit the actions",
]


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(fault):
    kinds = [problem.kind for problem in check_environment(Broken(fault))]
    assert fault in kinds
    also = {"observation is not finite": {"observation outside its space"}}
    assert set(kinds) - {fault} <= also.get(fault, set())
    assert fault in str(check_environment(Broken(fault))[-1]) or len(kinds) > 1


def test_a_sound_world_passes():
    assert check_environment(Broken("none")) == []
    assert check_environment(gymnasium.make("CartPole-v1")) == []
    with pytest.raises(TypeError, match="no observation_space"):
        check_environment(object())
    assert check_environment(CartPole(), n_steps=10) == []
