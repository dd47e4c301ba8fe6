"""Catch: a ball falls down a board, a paddle below must be under it.

A probe for credit over a known delay: the ball starts in a random column of the top
row and falls one row a step; the last step pays 1 if the paddle is below it, else -1.
The best policy always gets 1.

Shapes    state (3, N): row and column of the ball, column of the paddle
          observation (N, rows, columns): the board, 1 at ball and paddle; or, as
          pixels, (N, rows k, columns k, 1) bytes, 255 there
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
    pixels : int
        k > 0: observations are grey pictures with k x k pixels for each cell, for
        agents that learn from images; 0: the board itself.
    render_mode : {"rgb_array"} or None

    Examples
    --------
    >>> from pansophy.rl.envs import Catch
    >>> env = Catch(3, 3)
    >>> env.reset(seed=1)[0].astype(int)
    array([[0, 0, 1],
           [0, 0, 0],
           [0, 1, 0]])
    """

    def __init__(self, rows=10, columns=5, *, pixels=0, render_mode=None):
        if rows < 2 or columns < 1 or pixels < 0:
            raise ValueError(
                "Catch needs 2 rows, 1 column and pixels of at least 0, got "
                f"{rows}, {columns}, {pixels}."
            )
        self.rows = int(rows)
        self.columns = int(columns)
        self.pixels = int(pixels)
        space = gymnasium.spaces.Box(0.0, 1.0, (self.rows, self.columns), np.float32)
        if self.pixels:
            shape = (self.rows * self.pixels, self.columns * self.pixels, 1)
            space = gymnasium.spaces.Box(0, 255, shape, np.uint8)
        super().__init__(space, gymnasium.spaces.Discrete(3), 0, render_mode)

    def new_state(self, n):
        return np.zeros((3, n), np.int64)

    def start_batch(self, state, stream, which):
        loops.start_catches(state, self.columns, stream, which)

    def observe_batch(self, state, which, observation):
        if not self.pixels:
            loops.observe_catches(state, which, observation)
            return
        board = np.empty((state.shape[1], self.rows, self.columns), np.float32)
        loops.observe_catches(state, which, board)
        observation[which] = self.as_pixels(board[which])

    def as_pixels(self, board) -> np.ndarray:
        """Boards (n, rows, columns) as grey pictures."""
        grey = (255 * board).astype(np.uint8)
        return grey.repeat(self.pixels, 1).repeat(self.pixels, 2)[..., None]

    def step_batch(self, state, action, stream, outcome, columns):
        if not self.pixels:
            loops.step_catches(state, action, outcome, *columns)
            return
        board = np.empty((state.shape[1], self.rows, self.columns), np.float32)
        small = outcome._replace(observation=board)
        loops.step_catches(state, action, small, *columns)
        lo, hi = columns
        outcome.observation[lo:hi] = self.as_pixels(board[lo:hi])
