"""Catch: a ball falls down a board, a paddle below must be under it.

A probe for credit over a known delay: the ball starts in a random column of the top
row and falls one row a step; the last step pays 1 if the paddle is below it, else -1.
The best policy always gets 1.

Shapes    state (3, N): row and column of the ball, column of the paddle
          observation (N, rows, columns): the board, 1 at ball and paddle
Refs      [Osband2020]
"""

import gymnasium
import numpy as np

from . import _catch as loops
from .vector import SingleWorld


class Catch(SingleWorld):
    """A falling ball and a paddle; actions 0, 1, 2 move it left, not at all, right.

    Parameters
    ----------
    rows, columns : int
        Size of the board.

    Examples
    --------
    >>> from pansophy.rl.envs import Catch
    >>> env = Catch(3, 3)
    >>> env.reset(seed=1)[0].astype(int)
    array([[0, 0, 1],
           [0, 0, 0],
           [0, 1, 0]])
    """

    def __init__(self, rows=10, columns=5):
        if rows < 2 or columns < 1:
            raise ValueError(f"Catch needs 2 rows and 1 column, got {rows}, {columns}.")
        self.rows = int(rows)
        self.columns = int(columns)
        space = gymnasium.spaces.Box(0.0, 1.0, (self.rows, self.columns), np.float32)
        super().__init__(space, gymnasium.spaces.Discrete(3), max_steps=0)

    def new_state(self, n):
        return np.zeros((3, n), np.int64)

    def start_batch(self, state, stream, which):
        loops.start_catches(state, self.columns, stream, which)

    def observe_batch(self, state, which, observation):
        loops.observe_catches(state, which, observation)

    def step_batch(self, state, action, stream, outcome, columns):
        loops.step_catches(state, action, outcome, *columns)
