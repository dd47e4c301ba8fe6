"""Results of filters: beliefs in the states, and forecasts of later rows.

A forecast is the filter over further rows in which every entry is missing: belief in
the state at h steps ahead, of mean a and covariance P, and of what will be observed

    E x = H a + d,    Var x = H P H' + R                                          (1)

A central interval of probability q is  mean +- Phi^-1((1 + q) / 2) sd  in each column,
exact where beliefs are normal. Variances count the noise to come and not the error of
learned parameters.

Shapes    n rows   k states   p columns observed
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from .kalman.repeated_array import RepeatedArray


class MeansAndCovariances(NamedTuple):
    means: np.ndarray  # (n, k)
    covs: np.ndarray  # (n, k, k)


class Beliefs(MeansAndCovariances):
    """Beliefs in the state of each row; a pair of means (n, k) and covs (n, k, k).

    `covs` of a long series whose covariances converge is a `RepeatedArray`: it
    reads like an array, cannot be written to, and becomes a plain one with
    `numpy.array(covs)`.
    `loglik` is the log-likelihood of the rows where a filter went over them, and
    `regimes` (n, K) are the probabilities of the regimes where a chain switches.
    """

    loglik: Any = None
    regimes: Any = None

    def __new__(cls, means, covs, *, loglik=None, regimes=None):
        self = super().__new__(cls, means, covs)
        self.loglik, self.regimes = loglik, regimes
        return self

    @property
    def sd(self):
        """Standard deviations (n, k)."""
        return _standard_deviations(self.covs)

    def interval(self, level=0.95):
        """Bounds (n, k) that hold each coordinate with this probability."""
        return normal_interval(self.means, self.sd, level)


class Forecast(NamedTuple):
    """Forecast of the observations, and of the state behind them."""

    mean: np.ndarray  # (n, p)
    cov: np.ndarray  # (n, p, p)
    level: float = 0.95  # of `low` and `high`
    state_mean: Any = None  # (n, k)
    state_cov: Any = None  # (n, k, k)
    regimes: Any = None  # (n, K), probabilities, where a chain switches

    @property
    def sd(self):
        """Standard deviations (n, p)."""
        return _standard_deviations(self.cov)

    def interval(self, level=None):
        """Bounds (n, p) that hold each value with this probability."""
        return normal_interval(
            self.mean, self.sd, self.level if level is None else level
        )

    @property
    def low(self):
        """Lower ends (n, p) of the intervals of probability `level`."""
        return self.interval()[0]

    @property
    def high(self):
        """Upper ends (n, p)."""
        return self.interval()[1]


def _standard_deviations(cov):
    """Square roots of the diagonals."""
    if isinstance(cov, RepeatedArray):
        return _standard_deviations(cov.table)[cov.which]
    d = np.diagonal(cov, axis1=-2, axis2=-1)
    return np.sqrt(np.maximum(d, 0.0))


def check_interval_level(level):
    if not 0 < level < 1:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level}.")


def normal_interval(mean, sd, level):
    """Ends of the central interval of a Normal."""
    check_interval_level(level)
    wide = ndtri((1 + level) / 2) * sd
    return mean - wide, mean + wide


def observation_moments(H, R, d, mean, cov):
    """Eq. (1): mean and covariance of x for beliefs (n, k), (n, k, k)."""
    x = np.einsum("...ij,...j->...i", H, mean) + d
    H = np.broadcast_to(H, (len(mean), *H.shape[-2:]))
    open_ = np.isinf(np.diagonal(cov, axis1=1, axis2=2))  # nothing known: see diffuse
    S = H @ np.where(np.isinf(cov), 0.0, cov) @ H.swapaxes(1, 2) + R
    free = ((H != 0) & open_[:, None, :]).any(axis=2)
    return x, np.where(free[:, :, None] & np.eye(H.shape[1], dtype=bool), np.inf, S)
