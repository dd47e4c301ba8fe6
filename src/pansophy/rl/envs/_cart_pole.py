"""Compiled cart poles."""

import math

from ...core._random import random_uniform
from ...core.compiled import compiled

GRAVITY = 9.8
TOTAL_MASS = 0.1 + 1.0
POLE_MASS = 0.1
HALF_LENGTH = 0.5
POLE_MASS_LENGTH = POLE_MASS * HALF_LENGTH
FORCE = 10.0
TAU = 0.02
X_LIMIT = 2.4
THETA_LIMIT = 12 * 2 * math.pi / 360


@compiled
def start_cart_poles(state, stream, which):
    """Every row of a first state is uniform between -0.05 and 0.05."""
    for i in which:
        for row in range(4):
            state[row, i] = 0.1 * random_uniform(stream[i : i + 1]) - 0.05


@compiled
def step_cart_poles(state, action, outcome, lo, hi):
    """One Euler step of columns lo..hi-1."""
    observation, reward, terminated = outcome
    for i in range(lo, hi):
        x = state[0, i]
        v = state[1, i]
        theta = state[2, i]
        omega = state[3, i]
        force = FORCE if action[i] == 1 else -FORCE
        c = math.cos(theta)
        s = math.sin(theta)
        h = (force + POLE_MASS_LENGTH * (omega * omega) * s) / TOTAL_MASS
        turn = (GRAVITY * s - c * h) / (
            HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * (c * c) / TOTAL_MASS)
        )
        push = h - POLE_MASS_LENGTH * turn * c / TOTAL_MASS
        x += TAU * v
        v += TAU * push
        theta += TAU * omega
        omega += TAU * turn
        state[0, i] = x
        state[1, i] = v
        state[2, i] = theta
        state[3, i] = omega
        observation[i, 0] = x
        observation[i, 1] = v
        observation[i, 2] = theta
        observation[i, 3] = omega
        reward[i] = 1.0
        terminated[i] = abs(x) > X_LIMIT or abs(theta) > THETA_LIMIT
