"""Compiled acrobots."""

import math

from ...core._random import random_uniform
from ...core.loops.compiled import compiled

GRAVITY = 9.8
DT = 0.2


@compiled
def start_acrobots(state, stream, which):
    """Every row of a first state is uniform between -0.1 and 0.1."""
    for i in which:
        for row in range(4):
            state[row, i] = 0.2 * random_uniform(stream[i : i + 1]) - 0.1


@compiled(inner=True)
def _write_acrobot(one, two, speed_one, speed_two, observation):
    """cos and sin of both angles, and the two speeds."""
    observation[0] = math.cos(one)
    observation[1] = math.sin(one)
    observation[2] = math.cos(two)
    observation[3] = math.sin(two)
    observation[4] = speed_one
    observation[5] = speed_two


@compiled
def observe_acrobots(state, which, observation):
    """Observations of some columns."""
    for i in which:
        _write_acrobot(
            state[0, i], state[1, i], state[2, i], state[3, i], observation[i]
        )


@compiled(inner=True)
def _acrobot_accelerations(one, two, speed_one, speed_two, torque):
    """theta_1'' and theta_2'' of the module text of `acrobot`."""
    c = math.cos(two)
    s = math.sin(two)
    d1 = 0.25 + (1.0 + 0.25 + 2 * 0.5 * c) + 1.0 + 1.0
    d2 = (0.25 + 0.5 * c) + 1.0
    phi2 = 0.5 * GRAVITY * math.cos(one + two - math.pi / 2.0)
    phi1 = (
        -0.5 * speed_two**2 * s
        - 2 * 0.5 * speed_two * speed_one * s
        + 1.5 * GRAVITY * math.cos(one - math.pi / 2)
        + phi2
    )
    second = (torque + d2 / d1 * phi1 - 0.5 * speed_one**2 * s - phi2) / (
        0.25 + 1.0 - d2**2 / d1
    )
    return -(d2 * second + phi1) / d1, second


@compiled(inner=True)
def _wrap_angle(x):
    """Bring an angle between -pi and pi."""
    while x > math.pi:
        x -= 2 * math.pi
    while x < -math.pi:
        x += 2 * math.pi
    return x


@compiled
def step_acrobots(state, action, outcome, lo, hi):
    """One Runge-Kutta step of columns lo..hi-1."""
    observation, reward, terminated = outcome
    h = DT / 2.0
    for i in range(lo, hi):
        torque = action[i] - 1.0
        p, q, v, w = state[0, i], state[1, i], state[2, i], state[3, i]
        a1, b1 = _acrobot_accelerations(p, q, v, w, torque)
        v2, w2 = v + h * a1, w + h * b1
        a2, b2 = _acrobot_accelerations(p + h * v, q + h * w, v2, w2, torque)
        v3, w3 = v + h * a2, w + h * b2
        a3, b3 = _acrobot_accelerations(p + h * v2, q + h * w2, v3, w3, torque)
        v4, w4 = v + DT * a3, w + DT * b3
        a4, b4 = _acrobot_accelerations(p + DT * v3, q + DT * w3, v4, w4, torque)
        p = _wrap_angle(p + DT / 6.0 * (v + 2 * v2 + 2 * v3 + v4))
        q = _wrap_angle(q + DT / 6.0 * (w + 2 * w2 + 2 * w3 + w4))
        v = v + DT / 6.0 * (a1 + 2 * a2 + 2 * a3 + a4)
        w = w + DT / 6.0 * (b1 + 2 * b2 + 2 * b3 + b4)
        v = min(max(v, -4 * math.pi), 4 * math.pi)
        w = min(max(w, -9 * math.pi), 9 * math.pi)
        state[0, i] = p
        state[1, i] = q
        state[2, i] = v
        state[3, i] = w
        _write_acrobot(p, q, v, w, observation[i])
        terminated[i] = -math.cos(p) - math.cos(q + p) > 1.0
        reward[i] = 0.0 if terminated[i] else -1.0
