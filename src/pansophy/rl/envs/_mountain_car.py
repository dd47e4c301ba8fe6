"""Compiled mountain cars."""

import math

from ...core._random import random_uniform
from ...core.loops.compiled import compiled


@compiled
def start_mountain_cars(state, stream, which):
    """At rest, somewhere between -0.6 and -0.4."""
    for i in which:
        state[0, i] = 0.2 * random_uniform(stream[i : i + 1]) - 0.6
        state[1, i] = 0.0


@compiled
def step_mountain_cars(state, action, outcome, lo, hi):
    """One step of columns lo..hi-1."""
    observation, reward, terminated = outcome
    for i in range(lo, hi):
        p = state[0, i]
        v = state[1, i] + ((action[i] - 1) * 0.001 + math.cos(3 * p) * (-0.0025))
        v = min(max(v, -0.07), 0.07)
        p = min(max(p + v, -1.2), 0.6)
        if p == -1.2 and v < 0:
            v = 0.0
        state[0, i] = p
        state[1, i] = v
        observation[i, 0] = p
        observation[i, 1] = v
        reward[i] = -1.0
        terminated[i] = p >= 0.5 and v >= 0
