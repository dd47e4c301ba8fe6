"""Learning-rate schedules: a factor on the rate, from how far training has come.

A schedule is a function of a `TrainingProgress`. It is asked before every step. The
curves themselves are in `core.drivers.schedules`; schedules of the step number alone,
such as cosines with restarts, are in `optim.schedules` and are used through `by_step`.

Refs      [Smith2017] one cycle
"""

import difflib
from collections.abc import Callable
from typing import NamedTuple

from ...core.drivers.schedules import cosine_curve, linear_curve


class TrainingProgress(NamedTuple):
    """Progress of training at the start of a step."""

    step: int  # steps taken
    epoch: int  # epochs finished
    seen: int  # rows seen in the finished epochs
    total: int  # steps in the whole run


Schedule = Callable[[TrainingProgress], float]


def warmup_cosine(warmup: int = 0, floor: float = 0.0) -> Schedule:
    """Rise linearly for `warmup` steps, then fall along a half cosine to `floor`."""
    return _warmup_then(cosine_curve, warmup, floor)


def warmup_linear(warmup: int = 0, floor: float = 0.0) -> Schedule:
    """Rise linearly for `warmup` steps, then fall linearly to `floor`."""
    return _warmup_then(linear_curve, warmup, floor)


def _warmup_then(curve, warmup: int, floor: float) -> Schedule:
    """Rise linearly for `warmup` steps, then follow a curve of
    `core.drivers.schedules`.
    """

    def factor(t):
        if t.step < warmup:
            return (t.step + 1) / warmup
        share = (t.step - warmup) / max(t.total - warmup, 1)
        return curve(1.0, floor, min(share, 1.0))

    return factor


def warmdown(share: float = 0.2, warmup: int = 0, floor: float = 0.0) -> Schedule:
    """Rise for `warmup` steps, stay at 1, fall linearly in the last `share` of all.

    Examples
    --------
    >>> from pansophy.nn.training.schedules import TrainingProgress, warmdown
    >>> [warmdown(0.5, 2)(TrainingProgress(i, 0, 0, 10)) for i in (0, 1, 4, 5, 7)]
    [0.5, 1.0, 1.0, 1.0, 0.6]
    """
    if not 0 < share <= 1:
        raise ValueError(
            f"share of warmdown must be above 0 and at most 1, got {share}."
        )

    def factor(t):
        if t.step < warmup:
            return (t.step + 1) / warmup
        length = max(share * t.total, 1)
        part = (t.step - (t.total - length)) / length
        return linear_curve(1.0, floor, min(max(part, 0.0), 1.0))

    return factor


def one_cycle(peak: float = 0.3, start: float = 0.04, floor: float = 4e-6) -> Schedule:
    """Rise from `start` to 1 until the share `peak` of the run, fall to `floor`.

    Both along half cosines.

    Examples
    --------
    >>> from pansophy.nn.training.schedules import TrainingProgress, one_cycle
    >>> factor = one_cycle(0.5, start=0.1, floor=0.0)
    >>> [round(factor(TrainingProgress(i, 0, 0, 11)), 2) for i in (0, 5, 10)]
    [0.1, 1.0, 0.0]
    """
    if not 0 < peak < 1:
        raise ValueError(f"peak of one_cycle must be between 0 and 1, got {peak}.")

    def factor(t):
        share = min(t.step / max(t.total - 1, 1), 1.0)
        if share < peak:
            return cosine_curve(start, 1.0, share / peak)
        return cosine_curve(1.0, floor, (share - peak) / (1 - peak))

    return factor


def by_step(schedule: Callable[[int], float]) -> Schedule:
    """A schedule of `optim.schedules`, or any function of the number of the step.

    Examples
    --------
    >>> from pansophy.nn.training.schedules import TrainingProgress, by_step
    >>> from pansophy.optim.stochastic.schedules import Restarts
    >>> round(by_step(Restarts(1.0, steps=4))(TrainingProgress(6, 0, 0, 9)), 6)
    0.5
    """
    return lambda t: float(schedule(t.step))


def inverse_scaling(power: float = 0.5, before: int = 0) -> Schedule:
    """(rows seen in finished epochs, and before, + 1)^-power."""
    return lambda t: (before + t.seen + 1) ** -power


def step_decay(every: int, factor: float = 0.1) -> Schedule:
    """Multiply by `factor` after each `every` epochs."""
    return lambda t: factor ** (t.epoch // every)


SCHEDULE_NAMES = {
    "constant": lambda warmup: None,
    "cosine": warmup_cosine,
    "linear": warmup_linear,
    "warmdown": lambda warmup: warmdown(warmup=warmup),
    "one_cycle": lambda warmup: one_cycle(),
}


def make_schedule(value, warmup: int = 0) -> Schedule | None:
    """A schedule from a name, or from a function of a `TrainingProgress`.

    Examples
    --------
    >>> from pansophy.nn.training.schedules import TrainingProgress, make_schedule
    >>> make_schedule("linear")(TrainingProgress(5, 0, 0, 10))
    0.5
    """
    if isinstance(value, str):
        if value not in SCHEDULE_NAMES:
            near = difflib.get_close_matches(value, SCHEDULE_NAMES, 1)
            known = ", ".join(SCHEDULE_NAMES)
            advice = f"Did you mean {near[0]!r}?" if near else f"There are {known}."
            raise ValueError(f"no schedule is called {value!r}. {advice}")
        return SCHEDULE_NAMES[value](warmup)
    if value is not None and not callable(value):
        raise TypeError(
            "schedule must be a name, a function of nn.schedules.TrainingProgress, or "
            f"a scheduler of torch, got {value!r}."
        )
    return value
