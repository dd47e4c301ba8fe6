"""Compiled algebra of small normal distributions, for filters that go step by step."""

import numpy as np

from ...core.loops.compiled import compiled
from ...core.numerics import LOG_2PI

PIVOT_TOLERANCE = 1e-13  # a pivot below this share of its diagonal is none


@compiled
def semidefinite_cholesky(P):
    """L with L L' = P for positive semi-definite P; bad pivots become zero columns."""
    k = len(P)
    L = np.zeros((k, k))
    for j in range(k):
        d = P[j, j]
        for q in range(j):
            d -= L[j, q] * L[j, q]
        if d <= PIVOT_TOLERANCE * P[j, j] or d <= 0.0:
            continue
        L[j, j] = np.sqrt(d)
        for i in range(j + 1, k):
            s = 0.5 * (P[i, j] + P[j, i])
            for q in range(j):
                s -= L[i, q] * L[j, q]
            L[i, j] = s / L[j, j]
    return L


@compiled
def _forward_solve(L, B):
    """L^-1 B, rows of zero pivots giving zero."""
    k, m = B.shape
    X = np.zeros((k, m))
    for i in range(k):
        if L[i, i] > 0.0:
            for c in range(m):
                s = B[i, c]
                for q in range(i):
                    s -= L[i, q] * X[q, c]
                X[i, c] = s / L[i, i]
    return X


@compiled
def _backward_solve(L, X):
    """L'^-1 X, in place."""
    k, m = X.shape
    for i in range(k - 1, -1, -1):
        for c in range(m):
            s = X[i, c]
            for q in range(i + 1, k):
                s -= L[q, i] * X[q, c]
            X[i, c] = s / L[i, i] if L[i, i] > 0.0 else 0.0
    return X


@compiled
def condition_normal(a, P, C, S, e):
    """Mean and covariance after seeing e = x - mu, with Cov(z, x) = C, Var x = S.

    Also whether the covariance is positive definite, and log p of what was seen.
    """
    k, p = C.shape
    L = semidefinite_cholesky(S)
    W = _forward_solve(L, C.T)  # P - C S^-1 C' = P - W' W
    u = np.zeros(p)
    power, log_det = 0.0, 0.0
    for i in range(p):
        if L[i, i] > 0.0:
            s = e[i]
            for q in range(i):
                s -= L[i, q] * u[q]
            u[i] = s / L[i, i]
            power += u[i] * u[i]
            log_det += np.log(L[i, i])
    mean = a.copy()
    cov = np.empty((k, k))
    for i in range(k):
        for q in range(p):
            mean[i] += W[q, i] * u[q]
        for j in range(i + 1):
            s = 0.5 * (P[i, j] + P[j, i])
            for q in range(p):
                s -= W[q, i] * W[q, j]
            cov[i, j] = s
            cov[j, i] = s
    L = semidefinite_cholesky(cov)
    good = True
    for i in range(k):
        good = good and L[i, i] > 0.0
    return mean, cov, good, -0.5 * (p * LOG_2PI + power) - log_det


@compiled
def smoother_gain(P, C):
    """C' P^-1 for symmetric P and C (k, m): (m, k)."""
    L = semidefinite_cholesky(P)
    return _backward_solve(L, _forward_solve(L, C)).T


@compiled
def symmetrized_covariance(P):
    """P made symmetric, and whether it is positive definite."""
    k = len(P)
    S = np.empty((k, k))
    for i in range(k):
        for j in range(i + 1):
            S[i, j] = 0.5 * (P[i, j] + P[j, i])
            S[j, i] = S[i, j]
    L = semidefinite_cholesky(S)
    good = True
    for i in range(k):
        good = good and L[i, i] > 0.0
    return S, good


@compiled
def linear_map_moments(G, P, N):
    """G P G' + N and P G', for G (m, k)."""
    m, k = G.shape
    C = np.zeros((k, m))
    for i in range(k):
        for j in range(m):
            for q in range(k):
                C[i, j] += P[i, q] * G[j, q]
    S = N.copy()
    for i in range(m):
        for j in range(m):
            for q in range(k):
                S[i, j] += G[i, q] * C[q, j]
    return S, C
