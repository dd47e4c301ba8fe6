"""Memory chain: a bit is shown once and asked for after a number of steps.

A probe for memory: the first observation shows a random bit as 1 or -1, later ones show
0 there, and the action at the last step must equal the bit. Without memory the mean
return is 0, with it 1.

Shapes    state (2, N): time, bit   observation (N, 3): time left, question, bit
Refs      [Osband2020]
"""

import gymnasium
import numpy as np

from . import _memory_chain as loops
from .vector import SingleWorld


class MemoryChain(SingleWorld):
    """Remember one bit for `length` steps; only the last action counts.

    Parameters
    ----------
    length : int
        Steps between seeing the bit and being asked for it.
    render_mode : {"rgb_array"} or None

    Examples
    --------
    >>> from pansophy.rl.envs import MemoryChain
    >>> env = MemoryChain(1)
    >>> first, _ = env.reset(seed=0)
    >>> _ = env.step(0)
    >>> env.step(int(first[2] > 0))[1:3]
    (1.0, True)
    """

    def __init__(self, length=5, *, render_mode=None):
        if not length >= 1:
            raise ValueError(f"length must be at least 1, got {length!r}.")
        self.length = int(length)
        low = np.array([0.0, 0.0, -1.0], np.float32)
        space = gymnasium.spaces.Box(low, np.ones(3, np.float32), dtype=np.float32)
        super().__init__(space, gymnasium.spaces.Discrete(2), 0, render_mode)

    def new_state(self, n):
        return np.zeros((2, n), np.int64)

    def start_batch(self, state, stream, which):
        loops.start_memory_chains(state, stream, which)

    def observe_batch(self, state, which, observation):
        loops.observe_memory_chains(state, self.length, which, observation)

    def step_batch(self, state, action, stream, outcome, columns):
        loops.step_memory_chains(state, action, self.length, outcome, *columns)
