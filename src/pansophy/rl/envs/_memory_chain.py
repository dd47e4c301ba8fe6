"""Compiled memory chains."""

from ...core._random import random_uniform
from ...core.loops.compiled import compiled


@compiled
def start_memory_chains(state, stream, which):
    """Time 0 and a random bit."""
    for i in which:
        state[0, i] = 0
        state[1, i] = 1 if random_uniform(stream[i : i + 1]) < 0.5 else 0


@compiled
def observe_memory_chains(state, length, which, observation):
    """Time left as a fraction, whether the bit is asked for, the bit if it is shown."""
    for i in which:
        t = state[0, i]
        observation[i, 0] = 1.0 - t / length
        observation[i, 1] = 1.0 if t == length else 0.0
        observation[i, 2] = 2.0 * state[1, i] - 1.0 if t == 0 else 0.0


@compiled
def step_memory_chains(state, action, length, outcome, lo, hi):
    """One step of columns lo..hi-1."""
    observation, reward, terminated = outcome
    for i in range(lo, hi):
        terminated[i] = state[0, i] == length
        reward[i] = 0.0
        if terminated[i]:
            reward[i] = 1.0 if action[i] == state[1, i] else -1.0
        else:
            state[0, i] += 1
        t = state[0, i]
        observation[i, 0] = 1.0 - t / length
        observation[i, 1] = 1.0 if t == length else 0.0
        observation[i, 2] = 0.0
