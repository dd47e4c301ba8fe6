"""The diffusion of a row in closed form: forward process, posterior and evidence bound.

With the letters of `noise_schedule` and a_t = 1 - beta_t, x_t and the noise it holds:

    x_t = sqrt(abar_t) x_0 + sqrt(1 - abar_t) eps,      eps ~ N(0, I)            (1)

One step back is Gaussian if x_0 is known, by Bayes' rule for Gaussians:

    q(x_{t-1} | x_t, x_0) = N(u_t x_0 + w_t x_t, v_t I)                          (2)
    u_t = sqrt(abar_{t-1}) beta_t / (1 - abar_t)
    w_t = sqrt(a_t) (1 - abar_{t-1}) / (1 - abar_t)
    v_t = beta_t (1 - abar_{t-1}) / (1 - abar_t)

At t = 1 it is x_0 itself: v_1 = 0. A model replaces x_0 by what it makes of x_t, given
as x_0, as the noise eps, or as v = sqrt(abar) eps - sqrt(1 - abar) x_0:

    x_0 = (x_t - sqrt(1 - abar) eps) / sqrt(abar) = sqrt(abar) x_t - sqrt(1 - abar) v
    eps = sqrt(1 - abar) x_t + sqrt(abar) v                                      (3)

so its reverse step is p(x_{t-1} | x_t) = N(u_t x_0(x_t) + w_t x_t, s_t^2 I). The
evidence bound E_q[log p(x_0..x_T) - log q(x_1..x_T | x_0)] <= log p(x_0) has two forms:

    E log p(x_0 | x_1) - E KL(q(x_T | x_{T-1}) | p(x_T))
        - sum_{t=1}^{T-1} E log(q(x_t | x_{t-1}) / p(x_t | x_{t+1}))             (4)
    E log p(x_0 | x_1) - KL(q(x_T | x_0) | p(x_T))
        - sum_{t=2}^{T} E KL(q(x_{t-1} | x_t, x_0) | p(x_{t-1} | x_t))           (5)

Equal in expectation; a term of (4) is an expectation over the joint law of three
neighbours, one of (5) over one variable, so that (5) varies less. (Texts that print a
KL in the sum of (4) draw x_t independently of x_{t+1}, which is another, much lower
number.) The term of p(x_T) = N(0, I) has no parameters. With s_t^2 = v_t a term of (5)
is beta_t^2 / (2 v_t a_t (1 - abar_t)) |eps - eps(x_t)|^2, the weighted noise loss;
weight 1 gives the simple one.

Functions take NumPy arrays or torch tensors and give the same back.
Shapes    x_0, x_t (n, ...)   t a number or (n,), from 1 to T
Refs      [SohlDickstein2015] (4), (5); [Ho2020] noise losses; [Salimans2022] v
"""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from ...core.arrays import arrays
from ...core.arrays.unreadable import array_of_numbers, array_of_rows
from ...core.random import make_rng
from .noise_schedule import NoiseSchedule

Prediction = Literal["x0", "noise", "v"]


class ReverseStep(NamedTuple):
    """A Gaussian for x_{t-1}: mean and variance, eq. (2)."""

    mean: Any  # like x_t
    variance: Any  # a number for each row, of shape (n, 1, ...) or ()


class ElboTerms(NamedTuple):
    """Terms of the evidence bound in nats, one entry per row; see eqs. (4) and (5)."""

    reconstruction: np.ndarray  # log p(x_0 | x_1)
    prior: np.ndarray  # KL at T
    transitions: np.ndarray  # (n, T - 1): KLs or log ratios of the other steps

    @property
    def total(self) -> np.ndarray:
        """The bound of each row."""
        return self.reconstruction - self.prior - self.transitions.sum(axis=1)


def _per_row(values, t, like):
    """values[t - 1] for each row, 1 or 0 extra dimensions as `like` has; t = 0: 1.

    `values` are alpha_bar or other entries of a schedule.
    """
    t = np.asarray(array_of_rows(t, "t"))
    if t.dtype.kind not in "iu" or (t < 0).any() or (t > len(values)).any():
        raise ValueError(
            f"t must hold whole numbers from 0 to {len(values)}, got "
            f"{np.array2string(t, threshold=5)}."
        )
    result = np.append(1.0, values)[t]
    if t.ndim:
        if t.shape != like.shape[:1]:
            raise ValueError(
                f"t must be a number or of shape ({like.shape[0]},), got {t.shape}."
            )
        result = result.reshape(-1, *(1,) * (like.ndim - 1))
    return arrays.asarray(np.asarray(result), like)


def _standard_noise(like, rng):
    """Standard normal numbers of the shape, library and precision of `like`."""
    return arrays.asarray(rng.standard_normal(tuple(like.shape)), like)


def diffuse(x0, t, schedule: NoiseSchedule, *, noise=None, random_state=None):
    """Rows after t steps of noise, eq. (1): (x_t, noise).

    Parameters
    ----------
    x0 : array of shape (n, ...)
    t : int or array of shape (n,)
        Steps, from 0 (nothing happens) to T.
    schedule : NoiseSchedule
    noise : array like x0 or None
        eps; None draws it.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    x_t, noise : arrays like x0
        x_0 is (x_t - sqrt(1 - abar_t) noise) / sqrt(abar_t).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import diffuse, noise_schedule
    >>> one, zero = np.ones((1, 2)), np.zeros((1, 2))
    >>> diffuse(one, 500, noise_schedule(), noise=zero)[0].round(4)  # sqrt(0.078587)
    array([[0.2803, 0.2803]])
    """
    x0 = _float_rows(x0)
    if noise is None:
        noise = _standard_noise(x0, make_rng(random_state))
    noise = arrays.asarray(noise, x0)
    kept = _per_row(schedule.alpha_bar, t, x0)
    xp = arrays.namespace(x0)
    return xp.sqrt(kept) * x0 + xp.sqrt(1 - kept) * noise, noise


def diffusion_trajectory(x0, schedule: NoiseSchedule, *, random_state=None):
    """Rows after every single step: (T + 1, n, ...), from x_0 to x_T."""
    x = _float_rows(x0)
    rng = make_rng(random_state)
    path = [x]
    for beta in schedule.beta:
        x = math.sqrt(1 - beta) * x + math.sqrt(beta) * _standard_noise(x, rng)
        path.append(x)
    return arrays.namespace(x).stack(path)


def _float_rows(x):
    """An array of floating-point numbers with at least one dimension."""
    x = x if arrays.is_foreign(x) else array_of_rows(x, "rows")
    if not arrays.is_foreign(x) and x.dtype.kind not in "biufc":
        x = array_of_numbers(x, "rows")
    x = arrays.as_float(x)
    if x.ndim == 0:
        raise ValueError(
            "rows must be an array of at least one dimension, got one number."
        )
    return x


def _signal_and_noise(sigma):
    """Factors (a, b) of x_0 and noise in x_t, with a^2 + b^2 = 1; sigma from 0 to inf.

    a = sqrt(abar) = 1 / sqrt(1 + sigma^2) and b = sqrt(1 - abar).
    """
    sigma = np.asarray(sigma, dtype=float)
    a = 1 / np.hypot(1.0, sigma)
    with np.errstate(divide="ignore"):
        b = 1 / np.hypot(1.0, 1 / sigma)
    return a, b


def convert_prediction(value, x_t, sigma, given: Prediction, wanted: Prediction):
    """A prediction of x_0, of the noise or of v as another of the three, eq. (3).

    Parameters
    ----------
    value : array like x_t
        What was predicted.
    x_t : array of shape (n, ...)
    sigma : float
        Ratio of noise to signal in x_t. From v every other can be had at any level, 0
        and inf included; x_0 from noise needs a finite level, noise from x_0 one above
        0.
    given, wanted : {"x0", "noise", "v"}

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative.diffusion.diffusion_process import convert_prediction
    >>> x0, noise = np.array([[2.0]]), np.array([[-1.0]])
    >>> x_t = (x0 + 0.75 * noise) / 1.25
    >>> v = convert_prediction(x0, x_t, 0.75, "x0", "v")
    >>> convert_prediction(v, x_t, 0.75, "v", "noise")
    array([[-1.]])
    """
    names = ("x0", "noise", "v")
    if given not in names or wanted not in names:
        raise ValueError(
            f"given and wanted must be of {', '.join(names)}, got {given!r} and "
            f"{wanted!r}."
        )
    a, b = (float(part) for part in _signal_and_noise(sigma))
    if given == wanted:
        return value
    if given == "v":
        return a * x_t - b * value if wanted == "x0" else b * x_t + a * value
    divisor = b if given == "x0" else a
    if divisor == 0:
        raise ValueError(
            f"{wanted} cannot be told from {given} at the noise level {sigma}."
        )
    if given == "x0":
        noise = (x_t - a * value) / b
        return noise if wanted == "noise" else a * noise - b * value
    x0 = (x_t - b * value) / a
    return x0 if wanted == "x0" else a * value - b * x0


def posterior_weights(schedule: NoiseSchedule, t, like):
    """u_t, w_t and v_t of eq. (2) for rows like `like`."""
    kept, kept_before = (
        _per_row(schedule.alpha_bar, t, like),
        _per_row(schedule.alpha_bar, np.asarray(t) - 1, like),
    )
    alpha = _per_row(schedule.alpha, t, like)
    beta = _per_row(schedule.beta, t, like)
    xp = arrays.namespace(like)
    u = xp.sqrt(kept_before) * beta / (1 - kept)
    w = xp.sqrt(alpha) * (1 - kept_before) / (1 - kept)
    return u, w, beta * (1 - kept_before) / (1 - kept)


def denoising_posterior(
    x_t, prediction, t, schedule: NoiseSchedule, *, kind: Prediction = "x0"
) -> ReverseStep:
    """q(x_{t-1} | x_t, x_0), eq. (2), for a true or a predicted x_0, noise or v.

    Parameters
    ----------
    x_t : array of shape (n, ...)
    prediction : array like x_t
    t : int from 1 to T
    schedule : NoiseSchedule
    kind : {"x0", "noise", "v"}
        What `prediction` is.

    Returns
    -------
    ReverseStep
        `mean`, like x_t, and `variance`, 0 at t = 1.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import denoising_posterior, noise_schedule
    >>> one, zero = np.ones((1, 1)), np.zeros((1, 1))
    >>> schedule = noise_schedule()
    >>> step = denoising_posterior(zero, one, 500, schedule)
    >>> float(step.mean[0, 0].round(6)), float(step.variance.round(6))
    (0.00307, 0.010031)
    """
    x_t = _float_rows(x_t)
    if np.ndim(t):
        raise ValueError(f"t must be one number, got shape {np.shape(t)}.")
    if t < 1:
        raise ValueError(f"t must be at least 1, got {t}.")
    sigma = schedule.sigma[t - 1]
    x0 = convert_prediction(prediction, x_t, sigma, kind, "x0")
    u, w, v = posterior_weights(schedule, t, x_t)
    return ReverseStep(u * x0 + w * x_t, v)


def noise_loss_weight(schedule: NoiseSchedule) -> np.ndarray:
    """Weight of |eps - eps(x_t)|^2 in eq. (5) for t = 2..T, (T - 1,), for s^2 = v_t."""
    beta, alpha, kept = schedule.beta[1:], schedule.alpha[1:], schedule.alpha_bar[1:]
    v = beta * (1 - schedule.alpha_bar[:-1]) / (1 - kept)
    return beta**2 / (2 * v * alpha * (1 - kept))


def reverse_variances(schedule: NoiseSchedule, variance: str) -> np.ndarray:
    """s_t^2 of the reverse steps t = 1..T: "posterior" v_t, "beta" beta_t.

    The first step of both is beta_1: a density of x_0 given x_1 needs a width.
    """
    if variance == "beta":
        return schedule.beta
    if variance != "posterior":
        raise ValueError(f'variance must be "posterior" or "beta", got {variance!r}.')
    kept = schedule.alpha_bar
    kept_before = np.append(1.0, kept[:-1])
    v = schedule.beta * (1 - kept_before) / (1 - kept)
    v[0] = schedule.beta[0]
    return v


def gaussian_kl_rows(mean_q, var_q, mean_p, var_p) -> np.ndarray:
    """KL(N(mean_q, var_q I) | N(mean_p, var_p I)) of each row, variances numbers."""
    gap = arrays.to_numpy(mean_q - mean_p).astype(float)
    gap = gap.reshape(len(gap), -1)
    d = gap.shape[1]
    spread = d * (var_q / var_p - 1 - math.log(var_q / var_p))
    return 0.5 * (spread + (gap**2).sum(axis=1) / var_p)


def diffusion_elbo(
    predict: Callable,
    x0,
    schedule: NoiseSchedule,
    *,
    kind: Prediction = "noise",
    variance: Literal["posterior", "beta"] = "posterior",
    form: Literal["posterior", "consistency"] = "posterior",
    random_state=None,
) -> ElboTerms:
    """One draw of the evidence bound of each row, in nats.

    Parameters
    ----------
    predict : function of (x_t, t)
        What the model makes of rows after t steps (an int), of kind `kind`.
    x0 : array of shape (n, ...)
    schedule : NoiseSchedule
        The model is asked once for each of its T steps.
    kind : {"noise", "x0", "v"}
    variance : {"posterior", "beta"}
        s_t^2 of the reverse steps.
    form : {"posterior", "consistency"}
        Eq. (5), or eq. (4), which varies more.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    ElboTerms
        `reconstruction`, `prior`, `transitions` and their `total`.

    Examples
    --------
    The best model of N(0, 1) loses only what reverse steps of a fixed variance lose.

    >>> import numpy as np
    >>> from pansophy.generative import diffusion_elbo, noise_schedule
    >>> x0 = np.random.default_rng(0).normal(size=(2000, 1))
    >>> schedule = noise_schedule("linear", 1000)
    >>> best = lambda x_t, t: np.sqrt(1 - schedule.alpha_bar[t - 1]) * x_t
    >>> bound = diffusion_elbo(best, x0, schedule, variance="beta", random_state=0)
    >>> entropy = 0.5 * np.log(2 * np.pi * np.e)
    >>> bool(abs(bound.total.mean() + entropy) < 0.1)
    True
    """
    if form not in ELBO_FORMS:
        raise ValueError(f'form must be "posterior" or "consistency", got {form!r}.')
    x0 = _float_rows(x0)
    s2 = reverse_variances(schedule, variance)
    rng = make_rng(random_state)

    def reverse_mean(x, t):
        return denoising_posterior(x, predict(x, t), t, schedule, kind=kind).mean

    x1 = diffuse(x0, 1, schedule, random_state=rng)[0]
    reconstruction = -negative_log_normal(x0, reverse_mean(x1, 1), s2[0])
    prior, terms = ELBO_FORMS[form](x0, schedule, reverse_mean, s2, rng)
    transitions = np.stack(terms, axis=1) if terms else np.zeros((len(x0), 0))
    return ElboTerms(reconstruction, prior, transitions)


def _posterior_form(x0, schedule, reverse_mean, s2, rng):
    """The prior term and the T - 1 transition terms of eq. (5)."""
    kept = schedule.alpha_bar[-1]
    prior = gaussian_kl_rows(math.sqrt(kept) * x0, 1 - kept, 0 * x0, 1.0)
    terms = []
    for t in range(2, schedule.n_steps + 1):
        x = diffuse(x0, t, schedule, random_state=rng)[0]
        step = denoising_posterior(x, x0, t, schedule)
        v = float(step.variance)
        terms.append(gaussian_kl_rows(step.mean, v, reverse_mean(x, t), s2[t - 1]))
    return prior, terms


def _consistency_form(x0, schedule, reverse_mean, s2, rng):
    """The prior term and the T - 1 transition terms of eq. (4)."""
    T = schedule.n_steps
    draw = lambda t: diffuse(x0, t, schedule, random_state=rng)[0]
    x_before = draw(T - 1)
    beta = schedule.beta[-1]
    prior = gaussian_kl_rows(math.sqrt(1 - beta) * x_before, beta, 0 * x0, 1.0)
    terms = []
    for t in range(1, T):
        x_before = draw(t - 1)
        beta = schedule.beta[t - 1]
        forward_mean = math.sqrt(1 - beta) * x_before
        x = forward_mean + math.sqrt(beta) * _standard_noise(x0, rng)
        a = schedule.alpha[t]
        x_after = math.sqrt(a) * x + math.sqrt(1 - a) * _standard_noise(x0, rng)
        forward_cost = negative_log_normal(x, forward_mean, beta)
        reverse_cost = negative_log_normal(x, reverse_mean(x_after, t + 1), s2[t])
        terms.append(reverse_cost - forward_cost)
    return prior, terms


ELBO_FORMS: dict[str, Callable] = {
    "posterior": _posterior_form,
    "consistency": _consistency_form,
}


def negative_log_normal(x, mean, variance) -> np.ndarray:
    """-log N(x | mean, variance I) of each row."""
    gap = arrays.to_numpy(x - mean).astype(float)
    gap = gap.reshape(len(gap), -1)
    d = gap.shape[1]
    constant = d * math.log(2 * math.pi * variance)
    return 0.5 * (constant + (gap**2).sum(axis=1) / variance)
