"""Variational turns for Bayesian Gaussian mixtures: a distribution over mixtures.

With a Dirichlet (or a Dirichlet process, cut off after k sticks) on the weights and a
Normal-Wishart on each mean and precision, the posterior of parameters and memberships
is approached by the product of one for each that is closest in KL. Taking turns
[Attias2000]:

    E   log r_ij = E[log w_j] + E[log N(x_i; m_j, S_j)] + const                  (1)
    M   beta_j = beta_0 + N_j,   v_j = v_0 + N_j,
        m_j = (beta_0 m_0 + N_j x_j) / beta_j,   S_j = (Psi + C_j + N_j a I +
              beta_0 N_j / beta_j (x_j - m_0)(x_j - m_0)') / v_j                 (2)

with N_j, x_j, C_j the weight, mean and scatter under r, and a = `reg_covar`. Since

    E[log N(x; m_j, S_j)] = log N(x; m_j, S_j) + (lambda_j - d / beta_j) / 2     (3)
    lambda_j = sum_{i<=d} digamma((v_j + 1 - i) / 2) + d log 2 - d log v_j

the E-step is that of an ordinary mixture with other numbers for log w_j, and runs by
the same code, missing values included. Its entropy follows from the statistics, so a
turn is one pass over the rows.

(2) is exact for full covariances, for which the bound never falls. Tied, diagonal and
spherical ones follow scikit-learn's updates: (3) for all shapes, and for a tied one
N = sum_j N_j / k rows each.

Shapes    X (n, d)   r (n, k)   m (k, d)   S by covariance_type   beta, v (k,)
Refs      [Attias2000]; [Blei2006] the process; [Bishop2006] section 10.2
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, digamma, gammaln

from ..core import arrays
from ..core.rows import is_dataset
from ..distributions.covariance import SHAPES
from ..distributions.normal import Moments, Normal
from .gaussian_em import EPS, EMData, GaussianMixtureParams, e_step, mixture_attributes


class VariationalPrior(NamedTuple):
    """What is believed before the rows are seen."""

    process: bool  # a Dirichlet process, else a Dirichlet
    a: float  # concentration
    m0: np.ndarray  # (d,)
    beta0: float
    psi: Any  # in the storage of one component
    v0: float


class VariationalPosterior(NamedTuple):
    """What is believed after."""

    weights: Any  # concentrations (k,), or pairs of them (2, k) of the sticks
    beta: np.ndarray  # (k,)
    v: Any  # (k,), or a number if tied
    normal: Normal  # m, S


def variational_m_step(
    stats: Moments, prior: VariationalPrior, floor: float
) -> VariationalPosterior:
    """Eq. (2)."""
    N, part = stats.weight + EPS, SHAPES[stats.shape]
    k, d = stats.mean.shape
    if prior.process:
        rest = np.append(np.cumsum(N[::-1])[-2::-1], 0.0)
        weights = np.stack([1 + N, prior.a + rest])
    else:
        weights = prior.a + N
    beta = prior.beta0 + N
    D = stats.mean - prior.m0
    mean = prior.m0 + D * (N / beta)[:, None]
    pull = part.outer(D, prior.beta0 * N / beta)
    S, share = stats.scatter + pull, N
    if stats.shape == "tied":
        S, share = S / k, N.sum() / k
    if stats.shape == "spherical":
        S = S / d
    S = prior.psi + part.floor(S, 0.0) + scaled_identity(share * floor, stats.shape, d)
    v = prior.v0 + share
    lift = np.reshape(v, np.shape(v) + (1,) * (S.ndim - np.ndim(v)))
    return VariationalPosterior(weights, beta, v, Normal(mean, S / lift, stats.shape))


def scaled_identity(x, shape, d):
    """x times the identity, in the storage of a shape."""
    if shape == "diag":
        return np.asarray(x)[..., None]
    if shape == "spherical":
        return x
    return np.multiply.outer(x, np.eye(d))


def expected_log_weights(q: VariationalPosterior):
    """E[log w_j]: (k,)."""
    if np.ndim(q.weights) == 1:
        return digamma(q.weights) - digamma(q.weights.sum())
    a, b = q.weights
    total = digamma(a + b)
    left = np.append(0.0, np.cumsum(digamma(b) - total)[:-1])
    return digamma(a) - total + left


def expected_log_offsets(q: VariationalPosterior):
    """Eq. (3) less the log-density of the Normal, with E[log w_j]: (k,)."""
    d = q.normal.d
    steps = digamma(0.5 * (np.reshape(q.v, (-1, 1)) - np.arange(d))).sum(1)
    inner = steps + d * np.log(2) - d * np.log(np.ravel(q.v))
    return expected_log_weights(q) + 0.5 * (inner - d / q.beta)


def expected_weights(q: VariationalPosterior):
    """The weights that are expected: (k,), summing to 1."""
    if np.ndim(q.weights) == 1:
        return q.weights / q.weights.sum()
    a, b = q.weights
    left = np.append(1.0, np.cumprod(b / (a + b))[:-1])
    w = a / (a + b) * left
    return w / w.sum()


def variational_e_step(
    data: EMData, q: VariationalPosterior, prior: VariationalPrior, floor: float
):
    """Eq. (1): statistics under r, and the bound for r with the posterior (2) of it."""
    log_w = expected_log_offsets(q)
    fake = GaussianMixtureParams(np.exp(expected_log_weights(q)), q.normal)
    stats, loglik = e_step(data, fake, log_w)
    D = stats.mean - q.normal.mean
    part, P = q.normal.part, q.normal.factor
    second = stats.scatter + part.outer(D, stats.weight)
    if q.normal.shape in ("diag", "spherical"):
        inside = (P * P * second).sum()
    else:
        inside = (P * (second @ P)).sum()
    d, N = q.normal.d, stats.weight
    half = q.normal.half_log_det - 0.5 * d * np.log(2 * np.pi)
    joint = (N * (log_w + half)).sum() - 0.5 * inside  # sum of r log-joint
    return stats, (loglik - joint) + posterior_bound(
        variational_m_step(stats, prior, floor)
    )


def posterior_bound(q: VariationalPosterior) -> float:
    """The evidence bound right after (2), less the entropy of r and constants."""
    k, d = q.normal.mean.shape
    v = np.broadcast_to(q.v, (k,))
    log_det = np.broadcast_to(q.normal.half_log_det, (k,)) - 0.5 * d * np.log(v)
    gammas = gammaln(0.5 * (v[:, None] - np.arange(d))).sum(1)
    wishart = -(v * log_det + 0.5 * v * d * np.log(2) + gammas)
    if np.ndim(q.weights) == 1:
        weights = gammaln(q.weights.sum()) - gammaln(q.weights).sum()
    else:
        weights = -betaln(*q.weights).sum()
    return float(-wishart.sum() - weights - 0.5 * d * np.log(q.beta).sum())


def prior_attributes(prior: VariationalPrior) -> dict:
    """The priors as fitted attributes."""
    return {
        "weight_concentration_prior_": prior.a,
        "mean_precision_prior_": prior.beta0,
        "mean_prior_": prior.m0,
        "degrees_of_freedom_prior_": prior.v0,
        "covariance_prior_": prior.psi if np.ndim(prior.psi) else float(prior.psi),
    }


def posterior_attributes(q: VariationalPosterior, X) -> dict:
    """Fitted attributes in the library and dtype of X."""
    like = np.empty(0, X.dtype) if is_dataset(X) else X
    put = lambda a: arrays.asarray(a, like=like)
    pair = np.ndim(q.weights) == 2
    return {
        **mixture_attributes(GaussianMixtureParams(expected_weights(q), q.normal), X),
        "weight_concentration_": tuple(map(put, q.weights)) if pair else put(q.weights),
        "mean_precision_": put(q.beta),
        "degrees_of_freedom_": put(q.v) if np.ndim(q.v) else float(q.v),
    }
