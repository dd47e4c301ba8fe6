"""Exploration strategies: epsilon-greedy and Boltzmann.

With values q of the actions in a state, `EpsilonGreedy` takes a uniformly random
action with probability epsilon and a best one otherwise, ties broken at random;
`Boltzmann` takes action a with probability

    exp(q_a / T) / sum_b exp(q_b / T)                                           (1)

Both are a `kind` for compiled loops and a `level` (epsilon or T) that may be a
schedule. `choose_action` makes an action of two uniform numbers; the loops in
`_q_learning.py` do the same.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.numerics import softmax
from ...params import Fraction, Positive, check_argument


@dataclass(frozen=True)
class EpsilonGreedy:
    """Random with probability epsilon, else greedy.

    Examples
    --------
    >>> from pansophy.rl import EpsilonGreedy
    >>> EpsilonGreedy(0.3).probabilities([1.0, 2.0, 3.0])
    array([0.1, 0.1, 0.8])
    """

    epsilon: float | Callable = 0.1
    kind = 0

    def __post_init__(self):
        check_argument("epsilon", self.epsilon, Fraction | Callable)

    @property
    def level(self):
        return self.epsilon

    def probabilities(self, q, t=0):
        """Probability of each action at step t."""
        q = np.asarray(q, dtype=float)
        epsilon = float(self.epsilon(t)) if callable(self.epsilon) else self.epsilon
        best = q == q.max(axis=-1, keepdims=True)
        greedy = best / best.sum(axis=-1, keepdims=True)
        return epsilon / q.shape[-1] + (1 - epsilon) * greedy


@dataclass(frozen=True)
class Boltzmann:
    """Softmax of the values at a temperature, eq. (1).

    Examples
    --------
    >>> from pansophy.rl import Boltzmann
    >>> Boltzmann(1.0).probabilities([1.0, 2.0, 3.0]).round(4)
    array([0.09  , 0.2447, 0.6652])
    """

    temperature: float | Callable = 1.0
    kind = 1

    def __post_init__(self):
        check_argument("temperature", self.temperature, Positive | Callable)

    @property
    def level(self):
        return self.temperature

    def probabilities(self, q, t=0):
        """Probability of each action at step t."""
        T = self.temperature
        return softmax(np.asarray(q, dtype=float) / (T(t) if callable(T) else T))


def choose_action(kind, level, q, u, v) -> int:
    """Action from values q (a list) and two uniform numbers in [0, 1)."""
    if kind == 1:
        return _sample_softmax(level, q, v)
    if u < level:
        return int(v * len(q))
    best = max(q)
    ties = q.count(best)
    if ties == 1:
        return q.index(best)
    wanted = int(v * ties)
    return [a for a, value in enumerate(q) if value == best][wanted]


def _sample_softmax(temperature, q, v) -> int:
    """Eq. (1) by the inverse of its distribution function."""
    top = max(q)
    weights = np.exp((np.asarray(q) - top) / temperature)
    cumulative = np.cumsum(weights)
    a = int(np.searchsorted(cumulative, v * cumulative[-1], side="right"))
    return min(a, len(q) - 1)
