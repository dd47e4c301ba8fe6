"""Learning-rate schedules: functions of the step number t = 0, 1, 2, ...

Stochastic approximation converges for rates with sum eta_t = inf and sum eta_t^2 <
inf [Robbins1951]; `check_schedule` tells whether a schedule looks as if it had both,
from how its partial sums grow over decades.
"""

import numpy as np


def constant(eta):
    return lambda t: eta


def exponential(eta, rate=0.9):
    """eta rate^t."""
    return lambda t: eta * rate**t


def inverse(eta, start=1.0):
    """min(eta, start / t)."""
    return lambda t: min(eta, start / t) if t > 0 else eta


def linear(eta, last, steps):
    """From eta straight down to `last` in so many steps, and `last` from then on."""
    return lambda t: last if t >= steps else eta + (last - eta) * t / steps


def cosine(eta, steps, last=0.0):
    """Half a wave from eta down to `last`."""
    fall = lambda t: (1 + np.cos(np.pi * min(t, steps) / steps)) / 2
    return lambda t: last + (eta - last) * fall(t)


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
