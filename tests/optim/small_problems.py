"""Small problems that tests of optimisers share."""

import numpy as np


def tanh_net(theta, sign=1.0):
    """The 2-2-2 tanh net: summed squared losses at one point, weights in a vector."""
    W1, W2 = theta[:4].reshape(2, 2), theta[4:].reshape(2, 2)
    x, y = np.array([1.0, 2.0]), np.array([1.0, -1.0])
    v = np.tanh(W1 @ x)
    d2 = 2 * (W2 @ v - y)
    d1 = (W2.T @ d2) * (1 - v**2)
    value = float(np.sum((W2 @ v - y) ** 2))
    return value, np.append(sign * np.outer(d1, x).ravel(), np.outer(d2, v).ravel())


def weighted_problem(seed, n, d, shift=0.0):
    """Rows, targets and weights; columns of different scales, with zeros."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6) + shift
    X *= rng.uniform(0.2, 3, size=d)
    y = X[:, :4] @ rng.normal(size=4) + rng.normal(size=n)
    return X, y, rng.integers(0, 4, size=n) + 0.5
