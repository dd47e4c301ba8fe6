"""Posterior of one parameter on a grid, for any prior and likelihood.

    p(theta_g | x) = p(theta_g) p(x | theta_g) / Z,   Z by the trapezoid rule     (1)

For priors without a conjugate partner, and to check those that have one. The error of
Z falls with the square of the spacing.

Shapes    theta, density (g,)
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class GridPosterior:
    """Density of one parameter on grid points, normalised by eq. (1).

    Parameters
    ----------
    theta : array of shape (g,)
        Grid points, rising.
    log_density : array of shape (g,)
        Logarithm of the density there, up to a constant; -inf where impossible.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import Bernoulli, GridPosterior
    >>> flat = GridPosterior(np.linspace(0, 1, 2001), np.zeros(2001))
    >>> seen = lambda p: Bernoulli(p).log_prob([1, 1, 1, 0]).sum()
    >>> posterior = flat.update(seen)
    >>> round(posterior.mode, 3), round(posterior.mean, 3)
    (0.75, 0.667)
    """

    theta: np.ndarray
    log_density: np.ndarray

    def __post_init__(self):
        theta = np.asarray(self.theta, dtype=float)
        log_p = np.asarray(self.log_density, dtype=float)
        if theta.ndim != 1 or log_p.shape != theta.shape or (np.diff(theta) <= 0).any():
            raise ValueError("theta must rise, with one log density for each point.")
        top = log_p.max()
        if not np.isfinite(top):
            raise ValueError("the density is zero or infinite on the whole grid.")
        log_p = log_p - top - np.log(np.trapezoid(np.exp(log_p - top), theta))
        object.__setattr__(self, "theta", theta)
        object.__setattr__(self, "log_density", log_p)

    @property
    def density(self):
        return np.exp(self.log_density)

    @property
    def mode(self) -> float:
        return float(self.theta[self.log_density.argmax()])

    @property
    def mean(self) -> float:
        return float(np.trapezoid(self.theta * self.density, self.theta))

    @property
    def variance(self) -> float:
        gap = (self.theta - self.mean) ** 2
        return float(np.trapezoid(gap * self.density, self.theta))

    def update(self, log_likelihood: Callable[[float], float]) -> "GridPosterior":
        """The posterior after data with log p(x | theta) = log_likelihood(theta)."""
        values = np.array([float(log_likelihood(t)) for t in self.theta])
        return GridPosterior(self.theta, self.log_density + values)

    def log_prob(self, X):
        """log density at points X (n,), linear between grid points; -inf outside."""
        X = np.asarray(X, dtype=float).reshape(-1)
        with np.errstate(divide="ignore"):
            return np.log(np.interp(X, self.theta, self.density, left=0.0, right=0.0))

    def sample(self, n: int, rng: np.random.Generator):
        """n draws: grid points in proportion to density, spread over the spacing."""
        mid = 0.5 * (self.density[1:] + self.density[:-1]) * np.diff(self.theta)
        cell = rng.choice(len(mid), size=n, p=mid / mid.sum())
        return self.theta[cell] + rng.random(n) * np.diff(self.theta)[cell]
