"""Importance sampling: weighted draws of a proposal represent another distribution.

For x_i ~ q and weights w_i = p(x_i) / q(x_i),

    E_p f ~ (1/n) sum w_i f(x_i)                     p normalised: unbiased      (1)
    E_p f ~ sum w_i f(x_i) / sum w_i                 p up to a constant          (2)
    Z = int p ~ (1/n) sum w_i                                                    (3)

with variances, for the normalised weights W_i and the estimate I,

    (1)  var(w f) / n           (2)  sum W_i^2 (f_i - I)^2                       (4)

(1) has variance zero for f >= 0 and q proportional to f p. The quality of q shows in
the effective sample size 1 / sum W_i^2 and in the tail of the weights: the largest M =
min(n/5, 3 sqrt n) exceedances are fitted by a generalised Pareto distribution, whose
shape k says which moments of w exist: k < 1/2 means a finite variance, k > 0.7 that
estimates are unreliable at any practical n. Pareto smoothing (PSIS) replaces the tail
weights by the quantiles of the fit, which removes most of their noise.

Shapes    x (n, ...)   f (n,) or (n, c)   w (n,)
Refs      [Kahn1953]; [Kong1994] effective size; [Vehtari2024] k and smoothing;
          [Zhang2009] Pareto fit; [Owen2013] (4)
"""

import warnings
from typing import NamedTuple

import numpy as np

from ...core.arrays.weighted import effective_sample_size
from ...core.random import make_rng
from ...params import check_count
from ..densities.distribution_interface import (
    as_distribution,
    draw_samples,
    log_density_function,
)
from ..particles.resampling import DEGENERATE_SHARE, resample, softmax_weights

PARETO_K_LIMIT = 0.7


class ParetoSmoothed(NamedTuple):
    """Log weights with a smoothed tail, and the shape of that tail."""

    log_weights: np.ndarray
    k: float  # NaN where there are too few weights for a fit


class ImportanceResult(NamedTuple):
    """An expectation by importance sampling, with its error and weights."""

    value: np.ndarray | float
    se: np.ndarray | float
    ess: float  # effective sample size of w, or of w|f| in eq. (1)
    k: float  # Pareto shape of their tail
    log_z: float  # eq. (3), 0 up to noise if log_prob is normalised
    draws: np.ndarray
    weights: np.ndarray  # W, summing to one

    def resample(self, n=None, random_state=None):
        """Approximately equally weighted draws of the target."""
        return self.draws[resample(self.weights, n, random_state=random_state)]

    def __repr__(self):
        head = np.array2string(np.asarray(self.value), precision=5)
        error = np.array2string(np.asarray(self.se), precision=2)
        return (
            f"{head} +- {error} ({len(self.weights)} draws worth {self.ess:.0f}, "
            f"k = {self.k:.2f})"
        )


def _fit_generalized_pareto(x):
    """Shape k and scale of the generalised Pareto distribution of ascending x > 0.

    The posterior mean over a grid of theta = -k / scale, to which the likelihood can be
    reduced; k is shrunk to 1/2 with the weight of ten draws.
    """
    n = len(x)
    m = 30 + int(np.sqrt(n))
    quartile = x[max(int(n / 4 + 0.5) - 1, 0)]
    theta = 1 / x[-1] + (1 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))) / (3 * quartile)
    shape = np.log1p(-theta[:, None] * x).mean(axis=1)  # of each theta
    with np.errstate(invalid="ignore", divide="ignore"):
        fit = n * (np.log(-theta / shape) - shape - 1)  # profile log likelihood
    fit = np.where(np.isnan(fit), -np.inf, fit)
    w = np.exp(fit - fit.max())
    theta = float(w @ theta / w.sum())
    k = float(np.log1p(-theta * x).mean())
    scale = -k / theta
    return (n * k + 10 * 0.5) / (n + 10), scale


def pareto_smooth(log_weights) -> ParetoSmoothed:
    """Pareto-smoothed log weights and the shape of their tail.

    Parameters
    ----------
    log_weights : array of shape (n,)

    Returns
    -------
    Pareto
        `log_weights` with the tail replaced by quantiles of its fit, and `k`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.sampling import pareto_smooth
    >>> e = np.random.default_rng(0).exponential(size=10_000)  # e^(a e): k = a
    >>> [round(pareto_smooth(a * e).k, 1) for a in (0.3, 0.9)]
    [0.3, 0.9]
    """
    L = np.array(log_weights, dtype=float)
    n = len(L)
    M = int(np.ceil(min(n / 5, 3 * np.sqrt(n))))
    top = L.max() if n else -np.inf
    if M < 5 or not np.isfinite(top):
        return ParetoSmoothed(L, np.nan)
    order = np.argsort(L, kind="stable")
    tail = order[-M:]
    threshold = max(L[order[-M - 1]], top + np.log(np.finfo(float).tiny))
    excess = np.exp(L[tail] - top) - np.exp(threshold - top)
    if not excess[-1] > 1e-12:  # equal weights have no tail
        return ParetoSmoothed(L, -np.inf)
    k, scale = _fit_generalized_pareto(np.maximum(excess, 1e-300))
    if np.isfinite(k):
        p = (np.arange(M) + 0.5) / M
        quantiles = (
            scale * np.expm1(-k * np.log1p(-p)) / k
            if abs(k) > 1e-12
            else (-scale * np.log1p(-p))
        )
        L[tail] = np.minimum(np.log(quantiles + np.exp(threshold - top)), 0.0) + top
    return ParetoSmoothed(L, k)


def importance_sample(
    f,
    log_prob,
    proposal,
    n=10_000,
    *,
    normalised=False,
    smooth=False,
    random_state=None,
):
    """E_p f from draws of a proposal, with error, effective sample size and Pareto k.

    Parameters
    ----------
    f : function or None
        Of draws (n, ...), giving (n,) or (n, c); None is the draws themselves.
    log_prob : function
        log p of the draws, giving (n,).
    proposal : distribution
        With `sample` and `log_prob`, a frozen SciPy distribution, or a box.
    n : int
    normalised : bool
        Whether p integrates to one: eq. (1), unbiased; otherwise eq. (2).
    smooth : bool
        Whether to smooth the largest weights (eq. (2) only).
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Importance
        value, se, ess, k, log_z, draws and weights. Degenerate weights warn.

    Examples
    --------
    The probability of a normal draw above 4, from draws around 4:

    >>> from pansophy.distributions import Normal
    >>> from pansophy.sampling import importance_sample
    >>> rare = lambda x: x[:, 0] > 4
    >>> p, q = Normal(0.0, 1.0), Normal(4.0, 1.0)
    >>> run = importance_sample(rare, p.log_prob, q, normalised=True, random_state=1)
    >>> bool(abs(run.value / 3.167e-5 - 1) < 0.05)
    True
    """
    n = check_count("n", n, 2)
    if normalised and smooth:
        raise ValueError("smoothed weights are for normalised=False.")
    q = as_distribution(proposal)
    rng = make_rng(random_state)
    x = draw_samples(q, n, rng)
    L = np.asarray(log_prob(x), dtype=float).reshape(n) - log_density_function(q)(x)
    if np.isnan(L).any() or L.max() == np.inf:
        i = int(np.argmax(np.isnan(L) | (np.inf == L)))
        raise ValueError(f"the weight is {np.exp(L[i])} at {x[i]}.")
    if L.max() == -np.inf:
        raise ValueError("no draw of the proposal lies where log_prob is finite.")
    smoothed, k = pareto_smooth(L)
    log_z = softmax_weights(L)[1]
    W = softmax_weights(smoothed if smooth else L)[0]
    F = x if f is None else f(x)
    F = np.asarray(F, dtype=float)
    flat = F.ndim == 1
    F = F.reshape(n, -1)
    F = np.where(W[:, None] > 0, F, 0.0)  # f may be undefined where p is 0
    if normalised:
        Y = np.exp(L)[:, None] * F
        value = Y.mean(axis=0)
        se = Y.std(axis=0, ddof=1) / np.sqrt(n)
        size = np.linalg.norm(F, axis=1)  # the terms w|f| matter here, not w alone
        terms = L + np.log(size, out=np.full(n, -np.inf), where=size > 0)
        k = pareto_smooth(terms).k
        ess = effective_sample_size(np.exp(terms - terms.max())) if size.any() else 0.0
    else:
        value = W @ F
        se = np.sqrt(np.square(W) @ np.square(F - value))
        ess = effective_sample_size(W)
    _warn_degenerate_weights(ess, k, n)
    as_result = (lambda a: float(a[0])) if flat else (lambda a: a)
    return ImportanceResult(as_result(value), as_result(se), ess, k, log_z, x, W)


def _warn_degenerate_weights(ess, k, n):
    """Warn about unreliable weights."""
    problems = []
    if ess < max(DEGENERATE_SHARE * n, 2.0):
        problems.append(f"{n} draws are worth {ess:.1f}")
    if k > PARETO_K_LIMIT:
        problems.append(
            f"the weights have a Pareto tail of shape {k:.2f} > {PARETO_K_LIMIT}"
        )
    if problems:
        warnings.warn(
            "importance weights degenerate: " + " and ".join(problems) + "; take a "
            "proposal with wider tails.",
            RuntimeWarning,
            stacklevel=3,
        )
