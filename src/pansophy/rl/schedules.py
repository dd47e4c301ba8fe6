"""Numbers that change as learning goes on: rates, temperatures, exploration.

A schedule is a number or a function of the step t = 0, 1, ..., such as those of
`pansophy.optim.schedules`; one that also takes an array of steps is quicker. Loops,
compiled and plain, read the values from an array, so both see the same. The two kinds
here are data rather than functions, so that a model which has them prints and saves.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class Schedule:
    """From `start` to `end` over `steps` steps, then flat.

    Parameters
    ----------
    start, end : float
        First and last value.
    steps : int
        Steps from one to the other.
    kind : {"linear", "geometric"}
        Equal differences or equal ratios.

    Examples
    --------
    >>> from pansophy.rl import Schedule
    >>> Schedule(1.0, 0.2, 4)([0, 1, 2, 4, 9])
    array([1. , 0.8, 0.6, 0.2, 0.2])
    """

    start: float
    end: float
    steps: int
    kind: Literal["linear", "geometric"] = "linear"

    def __post_init__(self):
        if self.steps < 1:
            raise ValueError(f"steps of Schedule must be at least 1, got {self.steps}.")
        if self.kind not in ("linear", "geometric"):
            raise ValueError(
                f"kind of Schedule must be 'linear' or 'geometric', got {self.kind!r}."
            )
        if self.kind == "geometric" and not (self.start > 0 and self.end > 0):
            raise ValueError("a geometric Schedule needs start and end above 0.")

    def __call__(self, t):
        f = np.minimum(np.asarray(t) / self.steps, 1.0)
        if self.kind == "linear":
            return self.start + f * (self.end - self.start)
        return self.start * (self.end / self.start) ** f


@dataclass(frozen=True)
class Visits:
    """Learning rate k^-power at the k-th visit of a state and action.

    power 1 is the running mean; between 1/2 and 1 the sum of rates is infinite and
    that of their squares finite, which Q-learning needs to converge, and the smaller
    power forgets its first, poor targets sooner.
    """

    power: float = 1.0

    def __post_init__(self):
        if not 0 <= self.power <= 1:
            raise ValueError(f"power of Visits must be from 0 to 1, got {self.power}.")


def values(schedule, begin, n):
    """Values at steps begin, ..., begin + n - 1."""
    if not callable(schedule):
        return np.full(n, float(schedule))
    t = np.arange(begin, begin + n)
    try:
        return np.broadcast_to(np.asarray(schedule(t), dtype=float), (n,))
    except (TypeError, ValueError):  # it takes one step at a time
        return np.array([float(schedule(i)) for i in t.tolist()])


class Tape:
    """A schedule read one step after another in plain Python."""

    SIZE = 1024

    def __init__(self, schedule):
        self.schedule, self.begin, self.chunk = schedule, 0, []

    def at(self, t) -> float:
        i = t - self.begin
        if not 0 <= i < len(self.chunk):
            self.begin, i = t, 0
            self.chunk = values(self.schedule, t, self.SIZE).tolist()
        return self.chunk[i]
