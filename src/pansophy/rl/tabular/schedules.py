"""Schedules of learning rates and exploration, read step by step.

A schedule is a number or a function of the step t = 0, 1, ..., such as those of
`pansophy.optim.schedules`; one that also takes an array of steps is quicker. Loops,
compiled and plain, read the values from an array, so both see the same. `Schedule`
and `VisitDecay` are data, not functions: a model which has them prints and saves.
"""

from dataclasses import dataclass

import numpy as np

from ...optim.stochastic.schedules import Schedule
from ...params import Fraction, check_argument

__all__ = ["Schedule", "ScheduleReader", "VisitDecay", "schedule_values"]


@dataclass(frozen=True)
class VisitDecay:
    """Learning rate k^-power at the k-th visit of a state and action.

    power 1 is the running mean; between 1/2 and 1 the sum of rates is infinite and
    that of their squares finite, which Q-learning needs to converge, and the smaller
    power forgets its first, poor targets sooner.
    """

    power: float = 1.0

    def __post_init__(self):
        check_argument("power of VisitDecay", self.power, Fraction)


def schedule_values(schedule, begin, n):
    """Values at steps begin, ..., begin + n - 1."""
    if not callable(schedule):
        return np.full(n, float(schedule))
    t = np.arange(begin, begin + n)
    try:
        return np.broadcast_to(np.asarray(schedule(t), dtype=float), (n,))
    except (TypeError, ValueError):  # it takes one step at a time
        return np.array([float(schedule(i)) for i in t.tolist()])


class ScheduleReader:
    """A schedule read one step after another in plain Python."""

    SIZE = 1024

    def __init__(self, schedule):
        self.schedule = schedule
        self.begin = 0
        self.chunk = []

    def at(self, t) -> float:
        i = t - self.begin
        if not 0 <= i < len(self.chunk):
            self.begin = t
            i = 0
            self.chunk = schedule_values(self.schedule, t, self.SIZE).tolist()
        return self.chunk[i]
