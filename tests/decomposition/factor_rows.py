"""Rows of a factor model."""

import numpy as np


def factor_rows(n=400, d=6, k=2, seed=0, noise=None):
    """Rows of k factors with noise, about 2."""
    rng = np.random.default_rng(seed)
    noise = rng.uniform(0.3, 1.0, d) if noise is None else noise
    W = rng.standard_normal((k, d))
    return rng.standard_normal((n, k)) @ W + rng.standard_normal((n, d)) * noise + 2
