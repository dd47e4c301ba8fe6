"""Acrobot: swing two linked rods up by a torque at the joint between them.

theta_1 is the angle of the first rod from straight down, theta_2 that of the second
relative to the first. Both have mass, length and moment of inertia 1, their centres lie
at 0.5, and a in {-1, 0, 1} is the torque. With c_2 = cos theta_2, s_2 = sin theta_2:

    d_1   = 3.5 + c_2,    d_2 = 1.25 + 0.5 c_2
    phi_2 = 0.5 g cos(theta_1 + theta_2 - pi/2)
    phi_1 = -0.5 theta_2'^2 s_2 - theta_2' theta_1' s_2
            + 1.5 g cos(theta_1 - pi/2) + phi_2
    theta_2'' = (a + d_2 phi_1 / d_1 - 0.5 theta_1'^2 s_2 - phi_2)
                / (1.25 - d_2^2 / d_1)
    theta_1'' = -(d_2 theta_2'' + phi_1) / d_1

integrated over 0.2 s by one Runge-Kutta step of order 4; angles are then taken within
half a turn and speeds clipped at 4 pi and 9 pi. Every step costs 1 but the last, which
lifts the end by more than one rod above the hinge: -cos theta_1 - cos(theta_1 +
theta_2) > 1. The numbers are those of Gymnasium's Acrobot-v1.

Shapes    state (4, N): theta_1, theta_2, theta_1', theta_2'   observation (N, 6)
Refs      [Sutton1996]
"""

import gymnasium
import numpy as np

from . import _acrobot as loops
from .vector import SingleWorld


class Acrobot(SingleWorld):
    """Gymnasium's Acrobot-v1 on compiled loops.

    Actions 0, 1, 2 are the torques -1, 0, 1; observations are cos and sin of both
    angles and the two speeds.

    Parameters
    ----------
    max_steps : int
        Steps after which an episode is cut off; 0: never.
    render_mode : {"rgb_array"} or None

    Examples
    --------
    >>> from pansophy.rl.envs import Acrobot
    >>> env = Acrobot()
    >>> env.reset(seed=0)[0].round(4)
    array([ 0.9996,  0.0274,  0.9989, -0.046 , -0.0918, -0.0967], dtype=float32)
    """

    def __init__(self, *, max_steps=500, render_mode=None):
        high = np.array([1, 1, 1, 1, 4 * np.pi, 9 * np.pi], np.float32)
        space = gymnasium.spaces.Box(-high, high, dtype=np.float32)
        super().__init__(space, gymnasium.spaces.Discrete(3), max_steps, render_mode)

    def new_state(self, n):
        return np.zeros((4, n))

    def draw_start(self):
        # Gymnasium rounds the first state to single precision
        self.state[:, 0] = self.np_random.uniform(-0.1, 0.1, 4).astype(np.float32)

    def start_batch(self, state, stream, which):
        loops.start_acrobots(state, stream, which)

    def observe_batch(self, state, which, observation):
        loops.observe_acrobots(state, which, observation)

    def step_batch(self, state, action, stream, outcome, columns):
        loops.step_acrobots(state, action, outcome, *columns)
