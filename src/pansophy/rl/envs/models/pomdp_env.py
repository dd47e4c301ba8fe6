"""A POMDP as an environment that hides its state, and the tiger.

An observation is the number of what was seen, 0 to O - 1; the observation of a reset,
before anything was seen, is O. Chance: an action in state s draws the next state, then
what is seen there.

Shapes    state (1, N)
"""

import gymnasium
import numpy as np

from ...pomdp.pomcp import cumulative_rows
from ...pomdp.pomdp import POMDP, tiger_problem
from ..vector import SingleWorld
from . import _pomdp_env as loops


class POMDPEnv(SingleWorld):
    """Any POMDP as an environment.

    Parameters
    ----------
    model : POMDP
    max_steps : int
        Steps after which an episode is cut off; 0: never.
    render_mode : {"rgb_array"} or None

    Examples
    --------
    >>> from pansophy.rl import tiger_problem
    >>> from pansophy.rl.envs import POMDPEnv
    >>> env = POMDPEnv(tiger_problem(), max_steps=10)
    >>> env.reset(seed=0)  # nothing was heard yet
    (2, {})
    """

    def __init__(self, model: POMDP, *, max_steps=100, render_mode=None):
        self.model = model
        self.tables = loops.DrawTables(
            cumulative_rows(model.start),
            cumulative_rows(model.T),
            cumulative_rows(model.Z),
            model.r,
        )
        space = gymnasium.spaces.Discrete(model.n_observations + 1)
        actions = gymnasium.spaces.Discrete(model.n_actions)
        super().__init__(space, actions, max_steps, render_mode)

    def new_state(self, n):
        return np.zeros((1, n), np.int64)

    def start_batch(self, state, stream, which):
        loops.start_hidden(state[0], self.tables, stream, which)

    def observe_batch(self, state, which, observation):
        observation[which] = self.model.n_observations

    def step_batch(self, state, action, stream, outcome, columns):
        loops.step_hidden(state[0], action, self.tables, stream, outcome, *columns)


class Tiger(POMDPEnv):
    """Behind which of two doors is the tiger? See `rl.tiger_problem`.

    Parameters
    ----------
    accuracy : float
        Probability of hearing the tiger on its side.
    max_steps : int
        Steps after which an episode is cut off; 0: never.
    render_mode : {"rgb_array"} or None
    """

    def __init__(self, accuracy=0.85, *, max_steps=100, render_mode=None):
        model = tiger_problem(accuracy)
        super().__init__(model, max_steps=max_steps, render_mode=render_mode)
