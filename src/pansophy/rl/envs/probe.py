"""Probe worlds: tiny environments in which each kind of bug of an agent shows alone.

    constant      one step, reward 1                             V = 1
    observation   one step, reward = what is seen (+-1)          V(x) = x
    discount      two steps, reward 1 after the second           V = gamma, 1
    action        one step, reward 1 for action 1, else -1       the policy
    both          one step, reward 1 for the action seen         policy by observation
    endless       reward 1 for ever, cut off after 10 steps      V = 1 / (1 - gamma)

An agent that fails `constant` has a wrong value loss or optimiser; `observation`, does
not look at its input; `discount`, discounts or bootstraps wrongly; `action`, a wrong
policy gradient; `both`, mixes up rows; `endless`, takes time limits for ends (for gamma
0.9 its value is then 6.5 instead of 10). With `continuous=True` actions are numbers
from -1 to 1 and the best is 0.5 times what it is in the discrete world (1 or -1).
"""

from typing import Literal, get_args

import gymnasium
import numpy as np

from .pictures import draw_observation
from .vector import checked_render_mode

Probe = Literal["constant", "observation", "discount", "action", "both", "endless"]
PROBES = get_args(Probe)


class ProbeWorld(gymnasium.Env):
    """One of the probe worlds.

    Parameters
    ----------
    probe : {"constant", "observation", "discount", "action", "both", "endless"}
    continuous : bool
        Whether actions are real numbers.
    render_mode : {"rgb_array"} or None

    Examples
    --------
    >>> from pansophy.rl.envs import ProbeWorld
    >>> env = ProbeWorld("action")
    >>> env.reset(seed=0)[0], env.step(1)[1]
    (array([0.], dtype=float32), 1.0)
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}

    def __init__(self, probe: Probe, *, continuous=False, render_mode=None):
        if probe not in PROBES:
            raise ValueError(
                f"probe must be one of {', '.join(PROBES)}, got {probe!r}."
            )
        self.render_mode = checked_render_mode(self, render_mode)
        self.probe = probe
        self.continuous = bool(continuous)
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        if continuous:
            self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        else:
            self.action_space = gymnasium.spaces.Discrete(2)
        self.seen = 0.0
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        self.seen = 0.0
        if self.probe in ("observation", "both"):
            self.seen = 2.0 * self.np_random.integers(2) - 1.0
        return self._observation(), {}

    def step(self, action):
        self.steps += 1
        reward = self._reward(action)
        if self.probe == "endless":
            return self._observation(), reward, False, self.steps == 10, {}
        if self.probe == "discount" and self.steps == 1:
            self.seen = 1.0
            return self._observation(), 0.0, False, False, {}
        return self._observation(), reward, True, False, {}

    def render(self):
        """A bar of what is seen, in the mode "rgb_array"."""
        if self.render_mode is None:
            return None
        return draw_observation("ProbeWorld", self._observation())

    def _observation(self):
        return np.array([self.seen], np.float32)

    def _reward(self, action) -> float:
        if self.probe == "observation":
            return self.seen
        if self.probe not in ("action", "both"):
            return 1.0
        wanted = self.seen if self.probe == "both" else 1.0
        if self.continuous:
            return 1.0 - 4.0 * (float(np.ravel(action)[0]) - 0.5 * wanted) ** 2
        return 1.0 if (2 * int(action) - 1) == wanted else -1.0
