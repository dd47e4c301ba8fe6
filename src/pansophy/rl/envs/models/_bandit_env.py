"""Compiled pulls of many copies of a bandit."""

from ....core.loops.compiled import compiled
from ...bandits._bandits import draw_reward


@compiled
def step_bandits(action, source, stream, outcome, lo, hi):
    """One pull of columns lo..hi-1."""
    observation, reward, terminated = outcome
    for i in range(lo, hi):
        observation[i] = 0
        reward[i] = draw_reward(source, action[i], stream[i : i + 1])
        terminated[i] = False
