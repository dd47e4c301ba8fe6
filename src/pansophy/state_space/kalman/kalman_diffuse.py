"""Exact diffuse initialisation of the Kalman filter: the first steps from no knowledge.

Before any observation z_1 has covariance B + s A with s without limit. As long as
A is not zero, a belief is the pair (A, B); an observed number h'z + Normal(0, r) with

    g = h'A h,   f = h'B h + r,   K0 = A h / g,   K1 = (B h - K0 f) / g           (1)

takes, where g > 0, the limit of the ordinary update as s grows:

    a <- a + K0 e,   A <- A - K0 (A h)',   B <- (I - K0 h') B (I - K0 h')' + r K0 K0'
    log p = -(log 2 pi + log g) / 2         after adding (log s) / 2              (2)

and where g = 0 the ordinary one, of B. The adjoints of `kalman_recursions` are series
in 1/s, r = r0 + r1/s and N = N0 + N1/s + N2/s^2, which go back through (2) with
L = I - K h' = L0 + L1/s + L2/s^2, K = K0 + K1/s + K2/s^2, K2 = -K1 f/g:

    r1 <- h e/g + L0'r1 + L1'r0,   r0 <- L0'r0                                    (3)
    N1 <- h h'/g + L0'N1 L0 + L1'N0 L0 + L0'N0 L1,   N0 <- L0'N0 L0               (4)
    N2 <- -h h'f/g^2 + L0'N2 L0 + L1'N1 L0 + L0'N1 L1 + L1'N0 L1 + L2'N0 L0 + L0'N0 L2

and what does not depend on s in a + P r and P - P N P is the smoothed belief:

    z = a + B r0 + A r1,   V = B - B N0 B - A N1 B - B N1 A - A N2 A              (5)

A usually vanishes after as many numbers as there are diffuse states, so these are
plain functions; the compiled loops begin where it has.

Refs      [DurbinKoopman2012] ch. 5; [Koopman2003]
"""

from typing import NamedTuple

import numpy as np

from ...core.numerics import LOG_2PI
from .linear_gaussian import at_time, symmetrize

ROUNDING = 1e-9  # a part of A this small, against A had nothing been seen, is rounding


class DiffuseUpdate(NamedTuple):
    """One observed number: eq. (1), with g = 0 for an ordinary update by K0."""

    h: np.ndarray
    e: float
    g: float
    f: float
    K0: np.ndarray
    K1: np.ndarray


class DiffuseStep(NamedTuple):
    """A row of the diffuse phase: the belief after it and what led there."""

    t: int
    a: np.ndarray
    A: np.ndarray
    B: np.ndarray
    items: list
    loglik: float


def _diffuse_update(x, h, r, a, A, B, scale):
    """Eq. (1) and (2) for one number; `scale` is g had nothing been seen."""
    e, g, f = x - h @ a, h @ A @ h, h @ B @ h + r
    if g > ROUNDING * scale:
        K = A @ h / g
        item = DiffuseUpdate(h, e, g, f, K, (B @ h - K * f) / g)
        A, loglik = symmetrize(A - np.outer(K, A @ h)), -0.5 * (LOG_2PI + np.log(g))
    elif f > 0:
        K = B @ h / f
        item = DiffuseUpdate(h, e, 0.0, f, K, K)
        loglik = -0.5 * (LOG_2PI + np.log(f) + e * e / f)
    else:
        return None, a, A, B, 0.0
    G = np.eye(len(a)) - np.outer(K, h)
    return item, a + K * e, A, symmetrize(G @ B @ G.T + r * np.outer(K, K)), loglik


def diffuse_filter(model, seen, begin, end):
    """Steps until A is gone or the sequence ends; then the belief before row t."""
    a, A, B = model.m, model.diffuse, model.P
    free = A
    steps = []
    t = begin
    while t < end and np.any(A):
        H = seen.H[seen.pattern[t]]
        r = seen.r[seen.pattern[t]]
        items = []
        loglik = 0.0
        for i in np.flatnonzero(~np.isnan(seen.x[t])):
            scale = H[i] ** 2 @ np.diag(free)
            item, a, A, B, ll = _diffuse_update(
                seen.x[t, i], H[i], r[i], a, A, B, scale
            )
            items += [item] if item else []
            loglik += ll
        edge = np.sqrt(np.diag(free))
        A = np.where(np.abs(A) > ROUNDING * np.outer(edge, edge), A, 0.0)
        steps.append(DiffuseStep(t, a, A, B, items, loglik))
        t += 1
        if t < end:
            F = at_time(model.F, t, 2)
            a = F @ a + at_time(model.c, t, 1)
            A, B, free = (
                F @ A @ F.T,
                F @ B @ F.T + at_time(model.Q, t, 2),
                F @ free @ F.T,
            )
    return steps, a, B


class DiffuseAdjoint(NamedTuple):
    """Series in 1/s of r and N."""

    r0: np.ndarray
    r1: np.ndarray
    N0: np.ndarray
    N1: np.ndarray
    N2: np.ndarray


def _adjoint_before_update(item: DiffuseUpdate, j: DiffuseAdjoint) -> DiffuseAdjoint:
    """Eq. (3) and (4)."""
    h, e, g, f, K0, K1 = item
    L0 = np.eye(len(h)) - np.outer(K0, h)
    hh = np.outer(h, h)
    if g == 0:
        own_terms = (h * e / f, hh / f)
        N0, N1, N2 = (L0.T @ N @ L0 for N in j[2:])
        return DiffuseAdjoint(
            L0.T @ j.r0 + own_terms[0], L0.T @ j.r1, N0 + own_terms[1], N1, N2
        )
    L1 = -np.outer(K1, h)
    L2 = np.outer(K1, h) * f / g
    twice = lambda M: M + M.T
    N1 = hh / g + L0.T @ j.N1 @ L0 + twice(L1.T @ j.N0 @ L0)
    N2 = L0.T @ j.N2 @ L0 + L1.T @ j.N0 @ L1 - hh * f / g**2
    N2 = N2 + twice(L1.T @ j.N1 @ L0 + L2.T @ j.N0 @ L0)
    r1 = h * e / g + L0.T @ j.r1 + L1.T @ j.r0
    return DiffuseAdjoint(L0.T @ j.r0, r1, L0.T @ j.N0 @ L0, N1, N2)


class DiffuseSmoothed(NamedTuple):
    """Eq. (5) at a row, the adjoint before it, and its share with the next row."""

    z: np.ndarray
    V: np.ndarray
    r: np.ndarray
    N: np.ndarray
    u: list  # (u, D) of each observed number, as in `kalman_recursions`
    lag: np.ndarray | None  # Cov(z_t+1, z_t)
    by_F: np.ndarray | None  # derivative of log p by F_t+1


def diffuse_smoother(model, steps, r, N, end):
    """Eq. (5) backwards from the adjoint (r, N) at the row after the last step."""
    k = len(model.m)
    zero = np.zeros((k, k))
    j = DiffuseAdjoint(r, np.zeros(k), N, zero, zero)
    smoothed = []
    for step in reversed(steps):
        A = step.A
        B = step.B
        lag = None
        by_F = None
        if step.t + 1 < end:
            F = at_time(model.F, step.t + 1, 2)
            C, D = F @ A @ F.T, F @ B @ F.T + at_time(model.Q, step.t + 1, 2)
            lag = (np.eye(k) - j.N0 @ D - j.N1 @ C).T @ F @ B
            lag = lag - (j.N1 @ D + j.N2 @ C).T @ F @ A
            cross = np.outer(j.r0, j.r1)
            by_F = np.outer(j.r0, step.a) + (np.outer(j.r0, j.r0) - j.N0) @ F @ B
            by_F = by_F + (cross + cross.T - j.N1) @ F @ A
            N0, N1, N2 = (F.T @ M @ F for M in j[2:])
            j = DiffuseAdjoint(F.T @ j.r0, F.T @ j.r1, N0, N1, N2)
        z = step.a + B @ j.r0 + A @ j.r1
        cross_term = A @ j.N1 @ B
        V = B - B @ j.N0 @ B - cross_term - cross_term.T - A @ j.N2 @ A
        left = np.diag(A - A @ j.N1 @ A) > 1e-6 * np.diag(A)
        V = with_infinite_variances(symmetrize(V), left)
        row_adjoints = []
        for item in reversed(step.items):
            seen = 1 / item.f if item.g == 0 else 0.0
            D = seen + item.K0 @ j.N0 @ item.K0
            row_adjoints.append((item.e * seen - item.K0 @ j.r0, D))
            j = _adjoint_before_update(item, j)
        smoothed.append(
            DiffuseSmoothed(z, V, j.r0, symmetrize(j.N0), row_adjoints[::-1], lag, by_F)
        )
    return smoothed[::-1]


def with_infinite_variances(V, where):
    """V with an infinite variance where nothing is known."""
    V = V.copy()
    V[np.diag_indices(len(V))] = np.where(where, np.inf, np.maximum(np.diag(V), 0.0))
    return V
