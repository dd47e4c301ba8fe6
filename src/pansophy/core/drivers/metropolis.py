"""Metropolis acceptance rule: better moves are accepted, worse ones sometimes.

A move that changes the log density by r is accepted with probability

    alpha = min(1, exp(r))                                                       (1)

that is, if r >= -E with E standard exponential, as P(E >= -r) = exp(r). The chains of
`sampling`, rejection sampling and simulated annealing use it; in annealing r is the
decrease of the objective over the temperature T. At T = 0, where (1) is greedy, the
second form still works once multiplied by T.

Refs      [Metropolis1953] [Hastings1970] eq. (1); [Kirkpatrick1983] temperature
"""

import numpy as np


class ErgodicityWarning(UserWarning):
    """A chain may be unable to reach all of its target."""


def acceptance_probability(log_ratio):
    """alpha of eq. (1) from its logarithm; NaN (a density that failed) rejects."""
    alpha = np.exp(np.minimum(log_ratio, 0.0))
    alpha[alpha != alpha] = 0.0
    return alpha


def acceptance_threshold(T, shape, rng):
    """T E: the largest decrease that is accepted at temperature T."""
    return T * rng.standard_exponential(shape)


def is_accepted(new, old, threshold):
    """Whether moves are accepted, from log densities (or T times those).

    A `new` of NaN (a density that failed) is refused; from `old` -inf all is accepted.
    """
    return new >= old - threshold
