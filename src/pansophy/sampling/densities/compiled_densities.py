"""Compiled log densities with their gradients, for every sampler.

    normal_density     log N(x; mean, covariance)
    logistic_density   y_i ~ Bernoulli(sigmoid(x_i' b)), b_j ~ N(0, scale^2)
    linear_density     y_i ~ N(x_i' b, s^2), b_j ~ N(0, scale^2), s ~ N+(0, noise^2)
    eight_schools_density  y_i ~ N(mu + tau z_i, sigma_i^2), z_i ~ N(0, 1), mu ~ N(0,
    5^2),
                       tau ~ half-Cauchy(5): the effects of coaching in eight schools
    funnel_density     v ~ N(0, scale^2), x_j ~ N(0, e^v): no fixed step size fits
    banana_density     a Normal bent along a parabola

All are up to a constant. Positive parameters enter by their logarithm, with the
Jacobian: the last coordinate of the linear model is log s, coordinate 1 of the eight
schools log tau (their effects are mu + tau z). Densities keep sufficient statistics of
the data: a linear regression costs O(d^2) an evaluation, whatever the number of rows.

Refs      [Rubin1981] eight schools; [Neal2003] funnel; [Haario1999] banana
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from .target_density import CompiledTarget

SCHOOL_EFFECTS = (28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0)
SCHOOL_ERRORS = (15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0)


@cache
def _compiled_function(name):
    """The compiled function of a density, from the disk cache if possible."""
    from ...core.loops.compiled import FASTMATH
    from ...core.loops.loop_cache import compiled_callback
    from . import _compiled_densities, _target_density

    return compiled_callback(
        getattr(_compiled_densities, name),
        _target_density.DENSITY_SIGNATURE,
        fastmath=FASTMATH,
    )


@dataclass(frozen=True, eq=False, repr=False)
class CompiledDensity:
    """A compiled log density of d parameters; call it with (d,) or (m, d)."""

    function: str  # name of a function in `_compiled_densities.py`
    data: tuple
    dim: int

    def as_target(self) -> CompiledTarget:
        """The target density that samplers use."""
        return CompiledTarget(_compiled_function(self.function), self.data, self.dim)

    def __call__(self, x):
        x = np.asarray(x, dtype=float)
        log_density = self.as_target().value(np.atleast_2d(x))
        return log_density if x.ndim == 2 else float(log_density[0])

    def __repr__(self):
        return f"CompiledDensity({self.function}, {self.dim} dimensions)"


def _check_design(X, y, intercept):
    """X (n, d) and y (n,) checked; X with a leading column of ones for an intercept."""
    X = np.asarray(X, dtype=float)
    y = np.asarray(y).ravel()
    if X.ndim != 2 or len(X) != len(y) or not np.isfinite(X).all():
        raise ValueError(
            f"X must be a finite matrix with as many rows as y, got shapes {X.shape} "
            f"and {y.shape}."
        )
    return (np.column_stack([np.ones(len(X)), X]) if intercept else X), y


def normal_density(mean, covariance=None, *, precision=None) -> CompiledDensity:
    """Normal density; covariance or precision (d, d), or (d,) if diagonal.

    Examples
    --------
    >>> from pansophy.sampling import NUTS, normal_density, sample
    >>> density = normal_density([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]])
    >>> draws = sample(NUTS(density), 500, init=[0.0, 0.0], random_state=0)
    >>> draws.positions.shape
    (4, 500, 2)
    """
    mean = np.asarray(mean, dtype=float).ravel()
    if (covariance is None) == (precision is None):
        raise ValueError("give either covariance or precision.")
    name = "covariance" if precision is None else "precision"
    C = np.asarray(covariance if precision is None else precision, dtype=float)
    d = len(mean)
    if C.shape not in ((d,), (d, d)):
        raise ValueError(f"{name} must have shape ({d},) or ({d}, {d}), got {C.shape}.")
    if C.ndim == 1:
        if not (C > 0).all():
            raise ValueError(f"{name} must be positive.")
        P = C if precision is not None else 1 / C
        return CompiledDensity("diagonal_normal_log_density", (mean, P), d)
    try:
        if not np.allclose(C, C.T):
            raise np.linalg.LinAlgError
        np.linalg.cholesky(C)
    except np.linalg.LinAlgError:
        raise ValueError(f"{name} must be symmetric and positive definite.") from None
    P = C if precision is not None else np.linalg.inv(C)
    return CompiledDensity("dense_normal_log_density", (mean, (P + P.T) / 2), d)


def logistic_density(X, y, *, scale=1.0, intercept=False) -> CompiledDensity:
    """Posterior of a logistic regression with normal priors; y holds two labels.

    The first coefficient is the intercept, if there is one.
    """
    X, y = _check_design(X, y, intercept)
    labels = np.unique(y)
    if len(labels) > 2:
        raise ValueError(f"y must hold two labels, got {len(labels)}.")
    from ._compiled_densities import BLOCK_ROWS

    Z = np.where(y == labels[-1], 1.0, -1.0)[:, None] * X
    n, d = Z.shape
    spare = -n % BLOCK_ROWS
    Z = np.pad(Z, [(0, spare), (0, 0)]).reshape(-1, BLOCK_ROWS, d).swapaxes(1, 2)
    prior = np.full(d, float(scale) ** -2)
    return CompiledDensity(
        "logistic_log_density", (Z, prior, np.array([float(spare)])), d
    )


def linear_density(X, y, *, scale=1.0, noise=1.0, intercept=False) -> CompiledDensity:
    """Posterior of a linear regression; coefficients, then log s."""
    X, y = _check_design(X, y, intercept)
    y = y.astype(float)
    settings = np.array([y @ y, len(y), float(scale) ** -2, float(noise)])
    return CompiledDensity(
        "linear_log_density", (X.T @ X, X.T @ y, settings), X.shape[1] + 1
    )


def eight_schools_density() -> CompiledDensity:
    """Posterior of mu, log tau and the eight standardised effects z."""
    return CompiledDensity(
        "eight_schools_log_density",
        (np.array(SCHOOL_EFFECTS), np.array(SCHOOL_ERRORS)),
        10,
    )


def funnel_density(dim=10, scale=3.0) -> CompiledDensity:
    """Neal's funnel of `dim` coordinates, the first the logarithm of a variance."""
    return CompiledDensity("funnel_log_density", (np.array([float(scale)]),), int(dim))


def banana_density(scale=10.0, bend=0.03) -> CompiledDensity:
    """Two coordinates: N(0, scale^2), and 1 around a parabola of the first."""
    return CompiledDensity(
        "banana_log_density", (np.array([float(scale), float(bend)]),), 2
    )
