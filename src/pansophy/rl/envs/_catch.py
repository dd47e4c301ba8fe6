"""Compiled games of catch."""

from ...core._random import random_uniform
from ...core.loops.compiled import compiled


@compiled
def start_catches(state, columns, stream, which):
    """The ball anywhere in the top row, the paddle in the middle."""
    for i in which:
        state[0, i] = 0
        state[1, i] = int(random_uniform(stream[i : i + 1]) * columns)
        state[2, i] = columns // 2


@compiled
def observe_catches(state, which, observation):
    """Boards of some columns."""
    for i in which:
        observation[i] = 0.0
        observation[i, state[0, i], state[1, i]] = 1.0
        observation[i, -1, state[2, i]] = 1.0


@compiled
def step_catches(state, action, outcome, lo, hi):
    """Move paddle and ball of columns lo..hi-1."""
    observation, reward, terminated = outcome
    _, rows, columns = observation.shape
    for i in range(lo, hi):
        state[2, i] = min(max(state[2, i] + action[i] - 1, 0), columns - 1)
        state[0, i] += 1
        observation[i] = 0.0
        observation[i, state[0, i], state[1, i]] = 1.0
        observation[i, -1, state[2, i]] = 1.0
        terminated[i] = state[0, i] == rows - 1
        reward[i] = 0.0
        if terminated[i]:
            reward[i] = 1.0 if state[1, i] == state[2, i] else -1.0
