"""Running mean and variance of observations, and the running size of returns.

Two samples of n and m numbers with means a and b and sums of squares S and R about them
have together the mean a + (b - a) m / (n + m) and the sum of squares

    S + R + (b - a)^2 n m / (n + m)                                             (1)

so that moments of batches add up without a second look at the numbers. Observations are
shown to the nets as (x - mean) / sqrt(var + eps), cut off at 10. Rewards are divided by
the standard deviation of the running discounted return of each environment,

    R_t = gamma (1 - done_{t-1}) R_{t-1} + r_t                                  (2)

which changes the unit of values and not the best policy; the mean is not taken off, as
that would change what episodes of different length are worth. Returns that hardly
differ are divided by a tenth of their mean, since their deviation would blow them up.

Refs      [Chan1983] eq. (1); [Engstrom2020] eq. (2)
"""

from typing import NamedTuple

import numpy as np

CUT_OFF = 10.0
EPS = 1e-8


class ObservationMoments(NamedTuple):
    """Number, mean and variance of what was seen so far.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.rl.deep.running_moments import ObservationMoments
    >>> X = np.array([[1.0], [2.0], [6.0]])
    >>> seen = ObservationMoments.empty(1).updated(X[:2]).updated(X[2:])
    >>> seen.mean, seen.var.round(6)
    (array([3.]), array([4.666667]))
    """

    count: float
    mean: np.ndarray  # (d,)
    var: np.ndarray  # (d,)

    @classmethod
    def empty(cls, d) -> "ObservationMoments":
        """Nothing seen: leaves numbers as they are."""
        return cls(0.0, np.zeros(d), np.ones(d))

    def updated(self, X) -> "ObservationMoments":
        """With the rows X (n, d) taken in, eq. (1)."""
        X = np.asarray(X, float)
        m = len(X)
        if not m:
            return self
        mean = X.mean(axis=0)
        var = X.var(axis=0)
        n = self.count
        total = n + m
        shift = mean - self.mean
        squares = self.var * n + var * m + shift**2 * (n * m / total)
        return ObservationMoments(
            total, self.mean + shift * (m / total), squares / total
        )

    def scaled(self, X) -> np.ndarray:
        """Rows in units of the standard deviation, cut off at 10."""
        if not self.count:
            return X
        Z = (X - self.mean) / np.sqrt(self.var + EPS)
        return np.clip(Z, -CUT_OFF, CUT_OFF)


class ReturnScale(NamedTuple):
    """The running size of discounted returns, eq. (2)."""

    moments: ObservationMoments
    running: np.ndarray  # (N,) R of each environment

    @classmethod
    def empty(cls, n_envs) -> "ReturnScale":
        return cls(ObservationMoments.empty(1), np.zeros(n_envs))

    def updated(self, reward, done, gamma) -> "ReturnScale":
        """With rewards (T, N) taken in."""
        R = self.running
        seen = np.empty(reward.shape)
        for t in range(len(reward)):
            R = gamma * R + reward[t]
            seen[t] = R
            R = np.where(done[t], 0.0, R)
        return ReturnScale(self.moments.updated(seen.reshape(-1, 1)), R)

    @property
    def scale(self) -> float:
        """Divisor of the rewards."""
        if not self.moments.count:
            return 1.0
        deviation = float(np.sqrt(self.moments.var[0] + EPS))
        return max(deviation, 0.1 * abs(float(self.moments.mean[0])))
