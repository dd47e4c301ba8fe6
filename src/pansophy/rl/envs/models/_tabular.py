"""Compiled steps of many copies of a table."""

from ....core._random import random_uniform
from ....core.loops.compiled import compiled
from ...tabular._q_learning import sample_outcome


@compiled
def start_tables(state, start, stream, which):
    """First states by the cumulative probabilities `start`."""
    for i in which:
        u = random_uniform(stream[i : i + 1])
        state[i] = sample_outcome(start, 0, len(start), u)


@compiled
def step_tables(state, action, table, stream, outcome, lo, hi):
    """One step of columns lo..hi-1 of a `TransitionTable`."""
    offset, next_state, cumulative, pay, terminal, _, n_actions, _ = table
    observation, reward, terminated = outcome
    for i in range(lo, hi):
        row = state[i] * n_actions + action[i]
        first = offset[row]
        last = offset[row + 1]
        k = first
        if last - first > 1:
            k = sample_outcome(
                cumulative, first, last, random_uniform(stream[i : i + 1])
            )
        state[i] = next_state[k]
        observation[i] = next_state[k]
        reward[i] = pay[k]
        terminated[i] = terminal[k]
