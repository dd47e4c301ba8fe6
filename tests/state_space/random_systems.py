"""Random linear systems, which tests of Kalman filters share."""

import numpy as np

from pansophy.state_space.kalman.kalman_parameters import KalmanParameters


def spd(rng, d):
    """A random positive definite matrix."""
    A = rng.normal(size=(d, d))
    return A @ A.T / d + 0.3 * np.eye(d)


def random_parameters(seed, k, p, n=None, *, start="known", inputs=0):
    """Random parameters; with n, matrices change with the row."""
    rng = np.random.default_rng(seed)

    def one():
        F = rng.normal(size=(k, k))
        F *= 0.95 / np.abs(np.linalg.eigvals(F)).max()
        R = spd(rng, p) if seed % 2 else np.diag(rng.uniform(0.2, 1, p))
        c, d = rng.normal(size=k), rng.normal(size=p)
        return F, spd(rng, k), rng.normal(size=(p, k)), R, c, d

    six = one() if n is None else [np.stack(a) for a in zip(*(one() for _ in range(n)))]
    B, D = rng.normal(size=(k, inputs)), rng.normal(size=(p, inputs))
    return KalmanParameters(*six, rng.normal(size=k), spd(rng, k), B, D, start)
