"""The factor of a support follows its changes."""

import numpy as np


def test_support_factor_follows_changes(rng):
    from pansophy.optim.nonsmooth.support_cholesky import Support

    X = rng.normal(size=(80, 40))
    G, support = X.T @ X, Support(np.float64)
    S = np.arange(20)
    for _ in range(40):
        rhs = rng.normal(size=len(S))
        x = support.solve(G, 0.1, S, rhs)
        A = G[np.ix_(S, S)] + 0.1 * np.eye(len(S))
        np.testing.assert_allclose(A @ x, rhs, atol=1e-9)
        S = np.setxor1d(S, rng.choice(40, size=2, replace=False))
    assert support.solve(np.ones((3, 3)), 0.0, np.arange(3), np.ones(3)) is None
