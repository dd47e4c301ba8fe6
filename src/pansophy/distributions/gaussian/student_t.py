"""Multivariate Student t distribution: a Normal whose scale is uncertain.

    log p = log G((v + d) / 2) - log G(v / 2) - (d log(v pi) + log det S) / 2
            - (v + d) / 2 log(1 + (x - m)' S^-1 (x - m) / v)                      (1)

with G the gamma function. It is the predictive distribution of a Normal whose mean and
covariance have a `NormalInverseWishart` distribution, and a Normal for v -> inf.

Shapes    m (d,)   S (d, d)   v a number
Refs      [Murphy2012] section 4.6
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from ..base import as_events, require_all


@dataclass(frozen=True, eq=False)
class StudentT:
    """Student t distribution of d coordinates.

    Parameters
    ----------
    mean : array of shape (d,)
        m, a number for one coordinate.
    scale : array of shape (d, d)
        S, a number for one coordinate; not the covariance, which is v / (v - 2) S.
    dof : float
        v, above 0.

    Examples
    --------
    >>> from pansophy.distributions import StudentT
    >>> float(StudentT(0.0, 1.0, 1.0).log_prob([0.0])[0].round(4))  # Cauchy: 1 / pi
    -1.1447
    """

    mean: Any
    scale: Any
    dof: float

    def __post_init__(self):
        mean = np.atleast_1d(np.asarray(self.mean, dtype=float))
        scale = np.asarray(self.scale, dtype=float)
        scale = scale.reshape(1, 1) if scale.ndim == 0 else scale
        if mean.ndim != 1 or scale.shape != (len(mean),) * 2:
            raise ValueError(
                f"a mean of shape {mean.shape} needs a scale of {(len(mean),) * 2}, "
                f"got {scale.shape}."
            )
        require_all(np.asarray(self.dof) > 0, "dof must be above 0.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "dof", float(self.dof))

    @property
    def mode(self):
        return self.mean

    @property
    def cov(self):
        """Covariance matrix; infinite for dof of 2 or less."""
        if self.dof <= 2:
            return np.full(self.scale.shape, np.inf)
        return self.scale * self.dof / (self.dof - 2)

    def log_prob(self, X):
        """Eq. (1): (n,)."""
        d = len(self.mean)
        v = self.dof
        L = np.linalg.cholesky(self.scale)
        Z = np.linalg.solve(L, (as_events(X, d) - self.mean).T)
        constant = (
            scipy.special.gammaln((v + d) / 2)
            - scipy.special.gammaln(v / 2)
            - 0.5 * d * np.log(v * np.pi)
            - np.log(np.diag(L)).sum()
        )
        return constant - 0.5 * (v + d) * np.log1p((Z * Z).sum(axis=0) / v)

    def sample(self, n: int, rng: np.random.Generator):
        """n draws: (n, d)."""
        E = rng.standard_normal((n, len(self.mean))) @ np.linalg.cholesky(self.scale).T
        spread = np.sqrt(self.dof / rng.chisquare(self.dof, size=(n, 1)))
        return self.mean + spread * E
