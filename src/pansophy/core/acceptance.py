"""The rule of Metropolis: what is better is taken, what is worse now and then.

A move that changes the logarithm of a density by r is taken with probability

    alpha = min(1, exp(r))                                                       (1)

which is to say if r >= -E, with E standard exponential, as P(E >= -r) = exp(r). Chains
of `sampling`, rejection under an envelope and simulated annealing, where r is the fall
of the objective over the temperature T, decide by it. At T = 0, where (1) is greedy,
the second form still works once multiplied by T.

Refs      [Metropolis1953] [Hastings1970] eq. (1); [Kirkpatrick1983] temperature
"""

import numpy as np


class ErgodicityWarning(UserWarning):
    """A chain may be unable to reach all of its target."""


def accept(log_ratio):
    """alpha of eq. (1) from its logarithm; NaN (a density that failed) rejects."""
    alpha = np.exp(np.minimum(log_ratio, 0.0))
    alpha[alpha != alpha] = 0.0
    return alpha


def leeway(T, shape, rng):
    """T E: how much worse a move may be at temperature T."""
    return T * rng.standard_exponential(shape)


def passes(new, old, room):
    """Whether moves are taken, by log densities (or T times those) after and before.

    NaN after (a density that failed) is refused; from -inf every place is taken.
    """
    return new >= old - room
