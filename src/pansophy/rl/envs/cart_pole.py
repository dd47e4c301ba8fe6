"""Cart pole: keep a pole upright on a cart by pushing the cart left or right.

With x the cart's place, theta the pole's angle from upright, F = 10 or -10 the push,
m = 0.1 and M = 1 the masses of pole and cart, l = 0.5 half the pole's length:

    h       = (F + m l theta'^2 sin theta) / (m + M)
    theta'' = (g sin theta - h cos theta) / (l (4/3 - m cos^2 theta / (m + M)))
    x''     = h - m l theta'' cos theta / (m + M)

integrated by Euler's method with steps of 0.02 s. Every step pays 1. The episode ends
when |x| > 2.4 or |theta| > 12 degrees. The numbers are Gymnasium's (CartPole-v1).

Shapes    state (4, N): x, x', theta, theta'
Refs      [Barto1983]
"""

import gymnasium
import numpy as np

from . import _cart_pole as loops
from .vector import SingleWorld


class CartPole(SingleWorld):
    """Gymnasium's CartPole-v1 on compiled loops.

    Actions: 0 pushes to the left, 1 to the right. Observations: x, x', theta, theta'.

    Parameters
    ----------
    max_steps : int
        Steps after which an episode is cut off; 0: never.
    render_mode : {"rgb_array"} or None

    Examples
    --------
    >>> from pansophy.rl.envs import CartPole
    >>> env = CartPole()
    >>> env.reset(seed=0)[0].round(4)
    array([ 0.0137, -0.023 , -0.0459, -0.0483], dtype=float32)
    """

    def __init__(self, *, max_steps=500, render_mode=None):
        high = np.array([4.8, np.inf, 24 * np.pi / 180, np.inf], np.float32)
        space = gymnasium.spaces.Box(-high, high, dtype=np.float32)
        super().__init__(space, gymnasium.spaces.Discrete(2), max_steps, render_mode)

    def new_state(self, n):
        return np.zeros((4, n))

    def draw_start(self):
        self.state[:, 0] = self.np_random.uniform(-0.05, 0.05, 4)

    def start_batch(self, state, stream, which):
        loops.start_cart_poles(state, stream, which)

    def observe_batch(self, state, which, observation):
        observation[which] = state.T[which]

    def step_batch(self, state, action, stream, outcome, columns):
        loops.step_cart_poles(state, action, outcome, *columns)
