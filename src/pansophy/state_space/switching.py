"""Switching linear model: a Markov chain picks which linear Gaussian model acts.

    s_t | s_t-1 ~ A,    z_t = F_s z_t-1 + c_s + q_t,    x_t = H_s z_t + d_s + r_t  (1)

with q_t ~ Normal(0, Q_s) and r_t ~ Normal(0, R_s) for s = s_t, one of K regimes. The
exact belief is a mixture of K^t normals. Kim's filter keeps one for each regime: from
regime i to j the K^2 Kalman steps give normals (a_ij, P_ij) with likelihoods l_ij,

    w_ij = p_t-1(i) A_ij l_ij / sum of the same,    p_t(j) = sum_i w_ij          (2)
    a_j = sum_i w_ij / p_t(j) a_ij,    P_j = sum_i w_ij / p_t(j) (P_ij + e_ij e_ij') (3)

with e_ij = a_ij - a_j: the normal with the moments of the mixture. Backwards, with
p(s_t = i | s_t+1 = j, x) taken from the filter,

    w_ij = p_n,t+1(j) p_t(i) A_ij / sum_i p_t(i) A_ij                            (4)

and a Rauch-Tung-Striebel step for each pair, collapsed as in (3). The log-likelihood
sum_t log sum_ij p_t-1(i) A_ij l_ij is that of the collapsed model. With K = 1, or one
row, all of it is exact.

EM with these beliefs in place of the exact ones learns A, the start, Q_s and R_s, which
have closed forms given the smoothed moments. As the beliefs are approximate the
likelihood may fall; the best parameters seen are kept. See `switching_kalman`.

Cost      O(n K^2 k^3), memory O(n K k^2)
Shapes    A (K, K)   F, Q (K, k, k)   H (K, p, k)   R (K, p, p)   X (n, p)
Refs      [Kim1994]; [Murphy1998]
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..core.filtering import bayes_filter, bayes_smoother
from ..core.numerics import LOG_2PI, safe_divide, safe_log
from ..distributions.categorical import estimated_probabilities
from .forecast import Forecast
from .linear_gaussian import positive, symmetric


class Model(NamedTuple):
    """Eq. (1), every array with a leading axis of K regimes."""

    start: np.ndarray  # (K,)
    A: np.ndarray
    F: np.ndarray
    c: np.ndarray
    Q: np.ndarray
    H: np.ndarray
    d: np.ndarray
    R: np.ndarray
    m: np.ndarray  # (K, k)
    P: np.ndarray  # (K, k, k)


class Regimes(NamedTuple):
    """A normal for each regime, or for each pair of regimes before and now."""

    prob: np.ndarray  # (K,) or (K, K)
    mean: np.ndarray  # (..., k)
    cov: np.ndarray  # (..., k, k)
    pairs: Any = None  # what the smoother knows of steps t and t + 1 together


class Pairs(NamedTuple):
    """Beliefs in z_t and its covariance with z_t+1 for s_t = i, s_t+1 = j."""

    weight: np.ndarray  # w of eq. (4), (K, K)
    mean: np.ndarray
    cov: np.ndarray
    cross: np.ndarray  # Cov(z_t+1, z_t)


def collapsed(prob, mean, cov, axis):
    """Eq. (3): mixtures along an axis of pairs, each as one normal."""
    total = prob.sum(axis=axis)
    share = safe_divide(
        prob, np.expand_dims(total, axis) + 0 * prob, 1 / prob.shape[axis]
    )
    a = (share[..., None] * mean).sum(axis=axis)
    e = mean - np.expand_dims(a, axis)
    spread = cov + e[..., :, None] * e[..., None, :]
    return total, a, symmetric((share[..., None, None] * spread).sum(axis=axis))


def transposed(M):
    return M.swapaxes(-1, -2)


def apply(M, v):
    """Matrices (..., p, k) times vectors (..., k)."""
    return (M @ v[..., None])[..., 0]


class SwitchingFilter(NamedTuple):
    """The member of `core.filtering`, eq. (2) to (4)."""

    model: Model

    def predict(self, belief):
        M = self.model
        prob = belief.prob[:, None] * M.A
        mean = apply(M.F, belief.mean[:, None]) + M.c
        cov = M.F @ belief.cov[:, None] @ transposed(M.F) + M.Q
        return Regimes(prob, mean, symmetric(cov))

    def update(self, belief, x):
        M = self.model
        prob, mean, cov, _ = belief
        if prob.ndim == 1:  # the first row: no regime before it
            prob, mean, cov = prob[None], mean[None], cov[None]
        here = ~np.isnan(x)
        H, R = M.H[:, here], M.R[:, here][:, :, here]
        e = x[here] - apply(H, mean) - M.d[:, here]
        S = symmetric(H @ cov @ transposed(H) + R)
        K = transposed(np.linalg.solve(S, H @ cov))
        G = np.eye(mean.shape[-1]) - K @ H
        new = apply(K, e) + mean
        left = G @ cov @ transposed(G) + K @ R @ transposed(K)
        power = (e * np.linalg.solve(S, e[..., None])[..., 0]).sum(axis=-1)
        log_l = -0.5 * (power + np.linalg.slogdet(S)[1] + here.sum() * LOG_2PI)
        log_w = safe_log(prob) + log_l
        top = log_w.max()
        if not np.isfinite(top):
            raise ValueError("no regime can have given a row of X: its density is 0.")
        w = np.exp(log_w - top)
        total = w.sum()
        return Regimes(*collapsed(w / total, new, left, 0)), float(top + np.log(total))

    def reverse(self, filtered, predicted, smoothed):
        M = self.model
        joint = filtered.prob[:, None] * M.A
        w = smoothed.prob * safe_divide(joint, joint.sum(axis=0) + 0 * joint)
        P = filtered.cov[:, None]
        J = transposed(np.linalg.solve(predicted.cov, M.F @ P))
        mean = filtered.mean[:, None] + apply(J, smoothed.mean - predicted.mean)
        cov = symmetric(P + J @ (smoothed.cov - predicted.cov) @ transposed(J))
        cross = smoothed.cov @ transposed(J)
        weight = w / w.sum()
        pairs = Pairs(weight, mean, cov, cross)
        return Regimes(*collapsed(weight, mean, cov, 1), pairs)


def last_belief(model, X) -> Regimes:
    """The filtered belief after the last row of one sequence."""
    prior = Regimes(model.start, model.m, model.P)
    return bayes_filter(SwitchingFilter(model), prior, X).filtered[-1]


def forecast(model, belief, n, level) -> Forecast:
    """Moments of the n rows after a belief in regimes and states.

    Eq. (3) keeps the first two moments, so that without observations these are exact.
    """
    member, rows = SwitchingFilter(model), []
    for _ in range(n):
        prior = member.predict(belief)
        belief = Regimes(*collapsed(*prior[:3], 0))
        a, P = belief.mean, belief.cov
        x = apply(model.H, a) + model.d
        S = model.H @ P @ transposed(model.H) + model.R
        seen = collapsed(belief.prob, x, S, 0)[1:]
        rows.append((*seen, *collapsed(belief.prob, a, P, 0)[1:], belief.prob))
    mean, cov, z, V, prob = (np.array(column) for column in zip(*rows, strict=True))
    return Forecast(mean, cov, level, z, V, prob)


def expect(model, X, ends):
    """Sums that the M-step needs under smoothed beliefs, and the log-likelihood."""
    member, total, loglik = SwitchingFilter(model), None, 0.0
    prior = Regimes(model.start, model.m, model.P)
    for begin, end in zip(np.r_[0, ends[:-1]], ends):
        x = X[begin:end]
        run = bayes_filter(member, prior, x)
        back = bayes_smoother(member, run)
        sums = [back[0].prob, *moved(model, back), *seen(model, back, x)]
        total = sums if total is None else [a + b for a, b in zip(total, sums)]
        loglik += run.loglik
    return total, loglik


def moved(model, back):
    """Expected transitions (K, K), and scatter of the state noise with its weight."""
    K, k = model.m.shape
    N, S = np.zeros((K, K)), np.zeros((K, k, k))
    for now, after in pairwise(back):
        w, m, V, C = now.pairs
        F = model.F
        e = after.mean - apply(F, m) - model.c
        FC = F @ transposed(C)
        V2 = after.cov - FC - transposed(FC) + F @ V @ transposed(F)
        V2 = V2 + e[..., :, None] * e[..., None, :]
        N += w
        S += (w[..., None, None] * V2).sum(axis=0)
    return N, S


def seen(model, back, x):
    """Weight and scatter of the observation noise of each regime, rows without gaps."""
    K, p = model.d.shape
    N, S = np.zeros(K), np.zeros((K, p, p))
    for b, row in zip(back, x):
        if np.isnan(row).any():
            continue
        e = row - apply(model.H, b.mean) - model.d
        V = model.H @ b.cov @ transposed(model.H) + e[..., :, None] * e[..., None, :]
        N += b.prob
        S += b.prob[:, None, None] * V
    return N, S


def maximise(stats, model, letters, floor):
    """New parameters of the letters s, t, q, r; a regime never seen keeps its own."""
    first, N, SQ, n, SR = stats
    new = {}
    if "s" in letters:
        new["start"] = first / first.sum()
    if "t" in letters:
        new["A"] = np.where(
            N.sum(1, keepdims=True) > 1e-9, estimated_probabilities(N), model.A
        )
    for letter, name, weight, S in (("q", "Q", N.sum(axis=0), SQ), ("r", "R", n, SR)):
        if letter in letters:
            old = getattr(model, name)
            some = weight > 1e-9
            M = safe_divide(S, weight[:, None, None] + 0 * S)
            M = M + floor * np.eye(S.shape[-1])
            new[name] = np.where(some[:, None, None], positive(M), old)
    return model._replace(**new)


def regimes(value, K, shape, default, name):
    """One array for each regime, (K, ...), from one for all or from the default."""
    A = np.asarray(default if value is None else value, dtype=float)
    if A.shape not in (shape, (K, *shape)):
        raise ValueError(
            f"{name} must have shape {shape} or {(K, *shape)}, got {A.shape}."
        )
    if not np.isfinite(A).all():
        raise ValueError(f"{name} must hold finite numbers.")
    return np.ascontiguousarray(np.broadcast_to(A, (K, *shape)))
