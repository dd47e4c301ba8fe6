"""Woodbury's identity."""

import numpy as np

from pansophy import optim


def test_woodbury(rng):
    A, U, V = rng.normal(size=(5, 5)), rng.normal(size=(5, 2)), rng.normal(size=(2, 5))
    C = rng.normal(size=(2, 2))
    inv = np.linalg.inv
    np.testing.assert_allclose(optim.woodbury(inv(A), U, C, V), inv(A + U @ C @ V))
    P = A @ A.T + np.eye(5)
    np.testing.assert_allclose(optim.woodbury(inv(P), U), inv(P + U @ U.T))
    u = rng.normal(size=5)
    np.testing.assert_allclose(optim.woodbury(inv(P), u), inv(P + np.outer(u, u)))
