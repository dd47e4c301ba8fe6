"""Pendulum: swing up a rod by a bounded torque and hold it there.

With theta the angle from upright, u in [-2, 2] the torque, g = 10, m = l = 1:

    theta' <- clip(theta' + 0.05 (3 g / (2 l) sin theta + 3 u / (m l^2)), -8, 8)
    theta  <- theta + 0.05 theta'

A step costs theta^2 + 0.1 theta'^2 + 0.001 u^2 (before it, theta within half a turn).
There is no end, only the time limit. The numbers are those of Gymnasium's Pendulum-v1.

Shapes    state (2, N): theta, theta'   observation (N, 3): cos, sin, theta'
"""

import gymnasium
import numpy as np

from . import _pendulum as loops
from .vector import SingleWorld


class Pendulum(SingleWorld):
    """Gymnasium's Pendulum-v1 on compiled loops; actions are arrays of one torque.

    Parameters
    ----------
    max_steps : int
        Steps after which an episode is cut off; 0: never.
    render_mode : {"rgb_array"} or None

    Examples
    --------
    >>> from pansophy.rl.envs import Pendulum
    >>> env = Pendulum()
    >>> env.reset(seed=0)[0].round(4)
    array([ 0.652 ,  0.7582, -0.4604], dtype=float32)
    """

    def __init__(self, *, max_steps=200, render_mode=None):
        high = np.array([1.0, 1.0, 8.0], np.float32)
        space = gymnasium.spaces.Box(-high, high, dtype=np.float32)
        torque = gymnasium.spaces.Box(-2.0, 2.0, (1,), np.float32)
        super().__init__(space, torque, max_steps, render_mode)

    def new_state(self, n):
        return np.zeros((2, n))

    def draw_start(self):
        high = np.array([np.pi, 1.0])
        self.state[:, 0] = self.np_random.uniform(-high, high)

    def start_batch(self, state, stream, which):
        loops.start_pendulums(state, stream, which)

    def observe_batch(self, state, which, observation):
        loops.observe_pendulums(state, which, observation)

    def step_batch(self, state, action, stream, outcome, columns):
        loops.step_pendulums(state, action, outcome, *columns)
