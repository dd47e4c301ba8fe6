"""Learning-rate schedules as functions of the step number t = 0, 1, 2, ...

Used for learning rates, temperatures and exploration rates. A schedule is called with a
step number or an array of step numbers. `Schedule` and `Restarts` are dataclasses
rather than functions, so that a model that holds one can be printed and saved.

Stochastic approximation converges for rates with sum eta_t = inf and sum eta_t^2 <
inf [Robbins1951]; `check_schedule` judges both conditions from the growth of partial
sums over decades of t.

Refs      [Robbins1951]; [Loshchilov2017] Restarts
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from ...core.drivers import schedules as decay
from ...params import check_count

Kind = Literal["linear", "geometric", "cosine"]


@dataclass(frozen=True)
class Schedule:
    """Schedule that goes from `start` to `end` in `steps` steps and then stays there.

    Parameters
    ----------
    start, end : float
        First and last value.
    steps : int
        Number of steps between them.
    kind : {"linear", "geometric", "cosine"}
        Equal differences, equal ratios, or half a cosine wave.

    Examples
    --------
    >>> from pansophy.optim.stochastic.schedules import Schedule
    >>> Schedule(1.0, 0.2, 4)([0, 1, 2, 4, 9])
    array([1. , 0.8, 0.6, 0.2, 0.2])
    """

    start: float
    end: float
    steps: int
    kind: Kind = "linear"

    def __post_init__(self):
        check_count("steps of Schedule", self.steps)
        if self.kind not in get_args(Kind):
            *first_kinds, last = (repr(k) for k in get_args(Kind))
            raise ValueError(
                f"kind of Schedule must be {', '.join(first_kinds)} or {last}, got "
                f"{self.kind!r}."
            )
        if self.kind == "geometric" and not (self.start > 0 and self.end > 0):
            raise ValueError("a geometric Schedule needs start and end above 0.")

    def __call__(self, t):
        f = np.minimum(np.asarray(t) / self.steps, 1.0)
        if self.kind == "geometric":
            return decay.geometric_curve(self.start, self.end, f)
        if self.kind == "cosine":
            return decay.cosine_curve(self.start, self.end, f)
        return decay.linear_curve(self.start, self.end, f)


@dataclass(frozen=True)
class Restarts:
    """Cosine decay from `start` to `end` that restarts; periods grow by `grow`.

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
        check_count("steps of Restarts", self.steps)
        if self.grow < 1:
            raise ValueError(f"grow of Restarts must be at least 1, got {self.grow}.")

    def __call__(self, t):
        t = np.asarray(t, dtype=float)
        if self.grow == 1:
            f = (t % self.steps) / self.steps
        else:
            # the k-th wave starts at steps (grow^k - 1) / (grow - 1)
            waves = 1 + t * (self.grow - 1) / self.steps
            power = self.grow ** np.floor(np.log(waves) / np.log(self.grow) + 1e-9)
            wave_start = self.steps * (power - 1) / (self.grow - 1)
            f = (t - wave_start) / (self.steps * power)
        return decay.cosine_curve(self.start, self.end, np.asarray(f))


def constant_schedule(eta):
    """A schedule with one rate for all steps."""
    return lambda t: eta + 0.0 * t


def exponential_decay(eta, rate=0.9):
    """Exponential decay eta rate^t."""
    return lambda t: eta * rate**t


def inverse_time_decay(eta, start=1.0):
    """Inverse-time decay min(eta, start / t)."""
    return lambda t: np.minimum(eta, start / np.maximum(t, start / eta))


def linear_decay(eta, last, steps) -> Schedule:
    """Linear decay from eta to `last` in `steps` steps; `last` from then on."""
    return Schedule(eta, last, steps)


def cosine_decay(eta, steps, last=0.0) -> Schedule:
    """Half a cosine wave from eta to `last` in `steps` steps."""
    return Schedule(eta, last, steps, "cosine")


class ScheduleCheck(NamedTuple):
    """Result of `check_schedule`; true if both conditions of Robbins and Monro hold."""

    sum_diverges: bool  # sum eta_t = inf: the steps can travel any distance
    squares_converge: bool  # sum eta_t^2 < inf: their noise dies out

    def __bool__(self):
        return self.sum_diverges and self.squares_converge

    @property
    def failed(self) -> tuple[str, ...]:
        """The conditions that do not hold."""
        first = () if self.sum_diverges else ("sum eta_t = inf",)
        return first if self.squares_converge else (*first, "sum eta_t^2 < inf")

    def __str__(self):
        if self:
            return "both conditions hold"
        reasons = []
        if not self.sum_diverges:
            reasons.append(
                "sum eta_t is finite: the rates decay too fast to travel far"
            )
        if not self.squares_converge:
            reasons.append(
                "sum eta_t^2 is infinite: the noise of the steps does not vanish"
            )
        return "; ".join(reasons)


def check_schedule(eta, decades: int = 6) -> ScheduleCheck:
    """Robbins-Monro test: does sum eta_t diverge while sum eta_t^2 converges?

    Both sums are taken over t in [10^k, 10^(k+1)) with eta sampled evenly in log t;
    a sum diverges if its last decade adds at least half as much as the one before. The
    result is true or false, and says which condition fails.

    Examples
    --------
    >>> from pansophy import optim
    >>> bool(optim.check_schedule(lambda t: 3 / max(t, 1)))
    True
    >>> optim.check_schedule(lambda t: 0.1).failed
    ('sum eta_t^2 < inf',)
    >>> print(optim.check_schedule(lambda t: 1 / max(t, 1) ** 2))
    sum eta_t is finite: the rates decay too fast to travel far
    """
    rates = lambda t: np.array([float(eta(int(i))) for i in t])
    diverges = {}
    for power in (1, 2):
        added = []
        for k in range(decades - 2, decades):
            t = np.geomspace(10**k, 10 ** (k + 1), 200)
            added.append(np.trapezoid(rates(t) ** power, t))
        diverges[power] = bool(added[1] > 0.5 * added[0])
    return ScheduleCheck(diverges[1], not diverges[2])
