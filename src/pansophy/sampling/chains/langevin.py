"""Langevin samplers: gradient steps with Gaussian noise.

One leapfrog step of `hmc.py` from a fresh momentum p = R z is

    y = x + h inv grad log pi(x) + sqrt(2 h) inv^(1/2) z,     h = eps^2 / 2     (1)

a step of the diffusion whose stationary density is pi. `MALA` accepts the step with
probability min(1, exp(H0 - H)), which is that of Metropolis-Hastings for the proposal
(1), since exp(-p' inv p / 2) before and after are its densities both ways. Its optimal
acceptance in many dimensions is 0.574. Without the test (`Langevin`) the stationary
density differs from pi by O(h).

With many rows of data, the scaled gradient of a random subset can replace that of all
rows (`StochasticLangevin`). With steps h_t = a (b + t)^-c, c in (1/2, 1], the
noise of the gradient, of variance h_t^2, falls below that of (1), 2 h_t. There is no
acceptance test, which would need all rows. Draws with a constant step have a bias of
O(h).

Shapes    as in `hmc.py`
Refs      [Roberts1996] [Roberts1998] MALA; [Welling2011] stochastic gradients
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np

from ...base import Estimator
from ...params import Flag, Fraction, OpenFraction, Positive, check_params
from ..densities.target_density import GradientFunction, LogProb
from .hmc import AbstractHamiltonian, TrajectorySettings


@dataclass(eq=False, repr=False)
class MALA(AbstractHamiltonian):
    """Metropolis-adjusted Langevin algorithm (MALA), to be run by `sample`.

    Parameters
    ----------
    log_prob : function, Distribution, compiled density or Target
        Logarithm of the target density up to a constant; see `as_target_density`.
    grad : function, True or None
        Its gradient; True if log_prob returns both; None for torch and compiled ones.
    step_size : float or None
        eps of eq. (1); None is adapted in warm-up to `target_accept`. If it is given,
        nothing is adapted.
    metric : {"diag", "dense", "unit"} or array of shape (d,) or (d, d)
        What warm-up adapts: variances, covariances or nothing; or a given metric.
    target_accept : float
        Target acceptance probability of the step size adaptation.
    batched : bool or None
        Whether functions take all chains at once; None detects it.

    Examples
    --------
    >>> from pansophy.sampling import MALA, normal_density, sample
    >>> sampler = MALA(normal_density([0.0, 0.0], [1.0, 4.0]))
    >>> draws = sample(sampler, 2000, init=[0.0, 0.0], random_state=0)
    >>> bool(abs(draws.acceptance.mean() - 0.574) < 0.1)
    True
    """

    log_prob: LogProb
    _: KW_ONLY
    grad: GradientFunction = None
    step_size: Positive | None = None
    metric: Literal["diag", "dense", "unit"] | np.ndarray = "diag"
    target_accept: OpenFraction = 0.574
    batched: Flag | None = None

    def _trajectory(self):
        return TrajectorySettings(1, steps=1, target=self.target_accept)


@dataclass(eq=False, repr=False)
class Langevin(AbstractHamiltonian):
    """Unadjusted Langevin algorithm, biased by O(step_size^2), to be run by `sample`.

    Parameters
    ----------
    log_prob : function, Distribution, compiled density or Target
        Logarithm of the target density up to a constant; see `as_target_density`.
    grad : function, True or None
        Its gradient; True if log_prob returns both; None for torch and compiled ones.
    step_size : float
        eps of eq. (1).
    metric : "unit" or array of shape (d,) or (d, d)
        inv of eq. (1): the identity, variances or a covariance.
    batched : bool or None
        Whether functions take all chains at once; None detects it.

    Examples
    --------
    >>> from pansophy.sampling import Langevin, normal_density, sample
    >>> sampler = Langevin(normal_density([0.0], [1.0]), step_size=0.5)
    >>> draws = sample(sampler, 5000, init=[0.0], random_state=0)
    >>> bool(abs(draws.flat.var() - 1 / (1 - 0.5**2 / 4)) < 0.1)
    True
    """

    log_prob: LogProb
    _: KW_ONLY
    grad: GradientFunction = None
    step_size: Positive = 0.1
    metric: Literal["unit"] | np.ndarray = "unit"
    batched: Flag | None = None

    def _trajectory(self):
        return TrajectorySettings(2, steps=1)


class StochasticLangevinState(NamedTuple):
    """State of `StochasticLangevin`."""

    position: np.ndarray
    log_prob: np.ndarray  # 0: not known
    t: int


class StepSizeInfo(NamedTuple):
    """Statistics of a step: its size h."""

    step: np.ndarray


@dataclass(eq=False, repr=False)
class StochasticLangevin(Estimator):
    """Stochastic gradient Langevin dynamics, to be run by `sample`.

    Parameters
    ----------
    grad : function
        `grad(rng, x)`, x (m, d): an unbiased estimate (m, d) of the gradient of log pi,
        from a random subset of the rows.
    step_size : float
        a of h_t = a (b + t)^-c.
    delay : float
        b.
    decay : float
        c; 0 keeps the step size constant.

    Examples
    --------
    >>> from pansophy.sampling import StochasticLangevin, sample
    >>> noisy = lambda rng, x: -x + rng.normal(size=x.shape)
    >>> draws = sample(StochasticLangevin(noisy, step_size=0.1), 5000,
    ...                init=[0.0], random_state=0)
    >>> bool(abs(draws.flat.var() - 1) < 0.2)
    True
    """

    grad: Callable
    _: KW_ONLY
    step_size: Positive = 0.01
    delay: Positive = 1.0
    decay: Fraction = 0.0

    def init(self, position) -> StochasticLangevinState:
        """State of m chains at positions (m, d)."""
        check_params(self)
        x = np.array(position, dtype=float)
        return StochasticLangevinState(x, np.zeros(len(x)), 0)

    def step(self, rng, state) -> tuple[StochasticLangevinState, StepSizeInfo]:
        """One step of eq. (1) with a noisy gradient."""
        x, log_prob, t = state
        h = self.step_size * (self.delay + t) ** -self.decay
        g = np.asarray(self.grad(rng, x), dtype=float)
        if g.shape != x.shape:
            raise ValueError(f"grad must give shape {x.shape}, got {g.shape}.")
        x = x + h * g + np.sqrt(2 * h) * rng.standard_normal(x.shape)
        return StochasticLangevinState(x, log_prob, t + 1), StepSizeInfo(
            np.full(len(x), h)
        )
