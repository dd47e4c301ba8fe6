"""Markov chains whose autocorrelations are known, and slow diagnostics."""

import numpy as np


def ar1(rho, m, n, rng):
    """m stationary chains x_t = rho x_{t-1} + sqrt(1 - rho^2) e_t, variance 1.

    The mean of n draws has the variance of n (1 - rho) / (1 + rho) free ones.
    """
    x = np.empty((m, n))
    x[:, 0] = rng.normal(size=m)
    for t in range(1, n):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * rng.normal(size=m)
    return x


def autocovariance(x):
    """sum_i (x_i - mean)(x_{i+t} - mean) / n at every lag, by its definition."""
    n = len(x)
    e = x - x.mean()
    return np.array([sum(e[i] * e[i + t] for i in range(n - t)) / n for t in range(n)])


def effective_size(x):
    """ESS of (m, n) chains by the formulas, pair after pair."""
    m, n = x.shape
    W = np.mean([np.var(chain, ddof=1) for chain in x])
    V = (n - 1) / n * W + (np.var([c.mean() for c in x], ddof=1) if m > 1 else 0.0)
    lags = np.mean([autocovariance(chain) for chain in x], axis=0)
    rho = [1.0] + [1 - (W - lags[t]) / V for t in range(1, n)]
    tau, smallest, k = -1.0, np.inf, 0
    while 2 * k + 1 < n:
        pair = rho[2 * k] + rho[2 * k + 1]
        if pair <= 0:
            tau += max(rho[2 * k], 0.0)
            break
        smallest = min(smallest, pair)
        tau += 2 * smallest
        k += 1
    return m * n / max(tau, 1 / np.log10(m * n))
