"""Learning-rate schedules as functions of the step number t = 0, 1, 2, ...

Rates, temperatures, exploration: each schedule takes a step number or an array of
them. `Schedule` and `Restarts` are data rather than functions, so that a model which
has one prints and saves.

Stochastic approximation converges for rates with sum eta_t = inf and sum eta_t^2 <
inf [Robbins1951]; `check_schedule` tells whether a schedule looks as if it had both,
from how its partial sums grow over decades.

Refs      [Robbins1951]; [Loshchilov2017] Restarts
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

Kind = Literal["linear", "geometric", "cosine"]


@dataclass(frozen=True)
class Schedule:
    """From `start` to `end` over `steps` steps, then flat.

    Parameters
    ----------
    start, end : float
        First and last value.
    steps : int
        Steps from one to the other.
    kind : {"linear", "geometric", "cosine"}
        Equal differences, equal ratios, or half a wave.

    Examples
    --------
    >>> from pansophy.optim.schedules import Schedule
    >>> Schedule(1.0, 0.2, 4)([0, 1, 2, 4, 9])
    array([1. , 0.8, 0.6, 0.2, 0.2])
    """

    start: float
    end: float
    steps: int
    kind: Kind = "linear"

    def __post_init__(self):
        if self.steps < 1:
            raise ValueError(f"steps of Schedule must be at least 1, got {self.steps}.")
        if self.kind not in get_args(Kind):
            *most, last = (repr(k) for k in get_args(Kind))
            raise ValueError(
                f"kind of Schedule must be {', '.join(most)} or {last}, got "
                f"{self.kind!r}."
            )
        if self.kind == "geometric" and not (self.start > 0 and self.end > 0):
            raise ValueError("a geometric Schedule needs start and end above 0.")

    def __call__(self, t):
        f = np.minimum(np.asarray(t) / self.steps, 1.0)
        if self.kind == "geometric":
            return self.start * (self.end / self.start) ** f
        if self.kind == "cosine":
            f = (1 - np.cos(np.pi * f)) / 2
        return self.start + f * (self.end - self.start)


@dataclass(frozen=True)
class Restarts:
    """Half waves from `start` down to `end`, again and again, each `grow` as long.

    Examples
    --------
    >>> Restarts(1.0, 0.0, 2, grow=2)([0, 1, 2, 4, 6]).round(6) + 0.0
    array([1. , 0.5, 1. , 0.5, 1. ])
    """

    start: float
    end: float = 0.0
    steps: int = 10
    grow: float = 1.0

    def __post_init__(self):
        if self.steps < 1 or self.grow < 1:
            raise ValueError("steps and grow of Restarts must be at least 1.")

    def __call__(self, t):
        t = np.asarray(t, dtype=float)
        if self.grow == 1:
            f = (t % self.steps) / self.steps
        else:
            # the k-th wave starts at steps (grow^k - 1) / (grow - 1)
            waves = 1 + t * (self.grow - 1) / self.steps
            power = self.grow ** np.floor(np.log(waves) / np.log(self.grow) + 1e-9)
            begin = self.steps * (power - 1) / (self.grow - 1)
            f = (t - begin) / (self.steps * power)
        return self.end + (self.start - self.end) * (1 + np.cos(np.pi * f)) / 2


def constant_schedule(eta):
    return lambda t: eta + 0.0 * t


def exponential_decay(eta, rate=0.9):
    """eta rate^t."""
    return lambda t: eta * rate**t


def inverse_time_decay(eta, start=1.0):
    """min(eta, start / t)."""
    return lambda t: np.minimum(eta, start / np.maximum(t, start / eta))


def linear_decay(eta, last, steps) -> Schedule:
    """From eta straight down to `last` in so many steps, and `last` from then on."""
    return Schedule(eta, last, steps)


def cosine_decay(eta, steps, last=0.0) -> Schedule:
    """Half a wave from eta down to `last`."""
    return Schedule(eta, last, steps, "cosine")


def check_schedule(eta, decades: int = 6) -> bool:
    """Whether sum eta_t seems to diverge while sum eta_t^2 converges.

    Both sums are taken over t in [10^k, 10^(k+1)) with eta sampled evenly in log t;
    a sum diverges if its last decade adds at least half as much as the one before.
    """
    rates = lambda t: np.array([float(eta(int(i))) for i in t])
    grows = {}
    for power in (1, 2):
        added = []
        for k in range(decades - 2, decades):
            t = np.geomspace(10**k, 10 ** (k + 1), 200)
            added.append(np.trapezoid(rates(t) ** power, t))
        grows[power] = added[1] > 0.5 * added[0]
    return bool(grows[1] and not grows[2])
