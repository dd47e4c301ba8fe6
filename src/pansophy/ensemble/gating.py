"""The mathematics of a mixture of experts: E-step, gate and experts of `mixture_of_experts.py`.

Letters and equation numbers are those of that file.
"""

import warnings
from copy import deepcopy
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..core.numerics import LOG_2PI, log_softmax, logsumexp
from .committee import class_probabilities

NOISE_FLOOR = 1e-6  # least noise, as a share of the variance of y
MIN_PROBABILITY = 1e-12  # least probability of a class


class ExpertParams(NamedTuple):
    """What EM estimates."""

    A: np.ndarray  # gate
    experts: list  # fitted
    noise: np.ndarray  # s_k^2; of classifiers 1


class ExpertRows(NamedTuple):
    """The rows, prepared."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray
    Z: np.ndarray  # (1, x) with x standardised, for the gate
    K: int  # classes, 0 for numbers


def log_gate_weights(Z, A):
    """log g of eq. (1)."""
    return log_softmax(Z @ A, axis=1)


def expert_log_likelihood(expert, s2, t: ExpertRows):
    """log p_k(y_i | x_i) for each row."""
    if t.K:
        p = class_probabilities(expert, t.X, t.K)[np.arange(len(t.y)), t.y]
        return np.log(np.maximum(p, MIN_PROBABILITY))
    error = t.y - np.asarray(expert.predict(t.X), float)
    return -0.5 * (error**2 / s2 + np.log(s2) + LOG_2PI)


def expert_responsibilities(p: ExpertParams, t: ExpertRows):
    """Eq. (2): (log g, log p_k, r, params) and the log-likelihood."""
    G = log_gate_weights(t.Z, p.A)
    L = np.stack(
        [expert_log_likelihood(e, s, t) for e, s in zip(p.experts, p.noise)], axis=1
    )
    norm = logsumexp(G + L, axis=1)
    return (G, L, np.exp(G + L - norm[:, None]), p), float(t.w @ norm)


def gate_newton_step(A, R, t: ExpertRows, alpha, *, constant=False):
    """Eq. (3): a Newton step, halved until the unpenalised sum does not fall."""
    if constant:
        share = t.w @ R / t.w.sum()
        logs = np.log(np.maximum(share, 1e-300))
        A = np.zeros_like(A)
        A[0] = logs - logs[-1]
        return A
    k, value = (
        A.shape[1],
        lambda B: float(t.w @ (R * log_gate_weights(t.Z, B)).sum(axis=1)),
    )
    G = np.exp(log_gate_weights(t.Z, A))
    W = t.w[:, None]
    grad = t.Z.T @ (W * (R - G))[:, :-1] - alpha * A[:, :-1]
    m = t.Z.shape[1]
    H = np.empty((k - 1, m, k - 1, m))
    for a in range(k - 1):
        for b in range(a + 1):
            c = t.w * G[:, a] * ((a == b) - G[:, b])
            H[a, :, b] = H[b, :, a] = t.Z.T @ (c[:, None] * t.Z)
    H = H.reshape((k - 1) * m, -1)
    H[np.diag_indices_from(H)] += alpha + 1e-10 * t.w.sum()
    step = np.linalg.solve(H, grad.T.ravel()).reshape(k - 1, m).T
    old, new = value(A), A.copy()
    for halvings in range(30):
        new[:, :-1] = A[:, :-1] + 0.5**halvings * step
        if value(new) >= old:
            return new
    return A


def refit_expert(template, R, k, stats, t: ExpertRows):
    """Expert k fitted to its share of the rows, or the old one if that is better."""
    _, L, _, p = stats
    r = t.w * R[:, k]
    old, s2 = p.experts[k], p.noise[k]
    if r.sum() <= 1e-8 * t.w.sum():
        return old, s2
    new = fit_expert(template, t, r, old)
    if t.K:
        better = r @ expert_log_likelihood(new, 1.0, t) >= r @ L[:, k]
        return (new if better else old), 1.0
    pairs = [
        (new, expert_noise_variance(new, r, t)),
        (old, expert_noise_variance(old, r, t)),
    ]
    return min(pairs, key=lambda pair: pair[1])


def fit_expert(template, t: ExpertRows, r, old=None):
    """A copy fitted with weights r, from where the old one was under warm_start."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        r = r * (t.w.sum() / r.sum())  # a penalty inside weighs the same for all
        warm = old is not None and getattr(template, "warm_start", False)
        new = deepcopy(old) if warm else clone(template)
        return new.fit(t.X, t.y, sample_weight=np.maximum(r, 1e-10 * t.w))


def expert_noise_variance(expert, r, t: ExpertRows):
    """s^2 of eq. (3)."""
    error = t.y - np.asarray(expert.predict(t.X), float)
    mean = t.w @ t.y / t.w.sum()
    floor = NOISE_FLOOR * (t.w @ (t.y - mean) ** 2) / t.w.sum()
    return max(r @ error**2 / r.sum(), floor, 1e-300)


def slab_responsibilities(t: ExpertRows, k, rng):
    """r of a start: rows cut into k slabs of equal weight along a random direction."""
    direction = rng.standard_normal(t.Z.shape[1])
    values, group = np.unique(
        np.round(t.Z @ direction, 9), return_inverse=True
    )  # equal rows stay together, whatever the order of the sum
    mass = np.bincount(group, t.w, len(values))
    middle = np.cumsum(mass) - 0.5 * mass
    slab = np.minimum((k * middle / mass.sum()).astype(int), k - 1)[group]
    R = np.full((len(t.y), k), 0.1 / k)
    R[np.arange(len(t.y)), slab] += 0.9
    return R
