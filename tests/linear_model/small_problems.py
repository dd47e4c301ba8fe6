"""Small problems that tests of several linear models share."""

import numpy as np


def rows_with_outliers(rng, n=200, d=4, share=0.05):
    """Heavy-tailed noise, and a share of rows that are far off."""
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + 1 + 0.5 * rng.standard_t(3, size=n)
    y[: int(share * n)] += 20
    return X, y


def sparse_problem(n, d, seed=0, k=5, shift=0.0):
    """Numbers that depend on k of d columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + shift
    w = np.zeros(d)
    w[:k] = 3 * rng.normal(size=min(k, d))
    return X, X @ w + rng.normal(size=n) + 2


def heavy_tailed_rows(rng, n, d):
    """Noise whose spread depends on the first column."""
    X = rng.normal(size=(n, d))
    B = rng.normal(size=d) * (rng.uniform(size=d) < 0.6)
    y = X @ B + 1 + 0.5 * rng.standard_t(2, size=n) * (1 + X[:, 0] ** 2)
    return X, y


def targets_by_family(rng):
    """Rows, and a target of each family with the same mean."""
    n = 300
    X = rng.normal(size=(n, 4))
    mu = np.exp(X @ [0.3, -0.2, 0.1, 0.0] + 0.8)
    p = 1 / (1 + np.exp(-np.log(mu)))
    return X, {
        "gaussian": mu + 0.3 * rng.normal(size=n),
        "poisson": rng.poisson(mu).astype(float),
        "gamma": rng.gamma(3.0, mu / 3),
        "inverse_gaussian": rng.wald(mu, 6.0),
        "tweedie": rng.gamma(3.0, mu / 3) * (rng.uniform(size=n) < 0.7),
        "bernoulli": (rng.uniform(size=n) < p).astype(float),
        "negative_binomial": rng.poisson(rng.gamma(1.0, mu)).astype(float),
    }


def linear_rows():
    """Rows, and numbers that are nearly linear in three of six columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    f = X @ np.array([1.0, -2.0, 0.0, 0.5, 0.0, 0.0]) + 0.3
    return X, f + 0.3 * rng.standard_normal(300)
