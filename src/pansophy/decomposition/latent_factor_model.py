"""Linear Gaussian factor model: density, and EM with missing values.

    x = W^T z + m + e,    z ~ N(0, I_k),    e ~ N(0, diag(psi))                  (1)

so x ~ N(m, W^T W + diag(psi)). A row of which only the coordinates o are observed gives

    M = I + W_o diag(1/psi_o) W_o^T,    E[z] = M^-1 W_o ((x_o - m_o) / psi_o)    (2)
    E[z z^T] = M^-1 + E[z] E[z]^T
    log p(x_o) = -1/2 [ |o| log 2 pi + sum_o log psi + log det M
                        + |r|^2 - E[z]^T M E[z] ],   r = (x_o - m_o) / sqrt(psi_o)

and given those, each column j is a weighted regression on z~ = (z, 1) over the rows in
which it is observed (missing values are integrated out, never filled in):

    (w_j, m_j) = ( sum_i E[z~ z~^T] )^-1 sum_i x_ij E[z~]                        (3)
    psi_j = mean_i E[ (x_ij - w_j . z - m_j)^2 ]        or one psi for all       (4)

Cost      n d k^2 an iteration; memory of one block times k^2
Shapes    X (n, d) with NaN where missing   W (k, d)   psi, m (d,)   z~ (k + 1,)
Refs      [Rubin1982] EM for factors; [Tipping1999] one psi; [Ilin2010] missing values
"""

from typing import NamedTuple

import numpy as np

from ..core.arrays.rows import as_rows
from ..core.drivers.em import em
from ..core.drivers.progress import SILENT
from ..core.linalg.linalg import low_rank
from ..core.numerics import LOG_2PI

ELEMENTS = 1 << 18  # of the second moments of a block of rows


class FactorParams(NamedTuple):
    W: np.ndarray
    m: np.ndarray
    psi: np.ndarray


class FactorSums(NamedTuple):
    """Expected sums over the rows in which each column is observed."""

    second: np.ndarray  # sum E[z~ z~^T], (d, (k+1)^2)
    cross: np.ndarray  # sum x E[z~], (d, k+1)
    square: np.ndarray  # sum x^2, (d,)
    count: np.ndarray  # rows, (d,)


def factor_posterior(X, p: FactorParams):
    """E[z], M^-1 and log p(x_o) of each row, eq. (2); X may hold NaN."""
    W, m, psi = p
    k, d = W.shape
    seen = ~np.isnan(X)
    R = np.where(seen, X - m, 0.0)
    scaled = W / psi
    g = R @ scaled.T
    if seen.all():
        one = np.eye(k) + scaled @ W.T
        M, inverse = one[None], np.linalg.inv(one)[None]
        Z = g @ inverse[0]
    else:
        outer = (scaled[:, None, :] * W[None, :, :]).reshape(k * k, d)
        M = (seen.astype(float) @ outer.T).reshape(-1, k, k) + np.eye(k)
        inverse = np.linalg.inv(M)
        Z = np.einsum("nij,nj->ni", inverse, g)
    log_det = np.linalg.slogdet(M)[1]
    square = np.sum(R * R / psi, axis=1) - np.sum(Z * g, axis=1)
    logs = seen @ (np.log(psi) + LOG_2PI)
    return Z, inverse, -0.5 * (logs + log_det + square)


def factor_e_step(X, p: FactorParams):
    """Sums and log-likelihood of one block."""
    k = len(p.W)
    seen = (~np.isnan(X)).astype(float)
    Z, inverse, loglik = factor_posterior(X, p)
    E = np.concatenate([Z, np.ones((len(Z), 1))], axis=1)
    second = E[:, :, None] * E[:, None, :]
    second[:, :k, :k] += inverse
    filled = np.nan_to_num(X)
    sums = FactorSums(
        seen.T @ second.reshape(len(Z), -1),
        filled.T @ E,
        np.sum(filled * filled, axis=0),
        seen.sum(axis=0),
    )
    return sums, float(np.sum(loglik))


def factor_m_step(sums: FactorSums, least, *, tied) -> FactorParams:
    """Eqs (3) and (4); `least` holds psi above the rounding level."""
    d, k1 = sums.cross.shape
    A = sums.second.reshape(d, k1, k1)
    B = np.linalg.solve(A, sums.cross[:, :, None])[:, :, 0]
    rest = np.maximum(sums.square - np.sum(B * sums.cross, axis=1), 0.0)
    psi = rest / sums.count
    if tied:
        psi = np.full(d, rest.sum() / sums.count.sum())
    return FactorParams(B[:, :-1].T.copy(), B[:, -1].copy(), np.maximum(psi, least))


def fit_factors_with_missing(X, k, rng, *, tied, max_iter, tol, task=SILENT):
    """EM from a random start; returns a Result whose state holds `FactorParams`.

    Rows with nothing seen tell nothing and are left out of the count.
    """
    seen = ~np.isnan(X)
    if not seen.any(axis=0).all():
        j = int(np.argmin(seen.any(axis=0)))
        raise ValueError(f"column {j} of X has no value at all.")
    m = np.nanmean(X, axis=0)
    variance = np.nanvar(X, axis=0)
    scale = float(variance.mean()) or 1.0
    W = rng.standard_normal((k, X.shape[1])) * np.sqrt(scale / k)
    start = FactorParams(W, np.zeros_like(m), np.full(len(m), scale))
    block = max(64, ELEMENTS // (k + 1) ** 2)
    data = as_rows(X, block=block)
    result = em(
        lambda p: data.sum(lambda x: factor_e_step(x - m, p)),
        lambda sums: factor_m_step(sums, 1e-12 * scale, tied=tied),
        start,
        n=float(seen.any(axis=1).sum()),
        max_iter=max_iter,
        tol=tol,
        task=task,
    )
    p = result.state.params
    moved = p._replace(m=p.m + m)
    return result._replace(state=result.state._replace(params=moved))


def impute_from_factors(X, p: FactorParams):
    """X with missing values at their expectation given the observed ones."""
    Z = as_rows(X, block=max(64, ELEMENTS // (len(p.W) + 1) ** 2)).map(
        lambda x: factor_posterior(x, p)[0]
    )
    return np.where(np.isnan(X), Z @ p.W + p.m, X)


def factor_covariance(p: FactorParams):
    """W^T W + diag(psi)."""
    C = p.W.T @ p.W
    C.flat[:: len(C) + 1] += p.psi
    return C


def factor_precision(p: FactorParams):
    """Inverse of the model's covariance, by a k x k system."""
    return low_rank(p.psi, p.W.T).solve(np.eye(len(p.psi)))


def sample_factor_model(n, p: FactorParams, rng):
    """n rows of eq. (1)."""
    Z = rng.standard_normal((n, len(p.W)))
    noise = rng.standard_normal((n, len(p.psi))) * np.sqrt(p.psi)
    return Z @ p.W + p.m + noise
