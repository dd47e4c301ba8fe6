"""Normals of highest posterior (MAP) under a prior, in every covariance shape.

The prior of a batch of k Normals, up to a constant, is

    log p = - sum_j [ e_j log det S_j + kappa_j (m_j - m_0j)' S_j^-1 (m_j - m_0j) ] / 2
            - sum_j tr(Psi_j S_j^-1) / 2                                         (1)

with Psi once where S is tied, tr(Psi S^-1) = Psi / s for a sphere of variance s. So
Psi and e are what an inverse Wishart (a gamma, for variances) and the Normal of the
means add to the scatter and to the number of rows; any part may be absent. With N_j,
x_j and C_j the weight, mean and scatter of the rows of a component its mode is

    m_j = (N_j x_j + kappa_j m_0j) / (N_j + kappa_j)                             (2)
    S_j = (C_j + kappa_j N_j / (kappa_j + N_j) (x_j - m_0j)(x_j - m_0j)' + Psi_j)
          / (N_j + e_j)                                                          (3)

in the storage of the shape; a tied S has the sums over j above and below the line, a
sphere the trace above and d times the number below. If the means are not to move,
(3) has the scatter about them where they are.

Shapes    m_0 (k, d)   kappa, e, N (k,)   Psi as the covariances, or of one
Refs      [Murphy2012] section 4.6; [GauvainLee1994] for hidden Markov models
"""

from typing import Any, NamedTuple

import numpy as np

from .covariance import SHAPES
from .normal import Moments, Normal

EPS = 10 * np.finfo(float).eps


class NormalPrior(NamedTuple):
    """Prior of eq. (1) on means and covariances; flat by default."""

    m0: Any = 0.0
    kappa: Any = 0.0
    psi: Any = None  # a scatter, in the storage of the shape
    extra: Any = 0.0  # e


def posterior_modes(stats: Moments, prior: NormalPrior = NormalPrior(), means=None):
    """Means of eq. (2), or those given, and covariances of eq. (3)."""
    part = SHAPES[stats.shape]
    (k, d) = stats.mean.shape
    N, S = stats.weight, stats.scatter
    kappa = np.broadcast_to(np.asarray(prior.kappa, float), (k,))
    D = stats.mean - prior.m0
    if means is not None:
        S = S + part.outer(stats.mean - means, N) + part.outer(means - prior.m0, kappa)
    elif kappa.any():
        S = S + part.outer(D, kappa * N / np.maximum(kappa + N, EPS))
        means = prior.m0 + D * (N / np.maximum(kappa + N, EPS))[:, None]
    else:
        means = stats.mean
    if prior.psi is not None:
        S = S + prior.psi
    return means, part.estimate(S, N + EPS + prior.extra, d)


def normal_log_prior(q: Normal, prior: NormalPrior) -> float:
    """Eq. (1)."""
    k, d = q.means.shape
    half = np.broadcast_to(q.half_log_det, (k,))  # log det P = -log det S / 2
    log_prior = float((half * prior.extra).sum())
    if np.any(prior.kappa):
        m0 = np.broadcast_to(prior.m0, (k, d))
        prior_terms = [
            q.part.distance(m0[j : j + 1], q.means, q.factor)[0, j] for j in range(k)
        ]
        log_prior -= 0.5 * float(
            (np.asarray(prior.kappa) * np.array(prior_terms)).sum()
        )
    if prior.psi is None:
        return log_prior
    P = q.factor
    psi = np.asarray(prior.psi)
    if q.shape in ("diag", "spherical"):
        return log_prior - 0.5 * float((P * P * psi).sum())
    P = P[None] if q.shape == "tied" else P
    return log_prior - 0.5 * float((P * (psi @ P)).sum())
