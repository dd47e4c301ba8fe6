"""Linear Gaussian chains as one large Normal: obvious, and (n k)^3 slow."""

import numpy as np

from pansophy.state_space.kalman.linear_gaussian import at_time


def joint(model, n):
    """Mean and covariance of (z_1..z_n, x_1..x_n), matrices by row."""
    k, p = len(model.m), model.H.shape[-2]
    A, b = np.zeros((n * k, n * k)), np.zeros(n * k)  # z = A z + b + noise
    C, S = np.zeros((n * p, n * k)), np.zeros((n * k, n * k))
    R, d = np.zeros((n * p, n * p)), np.zeros(n * p)
    for t in range(n):
        zs, xs = slice(t * k, t * k + k), slice(t * p, t * p + p)
        b[zs] = at_time(model.c, t, 1) if t else model.m
        S[zs, zs] = at_time(model.Q, t, 2) if t else model.P
        if t:
            A[zs, (t - 1) * k : t * k] = at_time(model.F, t, 2)
        C[xs, zs], R[xs, xs] = at_time(model.H, t, 2), at_time(model.R, t, 2)
        d[xs] = at_time(model.d, t, 1)
    G = np.linalg.inv(np.eye(n * k) - A)
    mz, Z = G @ b, G @ S @ G.T
    mean = np.concatenate([mz, C @ mz + d])
    return mean, np.block([[Z, Z @ C.T], [C @ Z, C @ Z @ C.T + R]])


def condition(model, X, upto=None):
    """Means (n, k) and covariance of all z given the seen entries, and log p."""
    n, k = len(X), len(model.m)
    mean, S = joint(model, n)
    x = X.copy()
    if upto is not None:
        x[upto + 1 :] = np.nan
    seen = np.flatnonzero(~np.isnan(x.ravel()))
    where = n * k + seen
    e, Sxx = x.ravel()[seen] - mean[where], S[np.ix_(where, where)]
    G = np.linalg.solve(Sxx, S[where, : n * k]).T if len(seen) else np.zeros((n * k, 0))
    V = S[: n * k, : n * k] - G @ S[where, : n * k]
    loglik = -0.5 * len(seen) * np.log(2 * np.pi)
    if len(seen):
        loglik -= 0.5 * (np.linalg.slogdet(Sxx)[1] + e @ np.linalg.solve(Sxx, e))
    return (mean[: n * k] + G @ e).reshape(n, k), V, loglik


def blocks(V, k):
    """Covariances of the rows, and of each with the row before."""
    n = len(V) // k
    V = V.reshape(n, k, n, k)
    now = np.array([V[t, :, t] for t in range(n)])
    return now, np.array([V[t, :, t - 1] for t in range(1, n)])
