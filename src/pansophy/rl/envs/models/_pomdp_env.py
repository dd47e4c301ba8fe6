"""Compiled steps of hidden states."""

from typing import NamedTuple

import numpy as np

from ....core._random import random_uniform
from ....core.loops.compiled import compiled
from ...pomdp._pomcp import draw_index


class DrawTables(NamedTuple):
    """Cumulative probabilities to draw from, and rewards."""

    start: np.ndarray  # (S,)
    T: np.ndarray  # (A, S, S)
    Z: np.ndarray  # (A, S, O)
    r: np.ndarray  # (S, A)


@compiled
def start_hidden(state, tables, stream, which):
    """First states of some columns."""
    for i in which:
        state[i] = draw_index(tables.start, random_uniform(stream[i : i + 1]))


@compiled
def step_hidden(state, action, tables, stream, outcome, lo, hi):
    """One step of columns lo..hi-1: reward of the state before, then what is seen."""
    observation, reward, terminated = outcome
    for i in range(lo, hi):
        own_stream = stream[i : i + 1]
        a = action[i]
        reward[i] = tables.r[state[i], a]
        state[i] = draw_index(tables.T[a, state[i]], random_uniform(own_stream))
        observation[i] = draw_index(tables.Z[a, state[i]], random_uniform(own_stream))
        terminated[i] = False
