"""Mountain car: rock an underpowered car out of a valley.

With p the car's place, v its speed and a in {0, 1, 2} a push to the left, none or to
the right,

    v <- clip(v + 0.001 (a - 1) - 0.0025 cos 3p, -0.07, 0.07),   p <- p + v

and a wall at p = -1.2 stops it. Every step costs 1; the episode ends at p >= 0.5. The
numbers are those of Gymnasium's MountainCar-v0.

Shapes    state (2, N): p, v
Refs      [Moore1990]
"""

import gymnasium
import numpy as np

from . import _mountain_car as loops
from .vector import SingleWorld


class MountainCar(SingleWorld):
    """Gymnasium's MountainCar-v0 on compiled loops.

    Parameters
    ----------
    max_steps : int
        Steps after which an episode is cut off; 0: never.
    render_mode : {"rgb_array"} or None

    Examples
    --------
    >>> from pansophy.rl.envs import MountainCar
    >>> env = MountainCar()
    >>> env.reset(seed=0)[0].round(4)
    array([-0.4726,  0.    ], dtype=float32)
    """

    def __init__(self, *, max_steps=200, render_mode=None):
        low = np.array([-1.2, -0.07], np.float32)
        high = np.array([0.6, 0.07], np.float32)
        space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        super().__init__(space, gymnasium.spaces.Discrete(3), max_steps, render_mode)

    def new_state(self, n):
        return np.zeros((2, n))

    def draw_start(self):
        self.state[:, 0] = self.np_random.uniform(-0.6, -0.4), 0.0

    def start_batch(self, state, stream, which):
        loops.start_mountain_cars(state, stream, which)

    def observe_batch(self, state, which, observation):
        observation[which] = state.T[which]

    def step_batch(self, state, action, stream, outcome, columns):
        loops.step_mountain_cars(state, action, outcome, *columns)
