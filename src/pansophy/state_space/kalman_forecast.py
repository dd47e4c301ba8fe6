"""Forecasts of linear Gaussian chains: rows that nobody has seen yet.

A forecast is the filter over further rows in which every entry is missing: belief in
the state at h steps ahead, Normal(a, P), and of what will be observed

    x ~ Normal(H a + d, H P H' + R)                                               (1)

so an interval of probability p is  mean +- Phi^-1((1 + p) / 2) sd  in each column.
Variances count the noise to come and not the error of learned matrices.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri


class Forecast(NamedTuple):
    """What is expected of the observations, and of the state behind them."""

    mean: np.ndarray  # (n, p)
    cov: np.ndarray  # (n, p, p)
    low: np.ndarray  # (n, p), ends of the interval
    high: np.ndarray
    state_mean: np.ndarray  # (n, k)
    state_cov: np.ndarray  # (n, k, k)
    level: float

    @property
    def sd(self):
        """Standard deviations (n, p)."""
        return deviations(self.cov)


def deviations(cov):
    """Square roots of the diagonals."""
    d = np.diagonal(cov, axis1=-2, axis2=-1)
    return np.sqrt(np.maximum(d, 0.0))


def band(mean, sd, level):
    """Ends of the central interval of a Normal."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level}.")
    wide = ndtri((1 + level) / 2) * sd
    return mean - wide, mean + wide


def observed(H, R, d, mean, cov):
    """Eq. (1): mean and covariance of x for beliefs (n, k), (n, k, k)."""
    x = np.einsum("...ij,...j->...i", H, mean) + d
    H = np.broadcast_to(H, (len(mean), *H.shape[-2:]))
    open_ = np.isinf(np.diagonal(cov, axis1=1, axis2=2))  # nothing known: see diffuse
    S = H @ np.where(np.isinf(cov), 0.0, cov) @ H.swapaxes(1, 2) + R
    free = ((H != 0) & open_[:, None, :]).any(axis=2)
    return x, np.where(free[:, :, None] & np.eye(H.shape[1], dtype=bool), np.inf, S)
