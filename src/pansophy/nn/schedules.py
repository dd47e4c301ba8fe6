"""Learning-rate schedules: a factor on the rate, from how far training has come.

A schedule is a function of a `TrainingProgress`. It is asked before every step.
"""

from collections.abc import Callable
from typing import NamedTuple

from ..core.schedules import cosine_decay, linear_decay


class TrainingProgress(NamedTuple):
    """Where training stands at the start of a step."""

    step: int  # steps taken
    epoch: int  # epochs finished
    seen: int  # rows seen in the finished epochs
    total: int  # steps in the whole run


Schedule = Callable[[TrainingProgress], float]


def warmup_cosine(warmup: int = 0, floor: float = 0.0) -> Schedule:
    """Rise linearly for `warmup` steps, then fall along a half cosine to `floor`."""

    def factor(t):
        if t.step < warmup:
            return (t.step + 1) / warmup
        done = (t.step - warmup) / max(t.total - warmup, 1)
        return cosine_decay(1.0, floor, min(done, 1.0))

    return factor


def warmup_linear(warmup: int = 0, floor: float = 0.0) -> Schedule:
    """Rise linearly for `warmup` steps, then fall linearly to `floor`."""

    def factor(t):
        if t.step < warmup:
            return (t.step + 1) / warmup
        done = (t.step - warmup) / max(t.total - warmup, 1)
        return linear_decay(1.0, floor, min(done, 1.0))

    return factor


def inverse_scaling(power: float = 0.5, before: int = 0) -> Schedule:
    """(rows seen in finished epochs, and before, + 1)^-power."""
    return lambda t: (before + t.seen + 1) ** -power


def step_decay(every: int, factor: float = 0.1) -> Schedule:
    """Multiply by `factor` after each `every` epochs."""
    return lambda t: factor ** (t.epoch // every)
