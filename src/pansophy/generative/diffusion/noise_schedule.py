"""Noise schedules of diffusion models, and the coordinate sigma that they share.

A diffusion replaces a row x_0 little by little by noise. One step and t steps at once:

    q(x_t | x_{t-1}) = N(sqrt(1 - beta_t) x_{t-1}, beta_t I)                     (1)
    q(x_t | x_0) = N(sqrt(abar_t) x_0, (1 - abar_t) I),  abar_t = prod (1 - beta) (2)

What a net has to know of t is the ratio of noise to signal,

    sigma_t = sqrt((1 - abar_t) / abar_t),     z_t = x_t / sqrt(abar_t)
            = x_0 + sigma_t * noise                                              (3)

so every process is a set of levels sigma, and a model is a denoiser
D(z, sigma) = E[x_0 | z]. The number of steps T is a property of the grid and not of the
model: a denoiser of a schedule of 1000 steps serves one of 2000.

    linear   beta_t from 1e-4 to 0.02, both times 1000 / T; at most 0.999
    cosine   abar_t = cos^2(pi/2 (t/T + s) / (1 + s)) over its value at t = 0,
             s = 0.008; beta_t at most 0.999

Levels for sampling fall and end at exactly 0, where nothing is left to remove:

    karras    sigma_i = (a + i/(n-1) (b - a))^7, a, b = sigma_max^(1/7), sigma_min^(1/7)
    log       equal ratios from sigma_max to sigma_min
    time      equal steps of t in sigma = t / (1 - t), the straight paths of flow
              matching

With one step, the only level is sigma_max. Everything here is float64: 1 - abar_1 is
1e-4, of which float32 keeps three digits.

Refs      [Ho2020] linear; [Nichol2021] cosine; [Karras2022] sigma, its levels
"""

from typing import Literal, NamedTuple

import numpy as np

from ...params import check_count

BETA_LIMIT = 0.999
COSINE_OFFSET = 0.008
KARRAS_POWER = 7.0

ScheduleName = Literal["linear", "cosine"]
LadderName = Literal["karras", "log", "time"]


class NoiseSchedule(NamedTuple):
    """Steps t = 1..T of eq. (1); entry t - 1 of each array, (T,), belongs to t."""

    beta: np.ndarray
    alpha: np.ndarray  # 1 - beta
    alpha_bar: np.ndarray  # abar of eq. (2)
    sigma: np.ndarray  # eq. (3)

    @property
    def n_steps(self) -> int:
        """T."""
        return len(self.beta)


def noise_schedule(
    kind: ScheduleName = "linear",
    n_steps: int = 1000,
    *,
    beta_start: float = 1e-4,
    beta_end: float = 0.02,
) -> NoiseSchedule:
    """The schedule of a diffusion of `n_steps` steps.

    Parameters
    ----------
    kind : {"linear", "cosine"}
    n_steps : int
        T.
    beta_start, beta_end : float
        First and last beta of a linear schedule of 1000 steps; those of T steps are
        1000 / T as large, so that abar falls in the same way.

    Returns
    -------
    NoiseSchedule
        `beta`, `alpha`, `alpha_bar` and `sigma`, float64 arrays of shape (T,).

    Examples
    --------
    >>> from pansophy.generative import noise_schedule
    >>> schedule = noise_schedule("linear", 1000)
    >>> [f"{schedule.alpha_bar[t - 1]:.5g}" for t in (1, 500, 1000)]
    ['0.9999', '0.078587', '4.0358e-05']
    """
    T = check_count("n_steps", n_steps)
    if kind == "linear":
        if not 0 < beta_start <= beta_end:
            raise ValueError(
                "beta_start must be above 0 and at most beta_end, got "
                f"{beta_start} and {beta_end}."
            )
        beta = np.linspace(beta_start, beta_end, T) * (1000 / T)
    elif kind == "cosine":
        t = np.arange(T + 1) / T
        angle = (t + COSINE_OFFSET) / (1 + COSINE_OFFSET) * np.pi / 2
        kept = np.cos(angle) ** 2
        beta = 1 - kept[1:] / kept[:-1]
    else:
        raise ValueError(f'kind must be "linear" or "cosine", got {kind!r}.')
    beta = np.minimum(beta, BETA_LIMIT)
    log_kept = np.cumsum(np.log1p(-beta))
    alpha_bar = np.exp(log_kept)
    sigma = np.sqrt(np.expm1(-log_kept))  # (1 - abar) / abar without cancellation
    return NoiseSchedule(beta, 1 - beta, alpha_bar, sigma)


def schedule_levels(schedule: NoiseSchedule, n_steps: int | None = None) -> np.ndarray:
    """Levels for sampling of a schedule: falling, T + 1 or n_steps + 1 of them, last 0.

    Fewer steps than T take times that are spread evenly and include T.

    Examples
    --------
    >>> from pansophy.generative import noise_schedule
    >>> from pansophy.generative.diffusion.noise_schedule import schedule_levels
    >>> schedule_levels(noise_schedule("cosine", 4), 2).round(3).tolist()
    [83.249, 1.012, 0.0]
    """
    T = schedule.n_steps
    n = T if n_steps is None else check_count("n_steps", n_steps)
    if n > T:
        raise ValueError(f"n_steps is {n}, but the schedule has {T} steps.")
    times = np.round(np.linspace(T, 0, n + 1)).astype(int)
    return np.append(0.0, schedule.sigma)[times]


def noise_levels(
    n_steps: int,
    kind: LadderName = "karras",
    *,
    sigma_min: float = 0.002,
    sigma_max: float = 80.0,
) -> np.ndarray:
    """Falling levels (n_steps + 1,) from sigma_max to sigma_min, and then exactly 0.

    Examples
    --------
    >>> from pansophy.generative.diffusion.noise_schedule import noise_levels
    >>> noise_levels(4).round(3).tolist()
    [80.0, 9.723, 0.47, 0.002, 0.0]
    >>> noise_levels(1).tolist()
    [80.0, 0.0]
    """
    n = check_count("n_steps", n_steps)
    if not 0 < sigma_min < sigma_max < np.inf:
        raise ValueError(
            "sigma_min and sigma_max must be finite and above 0, and the first "
            f"smaller, got {sigma_min} and {sigma_max}."
        )
    share = np.linspace(0.0, 1.0, n) if n > 1 else np.zeros(1)
    if kind == "karras":
        first, last = sigma_max ** (1 / KARRAS_POWER), sigma_min ** (1 / KARRAS_POWER)
        sigma = (first + share * (last - first)) ** KARRAS_POWER
    elif kind == "log":
        sigma = sigma_max * (sigma_min / sigma_max) ** share
    elif kind == "time":
        first, last = sigma_max / (1 + sigma_max), sigma_min / (1 + sigma_min)
        t = np.linspace(first, 0.0, n + 1)[:-1]  # equal steps, the last one to 0
        t = np.maximum(t, last)
        sigma = t / (1 - t)
    else:
        raise ValueError(f'kind must be "karras", "log" or "time", got {kind!r}.')
    sigma[0] = sigma_max
    return np.append(sigma, 0.0)
