"""Numerical derivatives, to check the written ones.

Central differences, with a step of the cube root of rounding times max(|x_j|, 1):

    df/dx_j = (f(x + h e_j) - f(x - h e_j)) / (2 h) + O(h^2)                     (1)
"""

from collections.abc import Callable

import numpy as np

STEP = float(np.finfo(float).eps) ** (1 / 3)


def numeric_gradient(f: Callable, x, step: float = STEP):
    """Eq. (1) for f(x) -> number."""
    x = np.array(x, dtype=float)
    g = np.empty_like(x)
    for j in np.ndindex(x.shape):
        h = step * max(abs(x[j]), 1.0)
        up, down = x.copy(), x.copy()
        up[j] += h
        down[j] -= h
        g[j] = (float(f(up)) - float(f(down))) / (up[j] - down[j])
    return g


def numeric_hessian(f: Callable, x, step: float = STEP**0.75):
    """Differences of eq. (1), made symmetric."""
    x = np.array(x, dtype=float)
    rows = []
    for j in range(x.size):
        h = step * max(abs(x[j]), 1.0)
        unit = np.zeros_like(x)
        unit[j] = h
        up, down = numeric_gradient(f, x + unit, h), numeric_gradient(f, x - unit, h)
        rows.append((up - down) / (2 * h))
    H = np.array(rows)
    return (H + H.T) / 2


def check_gradient(f: Callable, x) -> float:
    """|g - numeric g| / (|g| + |numeric g|) for f(x) -> (value, gradient)."""
    g = np.asarray(f(np.array(x, dtype=float))[1], dtype=float)
    other = numeric_gradient(lambda u: f(u)[0], x)
    total = np.linalg.norm(g) + np.linalg.norm(other)
    return float(np.linalg.norm(g - other) / total) if total > 0 else 0.0
