"""Compiled pendulums."""

import math

import numpy as np

from ...core._random import random_uniform
from ...core.loops.compiled import compiled


@compiled
def start_pendulums(state, stream, which):
    """Any angle, and a speed between -1 and 1."""
    for i in which:
        state[0, i] = (2 * random_uniform(stream[i : i + 1]) - 1) * math.pi
        state[1, i] = 2 * random_uniform(stream[i : i + 1]) - 1


@compiled
def observe_pendulums(state, which, observation):
    """cos and sin of the angle, and the speed."""
    for i in which:
        observation[i, 0] = math.cos(state[0, i])
        observation[i, 1] = math.sin(state[0, i])
        observation[i, 2] = state[1, i]


@compiled
def step_pendulums(state, action, outcome, lo, hi):
    """One step of columns lo..hi-1."""
    observation, reward, terminated = outcome
    for i in range(lo, hi):
        theta = state[0, i]
        speed = state[1, i]
        # Gymnasium computes with the torque in single precision, so do we
        u = np.float32(min(max(action[i, 0], -2.0), 2.0))
        angle = (theta + math.pi) % (2 * math.pi) - math.pi
        cost = angle**2 + 0.1 * speed**2 + np.float32(0.001) * (u * u)
        speed += (15.0 * math.sin(theta) + np.float32(3.0) * u) * 0.05
        speed = min(max(speed, -8.0), 8.0)
        theta += speed * 0.05
        state[0, i] = theta
        state[1, i] = speed
        observation[i, 0] = math.cos(theta)
        observation[i, 1] = math.sin(theta)
        observation[i, 2] = speed
        reward[i] = -cost
        terminated[i] = False
