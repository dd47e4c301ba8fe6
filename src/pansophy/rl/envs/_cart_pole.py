"""Compiled cart poles."""

import math

import numpy as np

from ...core._random import random_uniform
from ...core.loops.compiled import compiled

GRAVITY = 9.8
TOTAL_MASS = 0.1 + 1.0
POLE_MASS = 0.1
HALF_LENGTH = 0.5
POLE_MASS_LENGTH = POLE_MASS * HALF_LENGTH
FORCE = 10.0
TAU = 0.02
X_LIMIT = 2.4
THETA_LIMIT = 12 * 2 * math.pi / 360
PIECE = 512  # columns


@compiled
def start_cart_poles(state, stream, which):
    """Every row of a first state is uniform between -0.05 and 0.05."""
    for i in which:
        for row in range(4):
            state[row, i] = 0.1 * random_uniform(stream[i : i + 1]) - 0.05


@compiled(inner=True)
def _sines(theta, s, c):
    """sin and cos of angles, by series where all are small.

    A pole that has not fallen is within 0.21 of upright. Up to 0.5 the terms left out
    are below the rounding of the result, and the series runs in vector instructions.
    """
    large = 0
    for i in range(len(theta)):
        large += abs(theta[i]) > 0.5
    if large:
        for i in range(len(theta)):
            s[i] = math.sin(theta[i])
            c[i] = math.cos(theta[i])
        return
    for i in range(len(theta)):
        y = theta[i] * theta[i]
        odd = -1.0 / 1307674368000 * y + 1.0 / 6227020800
        odd = ((odd * y - 1.0 / 39916800) * y + 1.0 / 362880) * y - 1.0 / 5040
        odd = (odd * y + 1.0 / 120) * y - 1.0 / 6
        cosine_series = 1.0 / 20922789888000 * y - 1.0 / 87178291200
        cosine_series = (
            (cosine_series * y + 1.0 / 479001600) * y - 1.0 / 3628800
        ) * y + 1.0 / 40320
        cosine_series = ((cosine_series * y - 1.0 / 720) * y + 1.0 / 24) * y - 0.5
        s[i] = theta[i] + theta[i] * (y * odd)
        c[i] = 1.0 + y * cosine_series


@compiled(inner=True)
def _accelerations(omega, action, s, c):
    """theta'' and x'' of the module text, in place of sin and cos."""
    for i in range(len(omega)):
        sin = s[i]
        cos = c[i]
        force = FORCE if action[i] == 1 else -FORCE
        h = (force + POLE_MASS_LENGTH * (omega[i] * omega[i]) * sin) / TOTAL_MASS
        turn = (GRAVITY * sin - cos * h) / (
            HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * (cos * cos) / TOTAL_MASS)
        )
        s[i] = turn
        c[i] = h - POLE_MASS_LENGTH * turn * cos / TOTAL_MASS


@compiled(inner=True)
def _euler_step(place, speed):
    """Move every place by its speed."""
    for i in range(len(place)):
        place[i] += TAU * speed[i]


@compiled
def step_cart_poles(state, action, outcome, lo, hi):
    """One Euler step of columns lo..hi-1, in pieces that stay in the cache.

    Each loop touches few arrays, so that the compiler can show them to be apart and
    use vector instructions; slices make positions count from 0, which needs no test.
    """
    s = np.empty(PIECE)
    c = np.empty(PIECE)
    for begin in range(lo, hi, PIECE):
        end = min(begin + PIECE, hi)
        x = state[0, begin:end]
        v = state[1, begin:end]
        theta = state[2, begin:end]
        omega = state[3, begin:end]
        _sines(theta, s, c)
        _accelerations(omega, action[begin:end], s, c)
        _euler_step(x, v)
        _euler_step(v, c)
        _euler_step(theta, omega)
        _euler_step(omega, s)
        _write_cart_poles(x, v, theta, omega, outcome.observation[begin:end])
        _judge_cart_poles(
            x, theta, outcome.reward[begin:end], outcome.terminated[begin:end]
        )


@compiled(inner=True)
def _write_cart_poles(x, v, theta, omega, observation):
    """Observations of a piece, in single precision."""
    for i in range(len(x)):
        observation[i, 0] = x[i]
        observation[i, 1] = v[i]
        observation[i, 2] = theta[i]
        observation[i, 3] = omega[i]


@compiled(inner=True)
def _judge_cart_poles(x, theta, reward, terminated):
    """Rewards of a piece, and which poles have fallen."""
    for i in range(len(x)):
        reward[i] = 1.0
        terminated[i] = (abs(x[i]) > X_LIMIT) | (abs(theta[i]) > THETA_LIMIT)
